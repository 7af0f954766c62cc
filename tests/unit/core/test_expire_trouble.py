"""Giving versions up where roots are missing or damaged, and in a catalog that nobody works in."""

from __future__ import annotations

import pytest

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.maintenance.check import check
from catalog_format.maintenance.expire import AGENT, MOST_ALIKE, ExpiryPolicy, expire
from catalog_format.node_codec import decode_root
from catalog_format.storage import FaultyStorage, MemoryStorage
from catalog_format.storage.faulty import Rule, ScriptedPlan, TruncatedRead
from tests.support.catalogs import ManualClock, opened
from tests.support.purging import as_path, collected, drop, expired
from tests.support.pyiceberg_tables import TestLake

NOW = ExpiryPolicy(0)


async def given_up(store: MemoryStorage) -> list[int]:
    """Versions of which the stub is left."""
    names = [path.removeprefix("vn/") for path in await store.list("vn")]
    versions = sorted(paths.number_of(name) for name in names if len(name) == paths.VERSION_BITS)
    stubs = []
    for version in versions:
        data = await store.get(paths.root_path(version))
        if data != b"damaged" and decode_root(version, data).stub:
            stubs.append(version)
    return stubs


@pytest.mark.parametrize("left", [None, b"damaged"], ids=["missing", "damaged"])
async def test_a_root_that_cannot_be_read_is_named_and_passed_over(left: bytes | None) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(9):
            await catalog.main.create_namespace((f"n{number}",), {})
        latest = await catalog.latest_version()
    path = paths.root_path(4)
    await (store.delete(path) if left is None else store.replace(path, left))
    clock.advance(1)
    async with opened(store, clock=clock) as catalog:
        report = await expire(catalog.parts, NOW)
        [problem] = report.problems
        assert path in problem and "version 4" in problem
        assert await given_up(store) == [version for version in range(latest) if version != 4]
        assert report.given_up == latest - 1
        assert (await catalog.versions.confirm()).header.stubbed_below == latest
        assert (await expire(catalog.parts, ExpiryPolicy(3_600_000))).problems == [], "the next run does not meet it again"
        problems = (await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)).problems
        assert len(problems) == (left is None) and all(path in problem for problem in problems)


async def test_a_root_that_was_damaged_on_its_way_only_is_read_again() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(5):
            await catalog.main.create_namespace((f"n{number}",), {})
    clock.advance(1)
    faulty = FaultyStorage(store, ScriptedPlan(Rule(TruncatedRead(100), "get", paths.root_path(2))), clock)
    async with opened(faulty, clock=clock) as catalog:
        assert (await expire(catalog.parts, NOW)).problems == []
    assert await given_up(store) == list(range(5))


async def test_many_versions_that_say_nothing_but_what_maintenance_did_are_given_up_too() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await catalog.main.create_namespace(("ns",), {})
        for number in range(3 * MOST_ALIKE):
            clock.advance(3600)
            await catalog.parts.keep_up(Upkeep(new_epoch=True), "begin a collect epoch", AGENT)
            await expire(catalog.parts, ExpiryPolicy(60_000))
            header = (await catalog.versions.confirm()).header
            # One run's own two versions, and what came since.
            assert header.version - header.oldest <= MOST_ALIKE + 3, number
        assert header.oldest > MOST_ALIKE
        for _ in range(3):
            clock.advance(3600)
            await expire(catalog.parts, ExpiryPolicy(60_000))
        latest = await catalog.latest_version()
        clock.advance(3600)
        await expire(catalog.parts, ExpiryPolicy(60_000))
        assert await catalog.latest_version() == latest, "and then it rests"


def test_a_purge_that_cannot_be_done_makes_no_versions(lake: TestLake, clock: ManualClock) -> None:
    table = lake.create("t", [1])
    as_path(table.metadata.snapshots[-1].manifest_list).write_bytes(b"damaged")
    drop(lake, "t")
    clock.advance(4 * 86_400)
    for _ in range(3):
        clock.advance(3600)
        expired(lake, ExpiryPolicy(3_600_000))
        collected(lake)
    latest = lake.run(lake.catalog.latest_version())
    for _ in range(3):
        clock.advance(3600)
        expired(lake, ExpiryPolicy(3_600_000))
        report = collected(lake)
        assert (report.epoch_version, report.purge.waiting) == (None, 1) and report.purge.problems
    assert lake.run(lake.catalog.latest_version()) == latest
