"""Loads a second over HTTP, against a route of the same server that returns the same bytes from memory."""

from __future__ import annotations

import statistics
from typing import Any

from perf.bench import CLIENTS, Bench, Result, cpu_us, median_of, median_rate, rate, slices
from perf.processes import Server, generate, serving
from perf.reference_app import MEMORY
from perf.wire import TABLES, get, make_tables, send

TABLE_COUNT = 200
LEAST_RATIO = 0.7
# What makes a table's metadata larger: a comment of so many bytes.
_SIZES = {"as created": 0, "20 KiB": 20 * 1024}


def run(bench: Bench) -> Result:
    """For each size of metadata and number of clients: both routes in turn, round after round, in one process."""
    folder = bench.below("loads")
    rows: list[dict[str, Any]] = []
    with serving(str(folder / "catalog"), folder / "log", module="perf.reference_app") as server:
        for number, (size, comment) in enumerate(_SIZES.items()):
            names = [f"t{number}_{index:03}" for index in range(TABLE_COUNT)]
            make_tables(server, names, {"comment": "c" * comment} if comment else None)
            rows.extend(_measured(bench, server, names, size))
    return {"rows": rows, "limit": LEAST_RATIO, "tables": TABLE_COUNT}


def _measured(bench: Bench, server: Server, names: list[str], size: str) -> list[dict[str, Any]]:
    body, headers = send(server, "GET", f"{TABLES}/{names[0]}")
    send(server, "POST", MEMORY, body, {"ETag": headers["etag"]})
    requests = {"load": [[get(f"{TABLES}/{name}") for name in names]], "memory": [[get(MEMORY)]]}
    rounds, seconds = bench.count(9, 3), bench.seconds(1.5, 0.4)
    rows = []
    for clients in CLIENTS:
        warm_up = [("load", 0.5), ("memory", 0.5)]
        results = generate(server, clients, [*warm_up, *[("load", seconds), ("memory", seconds)] * rounds], requests)[len(warm_up) :]
        loads, memory = slices(results, "load"), slices(results, "memory")
        ratios = [rate(load) / rate(other) for load, other in zip(loads, memory, strict=True)]
        rows.append(
            {
                "metadata": size,
                "bytes": len(body),
                "clients": clients,
                "loads_per_s": median_rate(loads),
                "memory_per_s": median_rate(memory),
                "ratio": statistics.median(ratios),
                "ratio_low": min(ratios),
                "ratio_high": max(ratios),
                "load_p50_ms": median_of(loads, "p50_ms"),
                "load_p99_ms": median_of(loads, "p99_ms"),
                "load_cpu_us": cpu_us(loads),
                "memory_cpu_us": cpu_us(memory),
                "generator_cpu_us": cpu_us(loads, "generator_cpu_s"),
                "rounds": rounds,
                "seconds": seconds,
            }
        )
        bench.say(f"  metadata {size}, {clients} clients: {rows[-1]['loads_per_s']:.0f} loads/s, {rows[-1]['ratio']:.2f} of memory")
    return rows
