"""Distributed transactions: what they see, who wins, and that every process tells the same."""

from __future__ import annotations

import asyncio

import pytest

from catalog_format import paths
from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    AlreadyExistsError,
    CorruptFileError,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTransactionError,
    TransactionEndedError,
)
from catalog_format.storage import (
    CrashAfter,
    CrashBefore,
    FaultyStorage,
    LostReply,
    MemoryStorage,
    Rule,
    ScriptedPlan,
    StoreCall,
)
from catalog_format.storage.faulty import Crash
from tests.support.catalogs import NEW_VIEW, ManualClock, make_table, opened, properties_of, setting

SERIALIZABLE = IsolationLevel.SERIALIZABLE


async def test_what_it_wrote_is_seen_by_it_alone_until_commit() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(one.main, "ns", "old")
        await one.transactions.begin("1")
        inside = await one.within("1")
        await make_table(inside, "ns", "new")
        await inside.commit_tables([setting("ns", "old", a="1")])
        await inside.create_view(("ns", "v"), NEW_VIEW)
        await inside.create_namespace(("ns", "deep"), {"k": "v"})
        await inside.rename_table(("ns", "new"), ("ns", "deep", "renamed"))
        before = await other.latest_version()
        assert [name for scope in (one.main, other.main) for name in (await scope.list_tables(("ns",))).items] == [("ns", "old")] * 2
        elsewhere = await other.within("1")
        for scope in (inside, elsewhere):
            assert (await scope.list_tables(("ns",))).items == [("ns", "old")]
            assert (await scope.list_tables(("ns", "deep"))).items == [("ns", "deep", "renamed")]
            assert (await scope.list_views(("ns",))).items == [("ns", "v")]
            assert await properties_of(scope, "ns", "old") == {"a": "1"}
        info = await other.transactions.commit("1")
        assert (info.status, info.version) == (TransactionStatus.COMMITTED, before + 1)
        assert await properties_of(one.main, "ns", "old") == {"a": "1"}
        assert (await one.main.list_tables(("ns", "deep"))).items == [("ns", "deep", "renamed")]
        assert await one.transactions.list_open() == []


async def test_what_others_commit_after_its_base_is_invisible() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("1")
        await catalog.main.commit_tables([setting("ns", "t", later="1")])
        await make_table(catalog.main, "ns", "u")
        inside = await catalog.within("1")
        assert await properties_of(inside, "ns", "t") == {}
        assert (await inside.list_tables(("ns",))).items == [("ns", "t")]


async def test_rollback_leaves_no_trace_and_spends_the_id() -> None:
    store = MemoryStorage()
    async with opened(store) as catalog:
        await catalog.transactions.begin("1")
        inside = await catalog.within("1")
        await make_table(inside, "ns", "t")
        before = await catalog.latest_version()
        await catalog.transactions.rollback("1")
        await catalog.transactions.rollback("1")
        assert await catalog.latest_version() == before
        with pytest.raises(NoSuchNamespaceError, match="rolled-back"):
            await inside.load_table(("ns", "t"))
        with pytest.raises(TransactionEndedError, match="rolled-back"):
            await inside.create_namespace(("x",), {})
        with pytest.raises(TransactionEndedError, match="rolled-back"):
            await catalog.transactions.commit("1")
    async with opened(store) as catalog:
        assert (await catalog.transactions.load("1")).status is TransactionStatus.ROLLED_BACK
        with pytest.raises(AlreadyExistsError, match="used"):
            await catalog.transactions.begin("1")
        assert await store.list(paths.OPEN_TRANSACTIONS) == []
        with pytest.raises(NoSuchTransactionError):
            await catalog.transactions.load("2")


async def test_two_processes_write_in_one_transaction_at_once() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(one.main, "ns", "t")
        await one.transactions.begin("1")
        scopes = [await one.within("1"), await other.within("1")]
        await asyncio.gather(
            *(
                scope.commit_tables([setting("ns", "t", **{f"{who}{n}": "1"})])
                for n in range(10)
                for who, scope in zip("ab", scopes, strict=True)
            )
        )
        await other.transactions.commit("1")
        assert await properties_of(one.main, "ns", "t") == {f"{who}{n}": "1" for who in "ab" for n in range(10)}


