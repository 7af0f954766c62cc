"""Nodes over a store: shared requests, the cache's bound, tries and errors."""

from __future__ import annotations

import asyncio

import pytest

from catalog_format.errors import CorruptFileError, LostFileError, StoreDeniedError, StoreThrottledError
from catalog_format.node import Entry
from catalog_format.node_codec import EncodedNode, encode_node
from catalog_format.node_store import MOST_READS, MOST_TRIES, MOST_WRITES, NodeStore
from catalog_format.paths import node_path
from catalog_format.storage.memory import MemoryStorage


def leaf(number: int) -> EncodedNode:
    return encode_node([Entry(b"k%d" % number, b"v" * 100, 1)], 0, "attempt")


class NoWaiting:
    """A clock whose sleeps end at once and are remembered."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return 0

    def elapsed(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Store(MemoryStorage):
    """Counts requests; raises `failures` one by one, before a put (`late` off) or after it took effect."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.running = self.most = 0
        self.failures: list[Exception] = []
        self.late = False

    async def get(self, path: str) -> bytes:
        async with _Counted(self):
            return await super().get(path)

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        async with _Counted(self, late=self.late):
            return await super().put_if_absent(path, data)


class _Counted:
    def __init__(self, store: Store, late: bool = False) -> None:
        self.store = store
        self.late = late

    async def __aenter__(self) -> None:
        self.store.requests += 1
        self.store.running += 1
        self.store.most = max(self.store.most, self.store.running)
        if not self.late:
            await self.fail()
        await asyncio.sleep(0)

    async def __aexit__(self, *_: object) -> None:
        self.store.running -= 1
        if self.late:
            await self.fail()

    async def fail(self) -> None:
        if self.store.failures:
            self.store.running -= not self.late
            raise self.store.failures.pop(0)


@pytest.fixture
def store() -> Store:
    return Store()


def fresh(store: Store, cache_bytes: int = 1 << 20) -> tuple[NodeStore, NoWaiting]:
    clock = NoWaiting()
    return NodeStore(store, cache_bytes, clock), clock


async def test_what_was_uploaded_is_at_hand_and_in_the_store(store: Store) -> None:
    nodes, _ = fresh(store)
    await nodes.upload([leaf(1), leaf(2)])
    assert nodes.cached(leaf(1).name) == await nodes.node(leaf(1).name)
    assert store.requests == 2
    other, _ = fresh(store)
    assert other.cached(leaf(2).name) is None
    assert (await other.node(leaf(2).name)).rows.key(0) == b"k2"
    assert other.cached(leaf(2).name) is not None


async def test_uploads_are_bounded_and_may_be_repeated(store: Store) -> None:
    nodes, _ = fresh(store)
    await nodes.upload([leaf(number) for number in range(100)])
    assert 1 < store.most <= MOST_WRITES
    await nodes.upload([leaf(number) for number in range(100)])
    assert len(await store.list("node")) == 100


async def test_readers_of_one_node_share_a_request(store: Store) -> None:
    await fresh(store)[0].upload([leaf(1)])
    store.requests = 0
    nodes, _ = fresh(store)
    found = await asyncio.gather(*(nodes.node(leaf(1).name) for _ in range(20)))
    assert store.requests == 1
    assert all(node is found[0] for node in found)


async def test_reads_are_bounded(store: Store) -> None:
    await fresh(store)[0].upload([leaf(number) for number in range(100)])
    nodes, _ = fresh(store)
    store.most = 0
    await asyncio.gather(*(nodes.node(leaf(number).name) for number in range(100)))
    assert MOST_WRITES < store.most <= MOST_READS


async def test_a_cancelled_reader_does_not_cancel_the_others(store: Store) -> None:
    await fresh(store)[0].upload([leaf(1)])
    nodes, _ = fresh(store)
    first = asyncio.create_task(nodes.node(leaf(1).name))
    second = asyncio.create_task(nodes.node(leaf(1).name))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).name == leaf(1).name
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_an_error_reaches_every_reader_and_is_not_kept(store: Store) -> None:
    nodes, _ = fresh(store)
    results = await asyncio.gather(*(nodes.node(leaf(1).name) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [LostFileError] * 3
    await nodes.upload([leaf(1)])
    assert (await nodes.node(leaf(1).name)).name == leaf(1).name


async def test_a_missing_file_is_named_with_advice(store: Store) -> None:
    nodes, clock = fresh(store)
    with pytest.raises(CorruptFileError, match=rf"{node_path(leaf(1).name)} is missing.*treeline check"):
        await nodes.node(leaf(1).name)
    assert clock.slept == []


async def test_damaged_bytes_are_not_cached(store: Store) -> None:
    nodes, _ = fresh(store)
    await store.replace(node_path(leaf(1).name), leaf(2).data)
    with pytest.raises(CorruptFileError, match="damaged"):
        await nodes.node(leaf(1).name)
    assert nodes.cached(leaf(1).name) is None


async def test_the_cache_keeps_what_was_used_last(store: Store) -> None:
    size = len(leaf(0).data)
    nodes, _ = fresh(store, cache_bytes=3 * size)
    await nodes.upload([leaf(0)])
    await nodes.upload([leaf(1)])
    await nodes.upload([leaf(2)])
    nodes.cached(leaf(0).name)
    await nodes.upload([leaf(3)])
    assert [nodes.cached(leaf(number).name) is not None for number in range(4)] == [True, False, True, True]
    assert nodes.held_bytes == 3 * size
    tiny, _ = fresh(store, cache_bytes=1)
    assert (await tiny.node(leaf(1).name)).rows.key(0) == b"k1"
    assert tiny.held_bytes == 0


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("failure", [OSError("reset"), StoreThrottledError("slow down")])
async def test_doubtful_puts_are_put_again(store: Store, late: bool, failure: Exception) -> None:
    nodes, clock = fresh(store)
    store.late = late
    store.failures = [failure] * (MOST_TRIES - 1)
    await nodes.upload([leaf(1)])
    assert clock.slept == [0.05, 0.1, 0.2]
    assert await store.get(node_path(leaf(1).name)) == leaf(1).data


async def test_tries_are_bounded(store: Store) -> None:
    nodes, _ = fresh(store)
    store.failures = [OSError(str(number)) for number in range(MOST_TRIES)]
    with pytest.raises(OSError, match=str(MOST_TRIES - 1)):
        await nodes.upload([leaf(1)])
    assert nodes.cached(leaf(1).name) is None
    store.failures = [OSError("reset")]
    await nodes.upload([leaf(1)])
    other, clock = fresh(store)
    store.failures = [OSError("reset")]
    assert (await other.node(leaf(1).name)).name == leaf(1).name
    assert len(clock.slept) == 1


async def test_refusals_are_not_tried_again(store: Store) -> None:
    nodes, clock = fresh(store)
    store.failures = [StoreDeniedError("no")]
    with pytest.raises(StoreDeniedError):
        await nodes.upload([leaf(number) for number in range(40)])
    assert clock.slept == []
    assert store.requests <= MOST_WRITES
