"""Giving versions up while others are busy: nobody waits long for it, and it waits for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.keys import ObjectType, type_range
from catalog_format.maintenance.expire import ANSWER_LIFETIME_MS, DROPPED_AT_ONCE, DROPPING_S, OUTCOME_LIFETIME_MS, ExpiryPolicy, expire
from catalog_format.scope import RequestContext
from catalog_format.storage import MemoryStorage
from catalog_format.tree import scan
from tests.support.catalogs import ManualClock, make_table, opened, setting

NOW = ExpiryPolicy(0)
PATIENCE_S = 30
"""Only so that a test that would wait for ever fails."""


class TellingStore(MemoryStorage):
    """Tells when a root was put."""

    on_root: Callable[[int], None] | None = None

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        done = await super().put_if_absent(path, data)
        if done and path.startswith("vn/") and self.on_root is not None:
            self.on_root(paths.number_of(path.removeprefix("vn/")))
        return done


async def with_answers(catalog: StoredCatalog, count: int) -> int:
    """Commits that are remembered for their idempotency keys; the latest version then."""
    await catalog.main.create_namespace(("ns",), {})
    contexts = (RequestContext(idempotency_key=f"{number:04}", request_hash=b"h") for number in range(count))
    await asyncio.gather(*(catalog.main.update_namespace(("ns",), [], {"a": "1"}, context) for context in contexts))
    return await catalog.latest_version()


async def answers_in(catalog: StoredCatalog, version: int) -> int:
    root = await catalog.versions.read(version)
    return len([entry async for entry in scan(root, *type_range(ObjectType.IDEMPOTENCY), catalog.nodes)])


async def test_versions_are_given_up_by_a_small_commit_and_old_answers_dropped_by_several() -> None:
    clock, count = ManualClock(), 2 * DROPPED_AT_ONCE + 20
    async with opened(TellingStore(), clock=clock) as catalog:
        before = await with_answers(catalog, count)
        clock.advance(ANSWER_LIFETIME_MS / 1000)
        report = await expire(catalog.parts, NOW)
        assert (report.dropped_answers, report.oldest) == (count, before)
        after = range(before + 1, await catalog.latest_version() + 1)
        assert [await answers_in(catalog, version) for version in after] == [count, count - DROPPED_AT_ONCE, 20, 0]
        raised, written_down, *_ = [(await catalog.versions.read(version)).header for version in after]
        assert (raised.oldest, raised.stubbed_below) == (before, 0)
        assert written_down.stubbed_below == before, "the first that drops answers says what was done, too"


async def test_a_client_of_the_same_server_gets_its_turn_in_between() -> None:
    store, clock = TellingStore(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        before = await with_answers(catalog, 3 * DROPPED_AT_ONCE)
        clock.advance(ANSWER_LIFETIME_MS / 1000)
        mine: list[asyncio.Task[object]] = []

        def commit(version: int) -> None:
            if version == before + 2:
                mine.append(asyncio.create_task(catalog.main.create_namespace(("mine",), {})))

        store.on_root = commit
        await expire(catalog.parts, NOW)
        await mine[0]
        latest = await catalog.latest_version()
        shown = [version for version in range(before, latest + 1) if await (await catalog.at(version)).namespace_exists(("mine",))]
        assert await answers_in(catalog, shown[0]) > 0 == await answers_in(catalog, latest)


async def test_a_run_that_was_ended_between_two_batches_is_taken_up_by_the_next() -> None:
    store, clock = TellingStore(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        before = await with_answers(catalog, 2 * DROPPED_AT_ONCE)
        clock.advance(ANSWER_LIFETIME_MS / 1000)

        def stop(version: int) -> None:
            if version == before + 2:
                running.cancel()

        store.on_root = stop
        running = asyncio.create_task(expire(catalog.parts, NOW))
        await asyncio.wait([running])
        assert running.cancelled()
        store.on_root = None
        report = await expire(catalog.parts, NOW)
        assert report.dropped_answers == DROPPED_AT_ONCE and await answers_in(catalog, await catalog.latest_version()) == 0


async def test_what_takes_long_is_left_to_the_next_run() -> None:
    store, clock = TellingStore(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        before = await with_answers(catalog, 3 * DROPPED_AT_ONCE)
        clock.advance(ANSWER_LIFETIME_MS / 1000)
        store.on_root = lambda version: clock.advance(2 * DROPPING_S if version == before + 3 else 0)
        assert (await expire(catalog.parts, NOW)).dropped_answers == 2 * DROPPED_AT_ONCE
        assert await answers_in(catalog, await catalog.latest_version()) == DROPPED_AT_ONCE
        assert (await expire(catalog.parts, NOW)).dropped_answers == DROPPED_AT_ONCE


async def test_what_others_leave_no_turn_for_is_left_to_the_next_run() -> None:
    class Quicker(TellingStore):
        """Whenever a root is about to be put, somebody else commits first."""

        rival: StoredCatalog | None = None

        async def put_if_absent(self, path: str, data: bytes) -> bool:
            if path.startswith("vn/") and self.rival is not None:
                rival, self.rival = self.rival, None
                await rival.main.update_namespace(("ns",), [], {"quicker": path})
                self.rival = rival
            return await super().put_if_absent(path, data)

    store, clock = Quicker(), ManualClock()
    async with opened(store, clock=clock) as catalog, opened(store, clock=clock) as other:
        before = await with_answers(catalog, 10)
        clock.advance(ANSWER_LIFETIME_MS / 1000)

        def begin(version: int) -> None:
            if version == before + 1:
                store.rival = other

        store.on_root = begin
        report = await expire(catalog.parts, NOW)
        assert (report.oldest, report.given_up, report.dropped_answers) == (before, before, 0)
        store.rival = None
        assert (await expire(catalog.parts, NOW)).dropped_answers == 10
        header = (await catalog.versions.confirm()).header
        assert header.stubbed_below == header.oldest


async def test_what_becomes_of_a_verdict_waits_for_its_own_transaction_only() -> None:
    class Stuck(MemoryStorage):
        """The first attempt to take `busy` out of the folder of open ones gets no answer until the test says so."""

        reached, go_on = asyncio.Event(), asyncio.Event()

        async def delete(self, path: str) -> None:
            if path == "dtxn-open/busy" and not self.reached.is_set():
                self.reached.set()
                await self.go_on.wait()
            await super().delete(path)

    store, clock = Stuck(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        for transaction_id in ("old", "busy"):
            await catalog.transactions.begin(transaction_id)
            await (await catalog.within(transaction_id)).commit_tables([setting("ns", "t", a=transaction_id)])
            await catalog.transactions.commit(transaction_id)
            if transaction_id == "old":
                await catalog.transactions.close()
                clock.advance(OUTCOME_LIFETIME_MS / 1000)
        await store.reached.wait()
        try:
            async with asyncio.timeout(PATIENCE_S):
                assert (await expire(catalog.parts, NOW)).dropped_outcomes == 1
        finally:
            store.go_on.set()