async def test_a_long_log_is_read_from_its_checkpoint() -> None:
    store = MemoryStorage()
    async with opened(store) as one:
        await make_table(one.main, "ns", "t")
        await one.transactions.begin("1", properties={"owner": "me"})
        inside = await one.within("1")
        for n in range(70):
            await inside.commit_tables([setting("ns", "t", **{f"p{n}": "1"})])
        async with opened(store) as other:
            assert await properties_of(await other.within("1"), "ns", "t") == {f"p{n}": "1" for n in range(70)}
            info = await other.transactions.commit("1")
            assert info.properties == {"owner": "me"}
        assert len(await properties_of(one.main, "ns", "t")) == 70


async def test_abandoned_transactions_expire_and_every_state_renews_the_lifetime() -> None:
    clock, store = ManualClock(), MemoryStorage()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("1", ttl_ms=60_000)
        inside = await catalog.within("1")
        clock.advance(50)
        await inside.commit_tables([setting("ns", "t", a="1")])
        clock.advance(50)
        assert (await catalog.transactions.load("1")).status is TransactionStatus.OPEN
        clock.advance(11)
        with pytest.raises(NoSuchNamespaceError, match="expired"):
            await inside.load_table(("ns", "t"))
        with pytest.raises(TransactionEndedError, match="expired"):
            await catalog.transactions.commit("1")
        assert await catalog.transactions.list_open() == []
    assert await store.list(paths.OPEN_TRANSACTIONS) == []


async def test_bad_ids_and_lifetimes_are_refused() -> None:
    async with opened() as catalog:
        for name in ("", "a/b", "a b", "x" * 129, "é", ".", "..", ".tmp-1"):
            with pytest.raises(InvalidArgumentError, match="Transaction id"):
                await catalog.transactions.begin(name)
        for ttl in (0, -1, 10**12):
            with pytest.raises(InvalidArgumentError, match="ttl-millis"):
                await catalog.transactions.begin("1", ttl_ms=ttl)
        await catalog.transactions.begin("1")
        with pytest.raises(AlreadyExistsError, match="already exists"):
            await catalog.transactions.begin("1")


async def test_begin_in_a_process_that_lags_behind_is_on_the_latest_version() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(other.main, "ns", "t")
        info = await one.transactions.begin("1", properties={"owner": "me"})
        assert info.base_version == await other.latest_version()
        assert await (await one.within("1")).table_exists(("ns", "t"))
        assert (await other.transactions.load("1")).properties == {"owner": "me"}


@pytest.mark.parametrize("path", ["dtxn-open/*", "dtxn/1/*", "vn/[01]*"])
async def test_lost_replies_lose_and_double_nothing(path: str) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
    faulty = FaultyStorage(store, ScriptedPlan(Rule(LostReply(), "put_if_absent", path, times=None)), clock)
    async with opened(faulty, clock=clock) as catalog:
        before = await catalog.latest_version()
        await catalog.transactions.begin("1")
        await (await catalog.within("1")).commit_tables([setting("ns", "t", a="1")])
        info = await catalog.transactions.commit("1")
        assert info.version == await catalog.latest_version() == before + 1
        assert await properties_of(catalog.main, "ns", "t") == {"a": "1"}


@pytest.mark.parametrize("crash_at", ["vn/[01]*", "dtxn/1/*"])
async def test_whoever_meets_a_sealed_transaction_finishes_it(crash_at: str) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
    # The third state is the last one; the first root after the seal carries the verdict.
    nth = 3 if crash_at.startswith("dtxn") else 2
    faulty = FaultyStorage(store, ScriptedPlan(Rule(CrashBefore(), "put_if_absent", crash_at, nth=nth)), clock)
    with pytest.raises(Crash):
        async with opened(faulty, clock=clock) as dying:
            await dying.transactions.begin("1")
            await (await dying.within("1")).commit_tables([setting("ns", "t", a="1")])
            await dying.transactions.commit("1")
            await dying.transactions.close()
            await dying.transactions.load("1")
    async with opened(store, clock=clock) as catalog:
        assert (await catalog.transactions.load("1")).status is TransactionStatus.COMMITTED
        version = await catalog.latest_version()
        assert (await catalog.transactions.commit("1")).version == version
        assert await properties_of(catalog.main, "ns", "t") == {"a": "1"}
        assert await catalog.transactions.list_open() == []
        assert await catalog.latest_version() == version


