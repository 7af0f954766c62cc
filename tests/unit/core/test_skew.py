"""A machine whose clock is far from the store's does not write, and says why."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from catalog_format.clock import SystemClock
from catalog_format.distributed.coordinator import DEFAULT_TTL_MS
from catalog_format.door import TransactionStatus
from catalog_format.errors import ClockSkewError, StoreThrottledError
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.skew import LOOK_EVERY_S
from catalog_format.storage import CountingStorage, LocalStorage, MemoryStorage, open_storage
from tests.support.catalogs import ManualClock, make_table, opened, setting
from tests.support.s3_server import S3Server

pytest_plugins = ["tests.support.fixtures_s3"]


class ClockedMemory(MemoryStorage):
    """A store whose clock runs along with a `ManualClock`, so much ahead; None: it cannot say."""

    def __init__(self, clock: ManualClock, ahead_ms: int | None = 0) -> None:
        super().__init__()
        self.clock = clock
        self.ahead_ms = ahead_ms
        self.fails: Exception | None = None

    async def clock_ms(self) -> int | None:
        if self.fails is not None:
            raise self.fails
        return None if self.ahead_ms is None else self.clock.now_ms() + self.ahead_ms


@pytest.mark.parametrize(("ahead_ms", "words"), [(61_000, "61 s behind"), (-61_000, "61 s ahead of")])
async def test_nothing_is_written_with_a_clock_that_is_more_than_a_minute_off(ahead_ms: int, words: str) -> None:
    clock = ManualClock()
    store = ClockedMemory(clock, ahead_ms)
    async with opened(store, clock=clock) as catalog:
        before = await store.list("")
        with pytest.raises(ClockSkewError, match=f"{words} that of memory://memory"):
            await catalog.main.create_namespace(("a",), {})
        with pytest.raises(ClockSkewError):
            await catalog.transactions.begin("1")
        assert await store.list("") == before
        assert (await catalog.main.list_namespaces()).items == []
        store.ahead_ms = ahead_ms * 60 // 61
        await catalog.main.create_namespace(("a",), {})
        assert (await catalog.main.list_namespaces()).items == [("a",)]


async def test_the_store_is_asked_once_in_ten_minutes_and_when_the_clock_was_set() -> None:
    clock = ManualClock()
    store = CountingStorage(ClockedMemory(clock))
    async with opened(store, clock=clock) as catalog:

        async def asked(name: str) -> int:
            with store.measure() as calls:
                await catalog.main.create_namespace((name,), {})
            return calls.count("clock_ms")

        assert await asked("first") == 1
        assert await asked("soon") == 0
        clock.advance(LOOK_EVERY_S)
        assert await asked("later") == 1
        clock.jump_ms(5_000)
        assert await asked("set") == 1
        assert await asked("settled") == 0


@pytest.mark.parametrize("trouble", [OSError("reset"), StoreThrottledError("slow down")], ids=["broken", "throttled"])
async def test_a_store_that_does_not_tell_the_time_keeps_nobody_from_writing(trouble: Exception) -> None:
    clock = ManualClock()
    store = ClockedMemory(clock)
    async with opened(store, clock=clock) as catalog:
        store.fails = trouble
        await catalog.main.create_namespace(("a",), {})
        store.fails, store.ahead_ms = None, 3_600_000
        with pytest.raises(ClockSkewError):
            await catalog.main.create_namespace(("b",), {})


async def test_a_folder_tells_the_time_of_a_file_just_written(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path / "new")
    told = await store.clock_ms()
    assert told is not None and abs(told - SystemClock().now_ms()) < 10_000
    assert await store.list("") == []
    async with opened(store, clock=ManualClock()) as catalog:
        with pytest.raises(ClockSkewError, match="behind"):
            await catalog.main.create_namespace(("a",), {})


@pytest.mark.s3
@pytest.mark.parametrize("present", [True, False])
async def test_a_bucket_tells_the_time_of_its_answer(s3_server: S3Server, s3_bucket: str, present: bool) -> None:
    store = open_storage(f"s3://{s3_bucket}/root", s3_server.options)
    if present:
        await store.replace("vn/latest", b"0")
    told = await store.clock_ms()
    assert told is not None and abs(told - SystemClock().now_ms()) < 10_000
    await store.close()


async def test_the_time_of_a_table_does_not_run_back_with_a_clock() -> None:
    clock = ManualClock()
    async with opened(clock=clock) as catalog:
        before = (await make_table(catalog.main, "ns", "t")).metadata
        clock.jump_ms(-3_600_000)
        for number in range(3):
            [after] = await catalog.main.commit_tables([setting("ns", "t", n=str(number))])
            assert orjson.loads(after.metadata)["last-updated-ms"] == orjson.loads(before)["last-updated-ms"]
        clock.jump_ms(7_200_000)
        [after] = await catalog.main.commit_tables([setting("ns", "t", n="later")])
        assert orjson.loads(after.metadata)["last-updated-ms"] == clock.now_ms()


@pytest.mark.parametrize("what", ["expire", "collect", "list"])
async def test_who_looks_with_a_wrong_clock_ends_nobodys_transaction(what: str) -> None:
    clock = ManualClock()
    ahead = ManualClock(clock.now_ms() + 2 * DEFAULT_TTL_MS)
    store = ClockedMemory(clock)
    async with opened(store, clock=clock) as catalog, opened(store, clock=ahead) as wrong:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("mine")
        await (await catalog.within("mine")).commit_tables([setting("ns", "t", a="1")])
        before = await store.list("")
        match what:
            case "expire":
                await expire(wrong.parts, ExpiryPolicy(0), dry_run=True)
                with pytest.raises(ClockSkewError, match="ahead of"):
                    await expire(wrong.parts, ExpiryPolicy(0))
            case "collect":
                await collect(wrong.parts, dry_run=True)
                with pytest.raises(ClockSkewError, match="ahead of"):
                    await collect(wrong.parts)
            case _:
                assert [info.status for info in await wrong.transactions.list_open()] == [TransactionStatus.OPEN]
        assert await store.list("") == before
        assert (await catalog.transactions.commit("mine")).status is TransactionStatus.COMMITTED


async def test_a_transaction_neither_goes_on_nor_ends_with_a_wrong_clock() -> None:
    clock = ManualClock()
    store = ClockedMemory(clock)
    for ahead_ms in (2 * DEFAULT_TTL_MS, -2 * DEFAULT_TTL_MS):
        wrong_clock = ManualClock(clock.now_ms() + ahead_ms)
        async with opened(store, clock=clock) as catalog, opened(store, clock=wrong_clock) as wrong:
            transaction_id = f"t{ahead_ms}"
            if not await catalog.main.namespace_exists(("ns",)):
                await make_table(catalog.main, "ns", "t")
            await catalog.transactions.begin(transaction_id)
            await (await catalog.within(transaction_id)).commit_tables([setting("ns", "t", a=transaction_id)])
            before = await store.list("")
            with pytest.raises(ClockSkewError):
                await (await wrong.within(transaction_id)).commit_tables([setting("ns", "t", b="1")])
            with pytest.raises(ClockSkewError):
                await wrong.transactions.set_properties(transaction_id, [], {"a": "1"})
            with pytest.raises(ClockSkewError):
                await wrong.transactions.commit(transaction_id)
            with pytest.raises(ClockSkewError):
                await wrong.transactions.rollback(transaction_id)
            assert await store.list("") == before
            done = await catalog.transactions.commit(transaction_id)
            assert await wrong.transactions.load(transaction_id) == done
            assert await wrong.transactions.commit(transaction_id) == done, "what has been said before can be said again"
