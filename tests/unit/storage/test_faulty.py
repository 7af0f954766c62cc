"""Every fault does what its name says, to the call it is meant for."""

from __future__ import annotations

import asyncio

import pytest

from catalog_format.clock import SystemClock
from catalog_format.errors import StoreDeniedError, StoreFullError, StoreThrottledError
from catalog_format.storage import (
    Crash,
    CrashAfter,
    CrashBefore,
    Denied,
    Fault,
    FaultyStorage,
    FlippedRead,
    Full,
    LateLanding,
    Latency,
    LostReply,
    LostRequest,
    MemoryStorage,
    Rule,
    ScriptedPlan,
    StoreCall,
    Throttled,
    TruncatedRead,
)


class InstantClock(SystemClock):
    """Remembers the sleeps instead of sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def faulty(*rules: Rule) -> tuple[FaultyStorage, MemoryStorage]:
    inner = MemoryStorage()
    return FaultyStorage(inner, ScriptedPlan(*rules), InstantClock()), inner


async def test_without_faults_it_is_the_other_store() -> None:
    store, inner = faulty()
    assert await store.put_if_absent("a", b"x")
    assert not await store.put_if_absent("a", b"y")
    await store.replace("b", b"y")
    assert await store.list("") == ["a", "b"]
    await store.delete("b")
    assert not await store.exists("b")
    assert await store.get("a") == b"x"
    assert store.url == inner.url
    await store.close()


async def test_lost_request_changes_nothing_and_lost_reply_does() -> None:
    store, inner = faulty(Rule(LostRequest(), path="a"), Rule(LostReply(), path="b"))
    for path in "ab":
        with pytest.raises(OSError, match="injected"):
            await store.put_if_absent(path, b"x")
    assert await inner.list("") == ["b"]
    assert await store.put_if_absent("a", b"y")
    assert not await store.put_if_absent("b", b"y")


async def test_late_landing_after_further_calls() -> None:
    store, inner = faulty(Rule(LateLanding(after_calls=2), verb="put_if_absent"))
    with pytest.raises(TimeoutError):
        await store.put_if_absent("a", b"late")
    assert store.late == (StoreCall("put_if_absent", "a", 1),)
    assert not await store.exists("a")
    assert not await store.exists("a")
    assert not await inner.exists("a")
    assert await store.exists("a")
    assert store.late == ()


async def test_late_landing_on_demand_respects_the_winner() -> None:
    store, inner = faulty(Rule(LateLanding(), path="*", times=2))
    for path in "ab":
        with pytest.raises(OSError, match="injected"):
            await store.put_if_absent(path, b"late")
    assert await store.put_if_absent("a", b"mine")
    for _ in range(5):
        await store.exists("b")
    await store.land_late()
    assert (await inner.get("a"), await inner.get("b")) == (b"mine", b"late")


@pytest.mark.parametrize(
    ("fault", "error"), [(Throttled(2.5), StoreThrottledError), (Denied(), StoreDeniedError), (Full(), StoreFullError)]
)
async def test_refusals_change_nothing(fault: Fault, error: type[Exception]) -> None:
    store, inner = faulty(Rule(fault))
    with pytest.raises(error) as raised:
        await store.put_if_absent("a", b"x")
    assert getattr(raised.value, "retry_after_seconds", 2.5) == 2.5
    assert await inner.list("") == []


async def test_latency_uses_the_clock_and_combines() -> None:
    store, inner = faulty(Rule(Latency(0.25), verb="exists"), Rule(Latency(3, then=LostReply()), verb="replace"))
    assert not await store.exists("a")
    with pytest.raises(OSError, match="reply lost"):
        await store.replace("a", b"x")
    assert isinstance(store.clock, InstantClock)
    assert store.clock.slept == [0.25, 3]
    assert await inner.get("a") == b"x"


async def test_damaged_reads() -> None:
    store, inner = faulty(
        Rule(TruncatedRead(keep=2), verb="get"),
        Rule(FlippedRead(bit=9), verb="get", nth=2),
        Rule(FlippedRead(bit=4 * 8 + 1), verb="get", nth=3),
        Rule(TruncatedRead(1), verb="list"),
    )
    await inner.put_if_absent("a", bytes(4))
    assert await store.get("a") == bytes(2)
    assert await store.get("a") == b"\0\2\0\0"
    assert await store.get("a") == b"\2\0\0\0"
    assert await store.get("a") == bytes(4)
    with pytest.raises(TypeError, match="list"):
        await store.list("")


@pytest.mark.parametrize(("fault", "applied"), [(CrashBefore(), False), (CrashAfter(), True)])
async def test_after_a_crash_the_store_is_dead(fault: Fault, applied: bool) -> None:
    store, inner = faulty(Rule(fault, verb="put_if_absent"))
    with pytest.raises(Crash):
        await store.put_if_absent("a", b"x")
    with pytest.raises(Crash):
        await store.exists("a")
    assert store.crashed
    assert await inner.exists("a") is applied


async def test_what_is_late_outlives_the_crash() -> None:
    store, inner = faulty(Rule(LateLanding()), Rule(CrashBefore(), nth=2))
    with pytest.raises(OSError, match="injected"):
        await store.put_if_absent("a", b"late")
    with pytest.raises(Crash):
        await store.exists("a")
    await store.land_late()
    assert await inner.get("a") == b"late"


async def test_a_crash_passes_through_tasks_and_handlers() -> None:
    store, _ = faulty(Rule(CrashBefore()))

    async def careless() -> None:
        try:
            await store.exists("a")
        except Exception:
            pytest.fail("a crash is no Exception")

    with pytest.raises(Crash):
        await asyncio.create_task(careless())


def test_rules_count_their_own_matches() -> None:
    plan = ScriptedPlan(Rule(Denied(), verb="get", path="vn/*", nth=2, times=2), Rule(Full(), path="vn/1", times=None))
    calls = [StoreCall("get", "vn/0", 1), StoreCall("get", "node/x", 2), StoreCall("get", "vn/1", 3), StoreCall("exists", "vn/1", 4)]
    assert [plan.decide(call) for call in calls] == [None, None, Denied(), Full()]
    assert plan.decide(StoreCall("get", "vn/1", 5)) == Denied()
    assert plan.decide(StoreCall("get", "vn/1", 6)) == Full()
    assert plan.decide(StoreCall("put_if_absent", "vn/2", 7)) is None


async def test_a_listing_in_pages_meets_faults_too() -> None:
    store, inner = faulty(Rule(LostRequest(), verb="list", nth=2))
    await inner.put_if_absent("a", b"x")
    assert [page async for page in store.pages("")] == [["a"]]
    with pytest.raises(ConnectionResetError):
        [page async for page in store.pages("")]