async def test_two_finishers_of_one_sealed_transaction_agree() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(one.main, "ns", "t")
        before = await one.latest_version()
        await one.transactions.begin("1")
        await (await one.within("1")).commit_tables([setting("ns", "t", a="1")])
        answers = await asyncio.gather(*(catalog.transactions.commit("1") for catalog in (one, other, one, other)))
        assert {answer.version for answer in answers} == {before + 1}
        assert await one.latest_version() == before + 1


async def test_damaged_states_are_named() -> None:
    store = MemoryStorage()
    async with opened(store) as catalog:
        await catalog.transactions.begin("1")
        await make_table(await catalog.within("1"), "ns", "t")
    path = paths.transaction_state_path("1", 1)
    data = bytearray(await store.get(path))
    data[-1] ^= 1
    await store.replace(path, bytes(data))
    async with opened(store) as catalog:
        with pytest.raises(CorruptFileError, match=path):
            await catalog.transactions.load("1")
    await store.delete(path)
    async with opened(store) as catalog:
        with pytest.raises(NoSuchNamespaceError):
            await (await catalog.within("1")).load_namespace(("ns",))


async def test_begin_does_not_end_a_transaction_that_somebody_works_in_already() -> None:
    clock, store = ManualClock(), MemoryStorage()
    async with opened(store, clock=clock) as other:
        await make_table(other.main, "ns", "t")

        class Eager:
            """Works in the transaction as soon as its first state is there."""

            done = False

            def decide(self, call: StoreCall) -> None:
                return None

        class EagerStorage(FaultyStorage):
            async def exists(self, path: str) -> bool:
                if path.startswith("dtxn/1/") and not Eager.done:
                    Eager.done = True
                    await (await other.within("1")).commit_tables([setting("ns", "t", a="1")])
                return await super().exists(path)

        async with opened(EagerStorage(store, Eager(), clock), clock=clock) as catalog:
            await catalog.transactions.begin("1")
            assert Eager.done
            await catalog.transactions.commit("1")
            assert await properties_of(other.main, "ns", "t") == {"a": "1"}


async def test_a_begin_that_dies_after_its_first_put_leaves_a_base_that_is_not_stale() -> None:
    """Whoever repeats the BEGIN is told that the transaction exists, and goes on in it."""
    clock, store = ManualClock(), MemoryStorage()
    faulty = FaultyStorage(store, ScriptedPlan(Rule(CrashAfter(), "put_if_absent", "dtxn-open/*")), clock)
    async with opened(store, clock=clock) as other:
        with pytest.raises(Crash):
            async with opened(faulty, clock=clock) as dying:
                await make_table(other.main, "ns", "t")
                await dying.transactions.begin("1")
        with pytest.raises(AlreadyExistsError):
            await other.transactions.begin("1")
        assert await (await other.within("1")).table_exists(("ns", "t"))


async def test_a_purge_inside_leaves_one_wish() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("1")
        await (await catalog.within("1")).drop_table(("ns", "t"), purge=True)
        await catalog.main.create_namespace(("other",), {})
        await catalog.transactions.commit("1")
        keys = [row.key for row in catalog.versions.known.buffer if row.key.startswith(b"G===")]
        assert [key[4:24] for key in keys] == [f"{catalog.versions.known.version:020d}".encode()]


async def test_a_reader_of_version_0_is_told_its_version() -> None:
    store = MemoryStorage()
    async with opened(store) as catalog:
        await catalog.transactions.begin("1")
        assert (await catalog.transactions.commit("1")).version == 0
    async with opened(store) as catalog:
        assert (await catalog.transactions.load("1")).version == 0
