"""Transactions ended from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from catalog_format.catalog import StoredCatalog
from catalog_format.changes import IsolationLevel
from catalog_format.clock import SystemClock
from catalog_format.distributed.image import Delta
from catalog_format.door import TransactionStatus
from tests.server.test_cli import objects, run, told
from tests.support.catalogs import ManualClock, TimelessFolder, opened


def with_catalog(folder: Path, work: Callable[[StoredCatalog], Awaitable[None]], *, began_days_ago: int = 0) -> None:
    async def worked() -> None:
        clock = ManualClock(SystemClock().now_ms() - began_days_ago * 86_400_000)
        async with opened(TimelessFolder(folder), clock=clock) as catalog:
            await work(catalog)

    asyncio.run(worked())


async def _begin(catalog: StoredCatalog) -> None:
    await catalog.transactions.begin("t")
    await (await catalog.within("t")).create_namespace(("made",), {})


def test_commit_takes_effect_once(tmp_path: Path) -> None:
    with_catalog(tmp_path, _begin)
    where = str(tmp_path)
    assert told("dtxn", "commit", where, "t") == "Committed t: 1 change, version 1\n"
    assert objects("dtxn", "commit", where, "t")[0]["version"] == 1
    assert told("dtxn", "list", where) == "No transaction is open\n"
    assert objects("dtxn", "list", where) == []
    assert [item["name"] for item in objects("show", where)] == [["made"]]
    assert objects("log", where)[0]["transactions"][0]["agent"].startswith("treeline/")
    again = run("dtxn", "rollback", where, "t")
    assert again.exit_code == 1 and again.stderr == "treeline: Transaction t was committed in version 1: nothing to roll back\n"


def test_rollback_leaves_nothing(tmp_path: Path) -> None:
    with_catalog(tmp_path, _begin)
    where = str(tmp_path)
    assert told("dtxn", "rollback", where, "t") == "Transaction t is rolled-back\n"
    assert objects("dtxn", "rollback", where, "t")[0]["status"] == "rolled-back"
    assert objects("show", where) == []
    late = run("dtxn", "commit", where, "t")
    assert late.exit_code == 1 and "Transaction t is rolled-back" in late.stderr


def test_a_refused_commit_says_why(tmp_path: Path) -> None:
    async def conflict(catalog: StoredCatalog) -> None:
        await catalog.transactions.begin("t", IsolationLevel.SERIALIZABLE)
        inside = await catalog.within("t")
        await inside.create_namespace(("one",), {})
        await catalog.main.create_namespace(("one",), {})

    with_catalog(tmp_path, conflict)
    refused = run("dtxn", "commit", str(tmp_path), "t")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("treeline: Transaction t (base version 0) is refused because of namespace one")
    assert objects("dtxn", "show", str(tmp_path), "t")[0]["status"] == "refused"


def test_a_transaction_whose_time_is_up_is_told_as_expired(tmp_path: Path) -> None:
    with_catalog(tmp_path, _begin, began_days_ago=1)
    [facts] = objects("dtxn", "list", str(tmp_path))
    assert facts["status"] == "expired" and facts["ended_at"] is not None and facts["reason"] == "its lifetime passed without a commit"
    late = run("dtxn", "commit", str(tmp_path), "t")
    assert late.exit_code == 1 and "Transaction t is expired" in late.stderr


def test_the_verdict_is_found_before_the_log_repeats_it(tmp_path: Path) -> None:
    async def seal(catalog: StoredCatalog) -> None:
        await _begin(catalog)
        await catalog.logs.append(await catalog.logs.load("t"), Delta(TransactionStatus.SEALED))

    with_catalog(tmp_path, seal)
    where = str(tmp_path)
    assert objects("dtxn", "show", where, "t")[0]["status"] == "sealed"
    begun = (tmp_path / "dtxn-open" / "t").read_bytes()
    told("dtxn", "commit", where, "t")
    # As if the process had died between the verdict and its repetition in the log.
    last = max((tmp_path / "dtxn" / "t").iterdir(), key=lambda path: int(path.name[::-1], 2))
    last.unlink()
    (tmp_path / "dtxn-open" / "t").write_bytes(begun)
    [facts] = objects("dtxn", "list", where)
    assert (facts["status"], facts["version"], facts["expires_at"]) == ("committed", 1, None)
