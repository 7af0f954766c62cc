"""Giving versions up: what remains of them, who holds them back, and what others see meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    ContendedError,
    CorruptFileError,
    InvalidArgumentError,
    NoSuchVersionError,
    TransactionEndedError,
    TransactionRefusedError,
    UnknownOutcomeError,
)
from catalog_format.keys import ObjectType, type_range
from catalog_format.maintenance.check import check
from catalog_format.maintenance.expire import ANSWER_LIFETIME_MS, OUTCOME_LIFETIME_MS, ExpiryPolicy, expire
from catalog_format.node_codec import decode_root, encode_stub
from catalog_format.scope import RequestContext
from catalog_format.storage import CountingStorage, FaultyStorage, MemoryStorage
from catalog_format.storage.faulty import LostReply, LostRequest, Rule, ScriptedPlan
from catalog_format.tree import scan
from tests.support.catalogs import SMALL_TREE, ManualClock, make_table, opened, properties_of, setting

NOW = ExpiryPolicy(0)
HOUR_S = 3600


@asynccontextmanager
async def filled(store: MemoryStorage, clock: ManualClock, commits: int = 10) -> AsyncIterator[StoredCatalog]:
    """A catalog with a namespace (version 1), a table (2), and commits to it from version 3 on, a minute apart."""
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog:
        await make_table(catalog.main, "ns", "t")
        for number in range(commits):
            clock.advance(60)
            await catalog.main.commit_tables([setting("ns", "t", n=str(number))])
        yield catalog


async def is_stub(store: MemoryStorage, version: int) -> bool:
    return decode_root(version, await store.get(paths.root_path(version))).stub


async def clean(catalog: StoredCatalog) -> bool:
    return (await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)).problems == []


async def test_given_up_versions_are_stubs_and_later_ones_are_read_as_before() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        report = await expire(catalog.parts, ExpiryPolicy(0, keep=3))
        assert (report.oldest_before, report.oldest, report.given_up, report.pinned) == (0, 10, 10, [])
        assert [version for version in range(13) if await is_stub(store, version)] == list(range(10))
        assert (await properties_of(catalog.main, "ns", "t"))["n"] == "9"
        assert (await properties_of(await catalog.at(10), "ns", "t"))["n"] == "7"
        for version in (0, 9):
            with pytest.raises(NoSuchVersionError, match=f"Version {version} was given up"):
                await catalog.at(version)
        assert await clean(catalog)


async def test_of_a_stub_all_but_its_entries_is_left() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        before = [await catalog.versions.read(version) for version in range(13)]
        await expire(catalog.parts, NOW)
        for root in before[:12]:
            stub = await catalog.versions.trace(root.version)
            assert stub.stub and stub.hash == root.hash and stub.header == root.header
            assert stub.actions.entries() == root.actions.entries()
            assert (len(stub.pivots), len(stub.buffer)) == (0, 0)
            assert encode_stub(stub) == await store.get(paths.root_path(root.version))


async def test_a_newcomer_finds_the_latest_version_across_stubs() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await expire(catalog.parts, NOW)
        latest = await catalog.latest_version()
    for hint in (None, b"3", b"99"):
        await store.delete(paths.LATEST_HINT)
        if hint is not None:
            await store.replace(paths.LATEST_HINT, hint)
        async with opened(store, clock=clock) as other:
            assert await other.latest_version() == latest
            assert (await properties_of(other.main, "ns", "t"))["n"] == "9"


async def test_age_and_number_both_keep_versions() -> None:
    clock = ManualClock()
    async with filled(MemoryStorage(), clock) as catalog:
        # Versions 3 to 12 were made one minute after the other, the last one just now.
        async def oldest(policy: ExpiryPolicy) -> int:
            return (await expire(catalog.parts, policy, dry_run=True)).oldest

        assert await oldest(ExpiryPolicy(5 * 60_000)) == 7
        assert await oldest(ExpiryPolicy(5 * 60_000 + 1)) == 6
        assert await oldest(ExpiryPolicy(5 * 60_000, keep=8)) == 5
        assert await oldest(ExpiryPolicy(10 * HOUR_S * 1000)) == 0
        assert await oldest(ExpiryPolicy(0, keep=50)) == 0
        assert await oldest(NOW) == 12
        assert await catalog.latest_version() == 12
        moment = clock.now_ms() - 5 * 60_000
        await expire(catalog.parts, ExpiryPolicy(5 * 60_000))
        assert await catalog.version_at(moment) == 7
        with pytest.raises(NoSuchVersionError):
            await catalog.version_at(moment - 1)


@pytest.mark.parametrize(("older_than_ms", "keep"), [(-1, 1), (0, 0)])
async def test_a_policy_that_keeps_nothing_is_refused(older_than_ms: int, keep: int) -> None:
    with pytest.raises(InvalidArgumentError, match="At least one version is kept"):
        ExpiryPolicy(older_than_ms, keep)


async def test_the_base_of_an_open_transaction_stays_until_it_ends() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock, commits=3) as catalog:
        await catalog.transactions.begin("1")
        inside = await catalog.within("1")
        await inside.commit_tables([setting("ns", "t", mine="1")])
        for number in range(3):
            await catalog.main.create_namespace((f"n{number}",), {})
        clock.advance(1)
        report = await expire(catalog.parts, NOW)
        assert (report.pinned, report.given_up) == ([5], 7)
        assert not await is_stub(store, 5) and await is_stub(store, 4) and await is_stub(store, 6)
        assert (await catalog.versions.confirm()).header.unstubbed == (5,)
        with pytest.raises(NoSuchVersionError):
            await catalog.at(5)
        assert (await properties_of(inside, "ns", "t"))["mine"] == "1"
        await catalog.transactions.commit("1")
        assert (await properties_of(catalog.main, "ns", "t"))["mine"] == "1"
        clock.advance(1)
        again = await expire(catalog.parts, NOW)
        assert again.pinned == [] and await is_stub(store, 5)
        assert (await catalog.versions.confirm()).header.unstubbed == ()
        assert await clean(catalog)


async def test_a_transaction_whose_time_is_up_holds_nothing() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock, commits=3) as catalog:
        await catalog.transactions.begin("1", ttl_ms=1000)
        await catalog.main.create_namespace(("later",), {})
        clock.advance(2)
        report = await expire(catalog.parts, NOW)
        assert report.pinned == [] and await is_stub(store, 5)
        assert (await catalog.transactions.load("1")).status is TransactionStatus.EXPIRED


async def test_nothing_is_given_up_beside_a_log_that_cannot_be_read() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await store.put_if_absent("dtxn-open/damaged", b"x" * 40)
        with pytest.raises(CorruptFileError, match="damaged"):
            await expire(catalog.parts, NOW)
        assert await catalog.latest_version() == 12
        assert not await is_stub(store, 0)


async def test_a_run_that_was_killed_is_taken_up_by_the_next() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock):
        pass
    faulty = FaultyStorage(store, ScriptedPlan(), clock)

    class DiesAfter(FaultyStorage):
        left = 5

        async def replace(self, path: str, data: bytes) -> None:
            if path.startswith("vn/") and path != paths.LATEST_HINT:
                self.left -= 1
                if self.left < 0:
                    raise self.crash()
            await super().replace(path, data)

    with pytest.raises(BaseException, match="injected: crash"):
        async with opened(DiesAfter(store, ScriptedPlan(), clock), clock=clock) as dying:
            await expire(dying.parts, NOW)
    stubs = [version for version in range(13) if await is_stub(store, version)]
    assert 0 < len(stubs) < 12
    async with opened(faulty, clock=clock) as catalog:
        with pytest.raises(NoSuchVersionError):
            await catalog.at(11)
        report = await expire(catalog.parts, NOW)
        assert report.given_up == 12 - len(stubs)
        assert [version for version in range(13) if await is_stub(store, version)] == list(range(12))
        assert (await properties_of(catalog.main, "ns", "t"))["n"] == "9"
        assert await clean(catalog)


async def test_two_at_once_and_a_third_that_finds_nothing_to_do() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as one, opened(store, clock=clock) as two:
        await asyncio.gather(expire(one.parts, ExpiryPolicy(0, keep=2)), expire(two.parts, ExpiryPolicy(0, keep=4)))
        assert await clean(one)
        assert (await one.versions.confirm()).header.oldest == 11
        await expire(one.parts, ExpiryPolicy(HOUR_S * 1000))
        before = await one.latest_version()
        report = await expire(two.parts, ExpiryPolicy(HOUR_S * 1000))
        assert report.given_up == 0 and await one.latest_version() == before


async def test_a_catalog_at_rest_comes_to_rest() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        latest = []
        for _ in range(6):
            clock.advance(HOUR_S)
            await expire(catalog.parts, ExpiryPolicy(60_000))
            latest.append(await catalog.latest_version())
        assert latest[0] == 14 and set(latest[1:]) == {latest[1]}
        await catalog.transactions.begin("1")
        await catalog.main.create_namespace(("work",), {})
        clock.advance(600)
        await expire(catalog.parts, ExpiryPolicy(60_000))
        await catalog.transactions.rollback("1")
        before = await catalog.latest_version()
        for _ in range(3):
            report = await expire(catalog.parts, ExpiryPolicy(60_000))
        assert (await catalog.versions.confirm()).header.unstubbed == () and report.given_up == 0
        assert await catalog.latest_version() == before + 1
        latest.append(before + 1)
        await catalog.main.create_namespace(("more work",), {})
        clock.advance(HOUR_S)
        assert (await expire(catalog.parts, ExpiryPolicy(60_000))).oldest == latest[-1] + 1


async def test_the_cost_of_a_run_is_what_it_gives_up() -> None:
    store, clock = CountingStorage(MemoryStorage()), ManualClock()
    async with opened(store, clock=clock) as catalog:
        for number in range(40):
            await catalog.main.create_namespace((f"n{number}",), {})
        await expire(catalog.parts, ExpiryPolicy(0, keep=10))
        for number in range(40, 45):
            await catalog.main.create_namespace((f"n{number}",), {})
        with store.measure() as calls:
            report = await expire(catalog.parts, ExpiryPolicy(0, keep=10))
        stubbed = [path for path in calls.paths("replace") if path != paths.LATEST_HINT]
        assert report.given_up == len(stubbed) < 10


async def test_verdicts_leave_the_tree_and_stay_true() -> None:
    """Of two COMMITs nobody heard the reply; whoever asks is told when neither the verdicts nor their versions are kept any more."""
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock, commits=1) as catalog:
        for transaction_id in ("won", "lost"):
            await catalog.transactions.begin(transaction_id)
            inside = await catalog.within(transaction_id)
            await inside.drop_table(("ns", "t"))
        judged_in = {}
        for transaction_id in ("won", "lost"):
            judged_in[transaction_id] = await catalog.latest_version() + 1
            root_path = paths.root_path(judged_in[transaction_id])
            rules = [Rule(LostReply(), "put_if_absent", root_path), Rule(LostRequest(), None, root_path, 2, None)]
            async with opened(FaultyStorage(store, ScriptedPlan(*rules), clock), clock=clock) as lonely:
                with pytest.raises(UnknownOutcomeError):
                    await lonely.transactions.commit(transaction_id)
            assert await catalog.latest_version() == judged_in[transaction_id]
        young = await expire(catalog.parts, NOW)
        assert young.dropped_outcomes == 0
        clock.advance(OUTCOME_LIFETIME_MS / 1000)
        report = await expire(catalog.parts, NOW)
        assert report.dropped_outcomes == 2
        root = await catalog.versions.confirm()
        assert [entry async for entry in scan(root, *type_range(ObjectType.OUTCOME), catalog.nodes)] == []
        assert [await is_stub(store, version) for version in judged_in.values()] == [True, True]
        async with opened(store, clock=clock) as other:
            won = await other.transactions.commit("won")
            assert (won.status, won.version) == (TransactionStatus.COMMITTED, judged_in["won"])
            assert await other.transactions.load("won") == won
            for _ in range(2):
                with pytest.raises(TransactionRefusedError, match=r"is refused because of table ns\.t"):
                    await other.transactions.commit("lost")


async def test_answers_to_repeated_requests_are_dropped_after_two_days() -> None:
    clock = ManualClock()
    async with filled(MemoryStorage(), clock, commits=1) as catalog:
        context = RequestContext(idempotency_key="k", request_hash=b"h")
        await catalog.main.create_namespace(("once",), {}, context)
        clock.advance(ANSWER_LIFETIME_MS / 1000 - 1)
        assert (await expire(catalog.parts, NOW)).dropped_answers == 0
        await catalog.main.create_namespace(("once",), {}, context)
        clock.advance(1)
        assert (await expire(catalog.parts, NOW)).dropped_answers == 1
        root = await catalog.versions.confirm()
        assert [entry async for entry in scan(root, *type_range(ObjectType.IDEMPOTENCY), catalog.nodes)] == []


class HeldStorage(MemoryStorage):
    """Lets the test do something right after a file was put (or before it is)."""

    def __init__(self, *, before: bool = False) -> None:
        super().__init__()
        self.before = before
        self.after_put: dict[str, asyncio.Event] = {}
        self.go_on = asyncio.Event()

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        reached = self.after_put.pop(path, None)
        if reached is not None and self.before:
            reached.set()
            await self.go_on.wait()
        done = await super().put_if_absent(path, data)
        if reached is not None and not self.before:
            reached.set()
            await self.go_on.wait()
        return done


async def test_a_transaction_that_was_listed_while_it_began_holds_its_base() -> None:
    store, clock = HeldStorage(), ManualClock()
    async with filled(store, clock, commits=2) as catalog, opened(store, clock=clock) as other:
        store.after_put["dtxn-open/1"] = reached = asyncio.Event()
        beginning = asyncio.create_task(catalog.transactions.begin("1"))
        await reached.wait()
        await other.main.create_namespace(("meanwhile",), {})
        clock.advance(1)
        assert (await expire(other.parts, NOW)).pinned == [4]
        store.go_on.set()
        # Its base is held, but that it cannot know.
        with pytest.raises(ContendedError, match="Version 4 was given up while transaction 1 began on it: begin another"):
            await beginning
        assert not await is_stub(store, 4)


async def test_a_transaction_that_begins_too_late_to_hold_its_base_is_ended() -> None:
    store, clock = HeldStorage(before=True), ManualClock()
    async with filled(store, clock, commits=2) as catalog, opened(store, clock=clock) as other:
        store.after_put["dtxn-open/1"] = reached = asyncio.Event()
        beginning = asyncio.create_task(catalog.transactions.begin("1"))
        await reached.wait()
        await other.main.create_namespace(("meanwhile",), {})
        clock.advance(1)
        assert (await expire(other.parts, NOW)).pinned == []
        store.go_on.set()
        with pytest.raises(ContendedError, match="Version 4 was given up while transaction 1 began on it: begin another"):
            await beginning
        assert (await other.transactions.load("1")).status is TransactionStatus.EXPIRED


async def test_a_transaction_that_lost_its_base_is_expired_when_it_is_used() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock, commits=2) as catalog:
        for transaction_id in ("read", "write", "commit"):
            await catalog.transactions.begin(transaction_id)
            await (await catalog.within(transaction_id)).commit_tables([setting("ns", "t", mine="1")])
        await catalog.main.create_namespace(("meanwhile",), {})
    # As no expiry would: the base of open transactions becomes a stub.
    path = paths.root_path(4)
    await store.replace(path, encode_stub(decode_root(4, await store.get(path))))
    async with opened(store, clock=clock) as other:
        with pytest.raises(TransactionEndedError, match="its base version 4 was given up"):
            await (await other.within("read")).load_table(("ns", "t"))
        with pytest.raises(TransactionEndedError, match="its base version 4 was given up"):
            await (await other.within("write")).commit_tables([setting("ns", "t", mine="2")])
        with pytest.raises(TransactionRefusedError, match="Version 4 was given up"):
            await other.transactions.commit("commit")
        assert "mine" not in await properties_of(other.main, "ns", "t")


async def test_a_stub_is_never_taken_for_the_latest_version() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock) as other:
        known = other.versions.known.version
        for number in range(3):
            await catalog.main.commit_tables([setting("ns", "t", n=str(number))])
        clock.advance(1)
        await expire(catalog.parts, NOW)
        # As after a lost turn: who won it was given up before the loser looked.
        other.versions.observe(await other.versions.trace(known + 2))
        assert other.versions.known.version == known
        assert (await other.versions.confirm()).version == await catalog.latest_version()
