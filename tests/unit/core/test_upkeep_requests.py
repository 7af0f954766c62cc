"""What expire and collect ask of the store: how often, how much at once, and what they tell meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from catalog_format.catalog import StoredCatalog
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ANSWER_LIFETIME_MS, OUTCOME_LIFETIME_MS, ExpiryPolicy, expire
from catalog_format.maintenance.parts import MOST_AT_ONCE
from catalog_format.scope import RequestContext
from catalog_format.storage import CountingStorage, MemoryStorage
from tests.support.catalogs import ManualClock, make_table, opened, setting

NOW = ExpiryPolicy(0)
LARGE = "x" * 5000


@asynccontextmanager
async def newcomer(store: MemoryStorage, clock: ManualClock) -> AsyncIterator[tuple[StoredCatalog, CountingStorage]]:
    """A process that has read nothing but the latest root, and what it asks for."""
    counting = CountingStorage(store)
    async with opened(counting, clock=clock) as catalog:
        counting.reset()
        yield catalog, counting


async def test_each_large_definition_is_read_once_however_many_versions_show_it() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(20):
            await catalog.main.create_namespace((f"large{number}",), {"p": LARGE})
        for number in range(100):
            await catalog.main.create_namespace((f"n{number}",), {})
        latest = await catalog.latest_version()
    async with newcomer(store, clock) as (catalog, counting):
        await collect(catalog.parts, dry_run=True)
        read = counting.calls.paths("get")
        assert sorted(path for path in read if path.startswith("def/")) == await store.list("def")
        assert len(await store.list("def")) == 20
        # Two more to see that the latest version is the latest still.
        assert len([path for path in read if path.startswith("vn/")]) <= latest + 3


async def test_what_leaves_and_the_write_buffer_hide_is_read_once_as_well() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(20):
            await catalog.main.create_namespace((f"large{number}",), {"p": LARGE})
        for number in range(600):
            await catalog.main.create_namespace((f"n{number:03}",), {"filler": "y" * 150})
        for number in range(20):
            await catalog.main.update_namespace((f"large{number}",), [], {"q": "1"})
        assert await store.list("node"), "what came first has left the write buffer"
    async with newcomer(store, clock) as (catalog, counting):
        await collect(catalog.parts, dry_run=True)
        assert sorted(path for path in counting.calls.paths("get") if path.startswith("def/")) == await store.list("def")


async def test_roots_are_read_ahead_but_not_all_at_once() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(5 * MOST_AT_ONCE):
            await catalog.main.create_namespace((f"n{number}",), {})
    async with newcomer(store, clock) as (catalog, counting):
        await collect(catalog.parts, dry_run=True)
        assert counting.calls.max_concurrent == MOST_AT_ONCE


async def test_open_transactions_are_looked_at_several_at_once() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        for number in range(3 * MOST_AT_ONCE):
            await catalog.transactions.begin(f"t{number:02}")
            await (await catalog.within(f"t{number:02}")).commit_tables([setting("ns", "t", a="1")])
    async with newcomer(store, clock) as (catalog, counting):
        listed = [image.transaction_id for image in await catalog.parts.unfinished()]
        assert listed == [f"t{number:02}" for number in range(3 * MOST_AT_ONCE)]
        assert counting.calls.max_concurrent == MOST_AT_ONCE
        counting.reset()
        await collect(catalog.parts, dry_run=True)
        # They share their base.
        assert len([path for path in counting.calls.paths("get") if path.startswith("vn/")]) <= 3 * 2


async def test_verdicts_and_answers_in_files_are_looked_at_several_at_once() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(2 * MOST_AT_ONCE):
            context = RequestContext(idempotency_key=f"k{number}", request_hash=b"h")
            await catalog.main.create_namespace((f"n{number}",), {"p": LARGE}, context)
    clock.advance(ANSWER_LIFETIME_MS / 1000)
    async with newcomer(store, clock) as (catalog, counting):
        assert (await expire(catalog.parts, ExpiryPolicy(0), dry_run=True)).dropped_answers == 2 * MOST_AT_ONCE
        assert counting.calls.max_concurrent == MOST_AT_ONCE


async def test_a_dry_run_writes_nothing_at_all() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        for transaction_id in ("ended", "forgotten"):
            await catalog.transactions.begin(transaction_id)
            await (await catalog.within(transaction_id)).commit_tables([setting("ns", "t", a=transaction_id)])
        remnant = await store.get("dtxn-open/ended")
        await catalog.transactions.commit("ended")
        await catalog.transactions.close()
        await catalog.main.create_namespace(("later",), {})
    await store.put_if_absent("dtxn-open/ended", remnant)
    clock.advance(OUTCOME_LIFETIME_MS / 1000)
    async with newcomer(store, clock) as (catalog, counting):
        planned = await expire(catalog.parts, NOW, dry_run=True)
        await collect(catalog.parts, dry_run=True)
        assert {call.verb for call in counting.calls} == {"get", "exists", "list"}, "nor does it ask what time it is"
        done = await expire(catalog.parts, NOW)
        assert planned == done, "one whose time is up holds nothing"
        assert (planned.dropped_outcomes, planned.pinned) == (1, [])


async def test_both_tell_how_far_they_have_come() -> None:
    store, clock = MemoryStorage(), ManualClock()
    told: list[tuple[str, int, int | None]] = []

    def last(doing: str) -> list[tuple[int, int | None]]:
        """What was told of it last; earlier ones never said more."""
        of_it = [(done, total) for what, done, total in told if what == doing]
        assert of_it == sorted(of_it, key=lambda one: one[0])
        return of_it[-1:]

    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        context = RequestContext(idempotency_key="k", request_hash=b"h")
        await catalog.main.create_namespace(("once",), {}, context)
        await catalog.transactions.begin("1")
        await (await catalog.within("1")).commit_tables([setting("ns", "t", a="1")])
        await catalog.transactions.commit("1")
        latest = await catalog.latest_version()
        clock.advance(ANSWER_LIFETIME_MS / 1000)
        await expire(catalog.parts, NOW, progress=lambda *step: told.append(step))
        assert last("looking at verdicts") == last("looking at answers") == [(1, 1)]
        assert last("giving up versions") == [(latest, latest)]
        assert last("dropping verdicts and answers") == [(2, 2)]
        files = len(await store.list(""))
        told.clear()
        report = await collect(catalog.parts, progress=lambda *step: told.append(step))
        assert last("listing files") == [(files, None)]
        assert last("deleting files") == [(len(report.deleted), len(report.deleted))] != [(0, 0)]
        assert ("looking at versions", 0, 3) in told
