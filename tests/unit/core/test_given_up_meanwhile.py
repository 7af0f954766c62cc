"""Versions that are given up, and files that are collected, while somebody is in the middle of a purge or a load."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog_format.catalog import StoredCatalog
from catalog_format.clock import SystemClock
from catalog_format.errors import ContendedError, NoSuchNamespaceError, TransactionEndedError, TreelineError
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.storage import FaultyStorage, MemoryStorage, Storage
from catalog_format.storage.faulty import Crash, CrashAfter, CrashBefore, Request, Rule, ScriptedPlan
from tests.support.catalogs import SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, setting
from tests.support.purging import NOW, PATIENCE_S, collected, drop, engines_files, is_clean, settled, wishes
from tests.support.pyiceberg_tables import LAKE_FOLDER, TestLake, opened_lake

LITTER = f"node/{'0' * 64}.arrow"


@dataclass(frozen=True)
class Meanwhile:
    """Others do something before the request arrives."""

    work: Callable[[], Awaitable[None]]

    async def strike(self, request: Request) -> Any:
        await self.work()
        return await request.send()


def beside(store: Storage, rule: Rule) -> FaultyStorage:
    return FaultyStorage(store, ScriptedPlan(rule), SystemClock())


def is_purged_in_the_end(lake: TestLake, tmp_path: Path) -> bool:
    report = settled(lake)
    assert (report.tables, report.problems) == ([("ns", "doomed")], [])
    return engines_files(tmp_path) == set() and wishes(lake) == [] and is_clean(lake)


def test_a_purge_waits_if_the_versions_that_it_looked_at_are_given_up_before_its_epoch(lake: TestLake, tmp_path: Path) -> None:
    """They show the table, so its files are spared; its wish must not be taken for carried out."""
    lake.create("doomed", [1], [2])
    drop(lake, "doomed")
    lake.clock.advance(PATIENCE_S + 1)
    files = engines_files(tmp_path)
    folder = TimelessFolder(tmp_path / LAKE_FOLDER)
    # Or there would be nothing to begin an epoch for.
    assert lake.run(folder.put_if_absent(LITTER, b"of an attempt that failed"))

    async def give_up() -> None:
        async with opened(folder, clock=lake.clock) as other:
            assert (await expire(other.parts, NOW)).given_up

    # The first such put would create the catalog.
    rule = Rule(Meanwhile(give_up), "put_if_absent", "vn/*", 2)
    with opened_lake(tmp_path, lake.clock, lambda store: beside(store, rule)) as collector:
        report = collected(collector)
        assert report.deleted == [LITTER]
        assert (report.purge.tables, report.purge.waiting) == ([], 1)
    assert wishes(lake) == ["ns.doomed"] and engines_files(tmp_path) == files
    assert is_purged_in_the_end(lake, tmp_path)


def test_a_purge_waits_for_who_began_on_a_version_that_shows_the_table_while_it_was_given_up(lake: TestLake, tmp_path: Path) -> None:
    """The transaction appears after the collection's epoch, on a base that is given up and no stub yet, and its process dies."""
    lake.create("doomed", [1], [2])
    folder = TimelessFolder(tmp_path / LAKE_FOLDER)
    begins_late = beside(folder, Rule(CrashAfter(), "put_if_absent", "dtxn-open/*"))
    dies_expiring = beside(folder, Rule(CrashBefore(), "replace", "vn/[01]*"))

    async def story() -> None:
        async with opened(begins_late, clock=lake.clock, max_staleness_s=2 * PATIENCE_S) as late:
            base = await late.latest_version()
            await lake.catalog.main.drop_table(("ns", "doomed"), True)
            lake.clock.advance(PATIENCE_S + 1)
            async with opened(dies_expiring, clock=lake.clock) as expiring:
                with pytest.raises(Crash):
                    await expire(expiring.parts, NOW)

            async def begin() -> None:
                with pytest.raises(Crash):
                    await late.transactions.begin("late")
                assert (await lake.catalog.logs.load("late")).base_version == base

            looks = beside(folder, Rule(Meanwhile(begin), "get", "data/*"))
            async with opened(looks, clock=lake.clock) as collecting:
                report = (await collect(collecting.parts)).purge
                assert (report.tables, report.waiting) == ([], 1)

    files = engines_files(tmp_path)
    lake.run(story())
    assert wishes(lake) == ["ns.doomed"]
    assert {path for path in files if path.suffix != ".json"} <= engines_files(tmp_path)
    lake.run(lake.catalog.transactions.rollback("late"))
    assert is_purged_in_the_end(lake, tmp_path)


