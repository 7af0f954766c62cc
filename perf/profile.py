"""Where the server's time goes under 64 clients: samples of py-spy, by function and by part of the program."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from perf.bench import Bench, Result, rate
from perf.processes import Server, generate, serving
from perf.wire import TABLES, get, make_tables, setting

_CLIENTS = 64
_TABLES = 200
_RATE_HZ = 250
_TOP = 12
# The first pattern that a file's path contains names its part.
_PARTS = (
    ("uvicorn/", "uvicorn: HTTP and sockets"),
    ("uvloop/", "event loop"),
    ("asyncio/", "event loop"),
    ("starlette/", "Starlette: routes and answers"),
    ("irc_server/", "Treeline: the wire"),
    ("catalog_format/storage/", "Treeline: stores"),
    ("catalog_format/iceberg/", "Treeline: Iceberg metadata"),
    ("catalog_format/tree/", "Treeline: tree and nodes"),
    ("catalog_format/node", "Treeline: tree and nodes"),
    ("catalog_format/", "Treeline: the rest of the catalog"),
    ("cachetools/", "caches"),
)
_OTHERS = "other libraries"
# A thread of a pool that waits for work.
_IDLE = re.compile(r"^_worker \(concurrent/futures/thread\.py")
_FRAME = re.compile(r"^(?P<name>.*) \((?P<file>.*?)(?::\d+)?\)$")


def run(bench: Bench) -> Result:
    """Both workloads on a local folder, after a warm-up."""
    folder = bench.below("profile")
    names = [f"t{index:03}" for index in range(_TABLES)]
    workloads = {
        "load": [[get(f"{TABLES}/{name}") for name in names]],
        "commit": [[setting(name, f"c{client}") for name in names[client::_CLIENTS]] for client in range(_CLIENTS)],
    }
    profiles: list[dict[str, Any]] = []
    with serving(str(folder / "catalog"), folder / "log") as server:
        make_tables(server, names)
        for name, requests in workloads.items():
            profiles.append(_profile(bench, server, name, requests, folder / f"{name}.raw"))
    return {"profiles": profiles, "clients": _CLIENTS}


def _profile(bench: Bench, server: Server, name: str, requests: list[list[bytes]], raw: Path) -> dict[str, Any]:
    seconds = bench.seconds(15, 4)
    generate(server, _CLIENTS, [(name, 1)], {name: requests})
    program = shutil.which("py-spy") or str(Path(sys.executable).parent / "py-spy")
    sampler = subprocess.Popen(
        [program, "record", "-p", str(server.pid), "-d", str(int(seconds)), "-r", str(_RATE_HZ), "-f", "raw", "-o", str(raw)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    result = generate(server, _CLIENTS, [(name, seconds + 1)], {name: requests})[0]
    _, said = sampler.communicate(timeout=60)
    if sampler.returncode != 0 or not raw.exists():
        raise RuntimeError(f"py-spy could not sample the server (it needs the right to trace another process): {said[-500:]}")
    profile = summary(raw.read_text())
    bench.say(f"  {name}: " + ", ".join(f"{part} {share:.0%}" for part, share in profile["parts"][:4]))
    return {"name": name, "per_s": rate(result), **profile}


def summary(raw: str) -> dict[str, Any]:
    """Shares of the samples (stacks with counts, a line each): by part, and by function (itself; with all that it calls)."""
    own: Counter[str] = Counter()
    cumulative: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    total = 0
    for line in raw.splitlines():
        stack, _, count_text = line.rpartition(" ")
        count = int(count_text)
        frames = [_short(frame) for frame in stack.split(";")]
        if _IDLE.match(frames[-1]):
            continue
        total += count
        own[frames[-1]] += count
        parts[_part(frames[-1])] += count
        for frame in set(frames):
            cumulative[frame] += count
    if not total:
        raise RuntimeError("py-spy took no samples")
    return {
        "samples": total,
        "parts": [[part, count / total] for part, count in parts.most_common()],
        "functions": [[frame, count / total, cumulative[frame] / total] for frame, count in own.most_common(_TOP)],
    }


def _short(frame: str) -> str:
    """Without line numbers and folders outside of packages."""
    found = _FRAME.match(frame)
    if found is None:
        return frame
    file = re.sub(r"^.*/(?:site-packages|lib/python[0-9.]+)/", "", found["file"])
    return f"{found['name']} ({file})"


def _part(frame: str) -> str:
    return next((part for pattern, part in _PARTS if pattern in frame), _OTHERS)
