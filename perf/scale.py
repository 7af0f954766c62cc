"""Catalogs of a thousand, a hundred thousand and a million tables: latency of loads and commits, start, memory."""

from __future__ import annotations

import random
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from perf import bulk
from perf.bench import Bench, Result, median_of, slices
from perf.processes import Server, generate, serving
from perf.wire import TABLES, get, send, setting

SIZES = (1_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 20_000)
MOST_GROWTH = 1.5
"""How much slower than with a thousand tables it may be."""
MOST_RESIDENT_MIB = 300
_WARM = 200


def run(bench: Bench) -> Result:
    """All sizes side by side: a server each, measured in turn, round after round."""
    folder = bench.below("scale")
    sizes = QUICK_SIZES if bench.quick else SIZES
    built_s: dict[int, float] = {}
    for tables in sizes:
        began = time.perf_counter()
        bulk.build(folder / str(tables), tables)
        built_s[tables] = time.perf_counter() - began
        bench.say(f"  built {tables} tables in {built_s[tables]:.0f} s")
    with ExitStack() as stack:
        servers = {tables: stack.enter_context(serving(str(folder / str(tables)), folder / f"{tables}.log")) for tables in sizes}
        rows = _latencies(bench, servers)
    memory = [_memory(bench, folder, tables) for tables in sizes]
    for row in rows:
        row["built_s"] = built_s[row["tables"]]
    return {
        "rows": rows,
        "memory": memory,
        "limit": MOST_GROWTH,
        "resident_limit_mib": MOST_RESIDENT_MIB,
        "own_files": bulk.OWN_FILES,
        "own_file_bytes": bulk.own_file_bytes(folder / str(sizes[0])),
    }


def _latencies(bench: Bench, servers: dict[int, Server]) -> list[dict[str, Any]]:
    chance = random.Random(1)
    measured: dict[int, list[dict[str, Any]]] = {tables: [] for tables in servers}
    firsts: dict[int, float] = {}
    for tables, server in servers.items():
        began = time.perf_counter()
        send(server, "GET", f"{TABLES}/{bulk.table_name(tables // 2)}")
        firsts[tables] = time.perf_counter() - began
    seconds = bench.seconds(2, 0.5)
    phases = [("warm", seconds), ("any", seconds), ("commit", seconds)]
    for _ in range(bench.count(7, 3)):
        for tables, server in servers.items():
            some = [bulk.table_name(chance.randrange(tables)) for _ in range(20_000)]
            # Tables that share a metadata file would grow from the same one; each commit here is to a table with its own.
            own = bulk.own_files(tables)
            mine = [bulk.table_name(own[chance.randrange(len(own))]) for _ in range(_WARM)]
            requests = {
                "warm": [[get(f"{TABLES}/{name}") for name in some[:_WARM]]],
                "any": [[get(f"{TABLES}/{name}") for name in some]],
                "commit": [[setting(name, "n") for name in mine]],
            }
            measured[tables].extend(generate(server, 1, phases, requests))
    rows: list[dict[str, Any]] = []
    for tables, results in measured.items():
        row: dict[str, Any] = {"tables": tables, "start_s": servers[tables].start_s, "first_load_ms": firsts[tables] * 1000}
        for kind in ("warm", "any", "commit"):
            own_results = slices(results, kind)
            row[f"{kind}_p50_ms"] = median_of(own_results, "p50_ms")
            row[f"{kind}_p99_ms"] = median_of(own_results, "p99_ms")
            first = slices(measured[next(iter(measured))], kind)
            row[f"{kind}_growth"] = statistics.median(a["p50_ms"] / b["p50_ms"] for a, b in zip(own_results, first, strict=True))
        rows.append(row)
        bench.say(
            f"  {tables} tables: p50 of loads {row['warm_p50_ms']:.2f} ms, of any table {row['any_p50_ms']:.2f} ms, "
            f"of commits {row['commit_p50_ms']:.2f} ms"
        )
    return rows


def _memory(bench: Bench, folder: Path, tables: int) -> dict[str, Any]:
    """Resident memory of a new server: at the start, after loads that fill its caches, after commits that fill the others."""
    chance = random.Random(2)
    seconds = bench.seconds(20, 2)
    own = [bulk.table_name(number) for number in bulk.own_files(tables)]
    chance.shuffle(own)
    some = [bulk.table_name(chance.randrange(tables)) for _ in range(100_000)]
    requests = {
        "own": [[get(f"{TABLES}/{name}") for name in own[client::16]] for client in range(16)],
        "any": [[get(f"{TABLES}/{name}") for name in some[client::16]] for client in range(16)],
        # One client: the shared location of these tables would otherwise give two files of one version the same name.
        "commit": [[setting(name, "n") for name in own]],
    }
    with serving(str(folder / str(tables)), folder / f"{tables}.log") as server:
        row: dict[str, Any] = {"tables": tables, "at_start_mib": server.resident_mib}
        loads = generate(server, 16, [("own", seconds), ("any", seconds)], requests)
        row["loads"] = sum(result["requests"] for result in loads)
        row["after_loads_mib"] = server.resident_mib
        row["commits"] = generate(server, 1, [("commit", seconds)], requests)[0]["requests"]
        row["after_commits_mib"] = server.resident_mib
    bench.say(
        f"  {tables} tables: {row['at_start_mib']:.0f} MiB at the start, {row['after_loads_mib']:.0f} after {row['loads']} loads, "
        f"{row['after_commits_mib']:.0f} after {row['commits']} commits"
    )
    return row
