"""`python -m perf`: measure, and write perf/RESULTS.md and perf/results.json."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from perf import commits, large_table, loads, profile, report, scale
from perf.bench import Bench, Result, load_average, machine
from perf.joining import appenders, disjoint, join_cost, tpcc, ycsb

_BENCHMARKS: dict[str, Callable[[Bench], Result]] = {
    "loads": loads.run,
    "commits": commits.run,
    "scale": scale.run,
    "large_table": large_table.run,
    "profile": profile.run,
}
_JOINING: dict[str, Callable[[Bench], Result]] = {
    "appenders": appenders.run,
    "disjoint": disjoint.run,
    "ycsb": ycsb.run,
    "tpcc": tpcc.run,
    "join_cost": join_cost.run,
}
_BENCHMARKS |= _JOINING
_GROUPS = {"joining": tuple(_JOINING)}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*_BENCHMARKS, *_GROUPS]))
@click.option("--quick", is_flag=True, help="Short runs: whether everything works, not how fast it is. Writes build/perf-quick.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where catalogs are put meanwhile (the system's temporary folder).")
@click.option("--output", type=click.Path(path_type=Path), help="Folder of RESULTS.md and results.json (perf).")
def main(names: tuple[str, ...], quick: bool, folder: Path | None, output: Path | None) -> None:
    """Measure Treeline: NAMES of benchmarks, or all; `joining` is five of them. What is not measured now keeps its figures."""
    target = output or (Path("build/perf-quick") if quick else Path(__file__).parent)
    target.mkdir(parents=True, exist_ok=True)
    stored = target / "results.json"
    results: Result = json.loads(stored.read_text()) if stored.exists() else {}
    results["machine"] = machine()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    wanted = [one for name in names or tuple(_BENCHMARKS) for one in _GROUPS.get(name, (name,))]
    for name in wanted:
        click.echo(f"{name} …")
        place = Path(tempfile.mkdtemp(prefix="treeline-perf-", dir=folder))
        began, load_before = time.monotonic(), load_average()
        try:
            result = _BENCHMARKS[name](Bench(place, quick, click.echo))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        result |= {
            "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "took_s": round(time.monotonic() - began),
            "load_before": load_before,
            "quick": quick,
        }
        results[name] = result
        stored.write_text(json.dumps(results, indent=1) + "\n")
        report.write(target, results)
    click.echo(f"{target / 'RESULTS.md'} is written")


if __name__ == "__main__":
    main()
