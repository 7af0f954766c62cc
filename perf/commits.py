"""Commits a second on many tables and on one, against one commit a round trip; and that none is lost or doubled."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from catalog_format import paths
from catalog_format.catalog import open_catalog
from catalog_format.storage import open_storage
from perf.bench import CLIENTS, Bench, Result, cpu_us
from perf.processes import Server, generate, s3_server, serving, slow_line
from perf.wire import TABLES, make_tables, send, setting
from tests.support.s3_server import S3Server

MANY = 200
DELAYS_MS = (0, 60)
_BUCKET = "perf"


@dataclass(frozen=True, slots=True)
class Store:
    """Where a catalog lies and how its server gets there."""

    name: str
    root: str
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def run(bench: Bench) -> Result:
    """Every store, number of tables and number of clients."""
    rows: list[dict[str, Any]] = []
    with _stores(bench) as stores:
        for store in stores:
            bench.say(f"  {store.name}")
            rows.extend(asyncio.run(_on(bench, store)))
    return {"rows": rows, "many": MANY}


@contextmanager
def _stores(bench: Bench) -> Iterator[Iterator[Store]]:
    folder = bench.below("commits")
    data = folder / "s3"
    data.mkdir()
    with s3_server(data) as server:
        server.create_bucket(_BUCKET)

        def stores() -> Iterator[Store]:
            yield Store("local folder", str(folder / "local"))
            for delay in DELAYS_MS:
                with slow_line(server.endpoint, delay) as endpoint:
                    yield _on_s3(server, endpoint, delay)

        yield stores()


def _on_s3(server: S3Server, endpoint: str, delay_ms: int) -> Store:
    environment = {
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "TREELINE_S3_ENDPOINT": endpoint,
        "TREELINE_S3_REGION": server.region,
        "TREELINE_S3_PATH_STYLE": "true",
    }
    options = {**server.options, "s3.endpoint": endpoint}
    return Store(f"S3 ({server.name}), {delay_ms} ms added", f"s3://{_BUCKET}/delay{delay_ms}", options, environment)


async def _on(bench: Bench, store: Store) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    log = bench.folder / "commits" / "log"
    with serving(store.root, log, environment=store.environment) as server:
        names = [f"t{index:03}" for index in range(MANY)]
        make_tables(server, [*names, "one"])
        for tables in (names, ["one"]):
            for clients in CLIENTS:
                before_s = await _put_seconds(bench, store)
                row = await _measured(bench, store, server, tables, clients)
                put_s = statistics.median([before_s, await _put_seconds(bench, store)])
                row |= {"store": store.name, "put_ms": put_s * 1000, "a_round_trip": row["commits_per_s"] * put_s}
                rows.append(row)
                bench.say(
                    f"    {row['tables']} tables, {clients} clients: {row['commits_per_s']:.0f} commits/s, "
                    f"{row['group_size']:.1f} a version, {row['a_round_trip']:.2f} a round trip of {row['put_ms']:.1f} ms"
                )
    return rows


async def _measured(bench: Bench, store: Store, server: Server, tables: list[str], clients: int) -> dict[str, Any]:
    shares = [tables[client % len(tables) :: clients] if len(tables) > 1 else tables for client in range(clients)]
    requests = {"commit": [[setting(table, f"c{client}") for table in share] for client, share in enumerate(shares)]}
    first = await _latest(store)
    warm_up, result = generate(server, clients, [("commit", bench.seconds(1, 0.5)), ("commit", bench.seconds(8, 2))], requests)
    last = await _latest(store)
    acknowledged: dict[tuple[int, int], int] = {}
    for client, number, count in warm_up["acknowledged"] + result["acknowledged"]:
        acknowledged[client, number] = acknowledged.get((client, number), 0) + count
    total = sum(acknowledged.values())
    recorded = await _recorded(store, first, last)
    _check_tables(server, shares, acknowledged)
    if recorded != total:
        raise RuntimeError(f"{total} commits were acknowledged, but the log of versions records {recorded}")
    return {
        "tables": len(tables),
        "clients": clients,
        "commits_per_s": result["requests"] / result["seconds"],
        "p50_ms": result["p50_ms"],
        "p99_ms": result["p99_ms"],
        "acknowledged": total,
        "versions": last - first,
        "group_size": total / (last - first),
        "cpu_us": cpu_us([result]),
        "cores": result["server_cpu_s"] / result["seconds"],
        "seconds": result["seconds"],
    }


def _check_tables(server: Server, shares: list[list[str]], acknowledged: Mapping[tuple[int, int], int]) -> None:
    """Each table's last value of a client's property is the number of commits that the client was told of."""
    held: dict[str, dict[str, str]] = {}
    for (client, number), count in acknowledged.items():
        table = shares[client][number]
        if table not in held:
            held[table] = json.loads(send(server, "GET", f"{TABLES}/{table}")[0])["metadata"]["properties"]
        found = int(held[table][f"c{client}"])
        if found != count:
            raise RuntimeError(f"client {client} was told of {count} commits to {table}, whose property says {found}")


async def _latest(store: Store) -> int:
    catalog = await open_catalog(store.root, options=store.options)
    try:
        return await catalog.latest_version()
    finally:
        await catalog.close()


async def _recorded(store: Store, first: int, last: int) -> int:
    """How many transactions the roots after `first` record."""
    catalog = await open_catalog(store.root, options=store.options)
    try:
        wanted = iter(range(first + 1, last + 1))

        async def counted() -> int:
            return sum([(await catalog.versions.read(version)).actions.count for version in wanted])

        return sum(await asyncio.gather(*(counted() for _ in range(16))))
    finally:
        await catalog.close()


async def _put_seconds(bench: Bench, store: Store) -> float:
    """Median time of putting a file as large as the latest root, one after the other: what a commit cannot go below."""
    size = len(await _read(store, paths.root_path(await _latest(store))))
    storage = open_storage(f"{store.root.rstrip('/')}-puts", store.options)
    data, taken = os.urandom(size), []
    try:
        for _ in range(bench.count(40, 10)):
            began = time.perf_counter()
            await storage.put_if_absent(f"put/{os.urandom(16).hex()}", data)
            taken.append(time.perf_counter() - began)
    finally:
        await storage.close()
    return statistics.median(taken)


async def _read(store: Store, path: str) -> bytes:
    storage = open_storage(store.root, store.options)
    try:
        return await storage.get(path)
    finally:
        await storage.close()
