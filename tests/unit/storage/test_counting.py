"""Counting: what budget tests rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from catalog_format.storage import CountingStorage, MemoryStorage


async def test_calls_are_logged_and_reset() -> None:
    counting = CountingStorage(MemoryStorage())
    await counting.put_if_absent("a", b"123")
    await counting.put_if_absent("a", b"1234")
    await counting.get("a")
    assert counting.calls.pairs() == [("put_if_absent", "a"), ("put_if_absent", "a"), ("get", "a")]
    assert counting.calls.count() == len(counting.calls) == 3
    assert counting.calls.count("put_if_absent") == 2
    assert counting.calls.paths("get") == ["a"]
    assert (counting.calls.sent_bytes, counting.calls.received_bytes) == (7, 3)
    counting.reset()
    assert counting.calls.pairs() == []


async def test_measures_nest_and_end() -> None:
    counting = CountingStorage(MemoryStorage())
    with counting.measure() as outer:
        await counting.exists("a")
        with counting.measure() as inner:
            await counting.exists("b")
    await counting.exists("c")
    assert outer.paths() == ["a", "b"]
    assert inner.paths() == ["b"]
    assert counting.calls.paths() == ["a", "b", "c"]


async def test_failed_calls_count() -> None:
    counting = CountingStorage(MemoryStorage())
    with counting.measure() as calls, pytest.raises(FileNotFoundError):
        await counting.get("a")
    assert calls.count("get") == 1
    assert calls.round_trips == 1


async def test_together_and_one_after_another() -> None:
    counting = CountingStorage(MemoryStorage())
    with counting.measure() as together:
        await asyncio.gather(*(counting.exists(name) for name in "abc"))
    assert (together.max_concurrent, together.round_trips) == (3, 1)
    with counting.measure() as apart:
        for name in "abc":
            await counting.exists(name)
    assert (apart.max_concurrent, apart.round_trips) == (1, 3)
    with counting.measure() as mixed:
        await counting.exists("a")
        await asyncio.gather(counting.exists("b"), counting.exists("c"))
    assert (mixed.max_concurrent, mixed.round_trips) == (2, 2)
    with counting.measure() as nothing:
        pass
    assert (nothing.max_concurrent, nothing.round_trips) == (0, 0)


async def test_each_page_of_a_listing_counts() -> None:
    class Paged(MemoryStorage):
        async def pages(self, prefix: str) -> AsyncGenerator[list[str], None]:
            for path in await self.list(prefix):
                yield [path]

    inner = Paged()
    for name in "abc":
        await inner.put_if_absent(name, b"x")
    counting = CountingStorage(inner)
    assert [page async for page in counting.pages("")] == [["a"], ["b"], ["c"]]
    assert counting.calls.pairs() == [("list", "")] * 3
