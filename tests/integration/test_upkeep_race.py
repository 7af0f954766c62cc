"""Two processes expire and collect as fast as they can, while two others commit: nothing that is needed goes, nothing else stays."""

from __future__ import annotations

import asyncio
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from catalog_format.catalog import create_catalog, open_catalog
from catalog_format.clock import SystemClock
from catalog_format.errors import ContendedError
from catalog_format.ids import SystemIds
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.storage import LocalStorage
from tests.support.catalogs import SMALL_TREE, make_table, properties_of, setting

pytestmark = pytest.mark.processes

COMMITS = 40
POLICY = ExpiryPolicy(0, keep=2)


def _keep_up(url: str, stop: Event, result: Connection) -> None:
    """Expire and collect until told to stop; send back how many files were deleted."""

    async def run() -> int:
        deleted, catalog = 0, await open_catalog(url)
        while not stop.is_set():
            await expire(catalog.parts, POLICY)
            try:
                deleted += len((await collect(catalog.parts)).deleted)
            except ContendedError:
                continue
        await catalog.close()
        return deleted

    result.send(asyncio.run(run()))
    result.close()


def _commit(url: str, table: str, result: Connection) -> None:
    """Commits, plain ones and transactions in turn; sends back how many there were."""

    async def run() -> int:
        catalog = await open_catalog(url)
        for number in range(COMMITS):
            change = setting("ns", table, n=str(number))
            if number % 2:
                await catalog.main.commit_tables([change])
                continue
            transaction_id = f"{table}-{number}"
            try:
                await catalog.transactions.begin(transaction_id)
            except ContendedError:
                # Its base was given up in that very moment.
                await catalog.main.commit_tables([change])
                continue
            await (await catalog.within(transaction_id)).commit_tables([change])
            await catalog.transactions.commit(transaction_id)
        await catalog.close()
        return COMMITS

    result.send(asyncio.run(run()))
    result.close()


async def _make(folder: Path) -> str:
    store = LocalStorage(folder)
    await create_catalog(store, SystemClock(), SystemIds(), limits=SMALL_TREE)
    catalog = await open_catalog(store.url)
    for table in ("a", "b"):
        await make_table(catalog.main, "ns", table)
    await catalog.close()
    return store.url


async def _judge(url: str) -> None:
    catalog = await open_catalog(url)
    assert [(await properties_of(catalog.main, "ns", table))["n"] for table in ("a", "b")] == [str(COMMITS - 1)] * 2
    await expire(catalog.parts, POLICY)
    await collect(catalog.parts)
    report = await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
    assert (report.problems, report.unreachable) == ([], [])
    assert (await collect(catalog.parts, dry_run=True)).deleted == []
    await catalog.close()


def test_two_processes_collect_while_two_others_commit(tmp_path: Path) -> None:
    url = asyncio.run(_make(tmp_path / "lake"))
    spawn = multiprocessing.get_context("spawn")
    stop, ends, workers = spawn.Event(), [], []
    for target, arguments in ((_keep_up, (stop,)), (_keep_up, (stop,)), (_commit, ("a",)), (_commit, ("b",))):
        near, far = spawn.Pipe(duplex=False)
        worker = spawn.Process(target=target, args=(url, *arguments, far))
        worker.start()
        far.close()
        ends.append(near)
        workers.append(worker)
    try:
        # Who dies closes its end, and this fails.
        assert [end.recv() for end in ends[2:]] == [COMMITS, COMMITS]
        stop.set()
        assert sum(end.recv() for end in ends[:2]) > 0
    finally:
        stop.set()
        for worker, end in zip(workers, ends, strict=True):
            worker.join(60)
            end.close()
            worker.close()
    asyncio.run(_judge(url))
