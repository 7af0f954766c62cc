"""What every benchmark gets, and the machine it runs on."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]
CLIENTS = (1, 16, 64)


@dataclass(frozen=True, slots=True)
class Bench:
    """One run: where to put catalogs, whether to be short, how to say what goes on."""

    folder: Path
    quick: bool
    say: Callable[[str], None]

    def seconds(self, long: float, short: float) -> float:
        return short if self.quick else long

    def count(self, many: int, few: int) -> int:
        return few if self.quick else many

    def below(self, name: str) -> Path:
        """A new folder of this run."""
        path = self.folder / name
        path.mkdir(parents=True)
        return path


def slices(results: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [result for result in results if result["name"] == name]


def rate(result: Mapping[str, Any]) -> float:
    """Requests a second."""
    return float(result["requests"] / result["seconds"])


def median_rate(results: Sequence[Mapping[str, Any]]) -> float:
    return statistics.median(rate(result) for result in results)


def median_of(results: Sequence[Mapping[str, Any]], field: str) -> float:
    return statistics.median(float(result[field]) for result in results)


def cpu_us(results: Sequence[Mapping[str, Any]], field: str = "server_cpu_s") -> float:
    """CPU time a request, in microseconds."""
    return float(sum(result[field] for result in results) / sum(result["requests"] for result in results) * 1e6)


def machine() -> Result:
    """What the figures depend on."""
    names = (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name"))
    model = next(names, platform.processor())
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory) / 1024 / 1024, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def load_average() -> float:
    """How many processes wanted a core during the last minute."""
    return round(os.getloadavg()[0], 2)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
