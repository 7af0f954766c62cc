"""A table with 5,000 snapshots: what its size costs the metadata builder, a load, a load of what is referenced, a commit."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import orjson

from catalog_format.iceberg.metadata import TableMetadataBuilder, encode_metadata, parse_metadata
from perf import bulk
from perf.bench import Bench, Result, median_of, slices
from perf.processes import Server, generate, serving
from perf.reference_app import MEMORY
from perf.wire import API, NAMESPACE, TABLES, get, make_tables, send, setting

SNAPSHOTS = (100, 5_000)
MOST_RATIO = 1.5
"""How much slower a load may be than the same bytes from memory."""
MOST_BUILD_MS = 20
_FILE = "s3://b/t/metadata/00001-a.metadata.json"


def run(bench: Bench) -> Result:
    """The builder in this process, then both tables on one server, beside the bytes of the larger one from memory."""
    folder = bench.below("large_table")
    built = [_builder(bench, snapshots) for snapshots in SNAPSHOTS]
    with serving(str(folder / "catalog"), folder / "log", module="perf.reference_app") as server:
        make_tables(server, [])
        served = [_served(bench, server, folder / "files", snapshots) for snapshots in SNAPSHOTS]
    return {"builder": built, "served": served, "limit": MOST_RATIO, "build_limit_ms": MOST_BUILD_MS}


def _builder(bench: Bench, snapshots: int) -> dict[str, Any]:
    """CPU time of each step of a commit, and how much of the old metadata the new one shares."""
    data = bulk.metadata_after(snapshots, "s3://b/t")
    base = parse_metadata(data, _FILE)
    now_ms, count = int(base["last-updated-ms"]) + 1, bench.count(200, 20)
    append = _append(base, now_ms)
    old = [snapshot["snapshot-id"] for snapshot in base["snapshots"][:50]]
    expire = [{"action": "remove-snapshots", "snapshot-ids": old}]

    def build(updates: list[dict[str, Any]]) -> dict[str, Any]:
        return TableMetadataBuilder(base).apply_all(updates).build(now_ms, _FILE)

    after = build(append)
    row = {
        "snapshots": snapshots,
        "bytes": len(data),
        "append_ms": _cpu_ms(lambda: build(append), count),
        "expire_ms": _cpu_ms(lambda: build(expire), count),
        "parse_ms": _cpu_ms(lambda: orjson.loads(data), count // 4),
        "encode_ms": _cpu_ms(lambda: encode_metadata(after, _FILE), count // 4),
        "shared": sum(new is old for new, old in zip(after["snapshots"], base["snapshots"], strict=False)),
    }
    bench.say(f"  {snapshots} snapshots: append {row['append_ms']:.2f} ms, expire {row['expire_ms']:.2f} ms of CPU in the builder")
    return row


def _append(base: dict[str, Any], now_ms: int) -> list[dict[str, Any]]:
    """What a client sends for an append."""
    snapshot = {
        **base["snapshots"][-1],
        "snapshot-id": 1,
        "sequence-number": base["last-sequence-number"] + 1,
        "parent-snapshot-id": base["current-snapshot-id"],
        "timestamp-ms": now_ms,
    }
    return [
        {"action": "add-snapshot", "snapshot": snapshot},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1},
    ]


def _cpu_ms(run: Any, count: int) -> float:
    """Median CPU time of a call."""
    times = []
    for _ in range(count):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return statistics.median(times) * 1000


def _served(bench: Bench, server: Server, files: Path, snapshots: int) -> dict[str, Any]:
    """Latencies of one client."""
    name = f"after{snapshots}"
    file = files / name / "metadata" / "00000-a.metadata.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(bulk.metadata_after(snapshots, f"file://{files / name}"))
    send(server, "POST", f"{API}/namespaces/{NAMESPACE}/register", {"name": name, "metadata-location": f"file://{file}"})
    body, headers = send(server, "GET", f"{TABLES}/{name}")
    send(server, "POST", MEMORY, body, {"ETag": headers["etag"]})
    few, _ = send(server, "GET", f"{TABLES}/{name}?snapshots=refs")
    requests = {
        "load": [[get(f"{TABLES}/{name}")]],
        "memory": [[get(MEMORY)]],
        "refs": [[get(f"{TABLES}/{name}?snapshots=refs")]],
        "commit": [[setting(name, "n")]],
    }
    rounds, seconds = bench.count(7, 3), bench.seconds(0.7, 0.3)
    # Commits last: they give the table another file, and the bytes in memory stay.
    phases = [("load", seconds), ("memory", seconds)] * (rounds + 1) + [("refs", seconds)] * rounds + [("commit", seconds)] * rounds
    results = generate(server, 1, phases, requests)[2:]
    loads, memory = slices(results, "load"), slices(results, "memory")
    ratios = [load["p50_ms"] / other["p50_ms"] for load, other in zip(loads, memory, strict=True)]
    row = {
        "snapshots": snapshots,
        "bytes": len(body),
        "refs_bytes": len(few),
        "load_p50_ms": median_of(loads, "p50_ms"),
        "memory_p50_ms": median_of(memory, "p50_ms"),
        "ratio": statistics.median(ratios),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "refs_p50_ms": median_of(slices(results, "refs"), "p50_ms"),
        "commit_p50_ms": median_of(slices(results, "commit"), "p50_ms"),
        "rounds": rounds,
        "seconds": seconds,
    }
    bench.say(
        f"  {snapshots} snapshots: load {row['load_p50_ms']:.2f} ms ({row['ratio']:.2f} of memory), "
        f"referenced only {row['refs_p50_ms']:.2f} ms, commit {row['commit_p50_ms']:.1f} ms"
    )
    return row