@pytest.mark.parametrize("stubbed", [True, False])
async def test_a_transaction_whose_begin_landed_after_its_base_was_collected_has_ended(stubbed: bool) -> None:
    """Whoever sent the BEGIN is gone; others find the transaction, and remember the root that it is based on."""
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog:
        for number in range(12):
            await make_table(catalog.main, "ns", f"t{number}")
        base = await catalog.latest_version()
        async with opened(beside(store, Rule(CrashAfter(), "put_if_absent", "dtxn-open/*")), clock=clock) as late:
            with pytest.raises(Crash):
                await late.transactions.begin("late")
        # As if it were still under way.
        first_state = await store.get("dtxn-open/late")
        await store.delete("dtxn-open/late")
        async with opened(store, clock=clock) as other:
            await other.at(base)
            for number in range(12):
                await catalog.main.drop_table(("ns", f"t{number}"), False)
                clock.advance(1)
            if stubbed:
                await expire(catalog.parts, NOW)
            else:
                dies = beside(store, Rule(CrashBefore(), "replace", "vn/[01]*"))
                async with opened(dies, clock=clock) as expiring:
                    with pytest.raises(Crash):
                        await expire(expiring.parts, NOW)
            assert (await collect(catalog.parts)).deleted
            assert await store.put_if_absent("dtxn-open/late", first_state)
            for work in (
                lambda scope: scope.list_tables(("ns",)),
                lambda scope: scope.commit_tables([setting("ns", "t1", n="1")]),
            ):
                with pytest.raises((TransactionEndedError, NoSuchNamespaceError), match="late is expired"):
                    await work(await other.within("late"))


async def _of_a_past_version(reader: StoredCatalog) -> Any:
    return await reader.at(await reader.latest_version())


async def _of_a_transaction(reader: StoredCatalog) -> Any:
    await reader.transactions.begin("x")
    return await reader.within("x")


@pytest.mark.parametrize(
    ("scope_of", "error", "message"),
    [
        (_of_a_past_version, ContendedError, r"Version \d+ was given up while it was read: read again"),
        (_of_a_transaction, NoSuchNamespaceError, "Transaction x is rolled-back"),
    ],
    ids=["a past version", "a transaction"],
)
async def test_a_load_whose_metadata_file_is_collected_meanwhile_says_why(
    scope_of: Callable[[StoredCatalog], Awaitable[Any]], error: type[TreelineError], message: str
) -> None:
    """The definition was read, and the file that it names is gone when it is asked for: the store is not damaged."""
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")

        async def make_go() -> None:
            if await catalog.logs.list_open():
                await catalog.transactions.rollback("x")
                await catalog.transactions.close()
            await catalog.main.commit_tables([setting("ns", "t", n="1")])
            clock.advance(1)
            await expire(catalog.parts, ExpiryPolicy(0))
            assert any(path.endswith(".metadata.json") for path in (await collect(catalog.parts)).deleted)

        async with opened(beside(store, Rule(Meanwhile(make_go), "get", "data/*")), clock=clock) as reader:
            scope = await scope_of(reader)
            with pytest.raises(error, match=message):
                await scope.load_table(("ns", "t"))
            assert (await reader.main.load_table(("ns", "t"))).metadata
