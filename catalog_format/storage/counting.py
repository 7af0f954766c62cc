"""Counting requests: the budgets of the format ("one put a commit, one probe a read") as assertions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from catalog_format.storage.protocol import Page, Storage

Verb = Literal["get", "put_if_absent", "replace", "list", "delete", "exists", "clock_ms"]
T = TypeVar("T")


@dataclass
class Call:
    """One request. `started` and `ended` are ticks of one counter, comparable within a store; `ended` is None in flight."""

    verb: Verb
    path: str
    sent_bytes: int
    started: int
    received_bytes: int = 0
    ended: int | None = None


class Calls:
    """A log of requests in the order of their starts."""

    def __init__(self) -> None:
        self.log: list[Call] = []

    def __len__(self) -> int:
        return len(self.log)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.log)

    def __repr__(self) -> str:
        return "Calls(" + ", ".join(f"{call.verb} {call.path}" for call in self.log) + ")"

    def count(self, verb: Verb | None = None) -> int:
        """How many requests, of one verb or of all."""
        return len(self.of(verb))

    def paths(self, verb: Verb | None = None) -> list[str]:
        """Their paths, in the order of their starts."""
        return [call.path for call in self.of(verb)]

    def pairs(self) -> list[tuple[str, str]]:
        """(verb, path) of every request."""
        return [(call.verb, call.path) for call in self.log]

    def of(self, verb: Verb | None) -> list[Call]:
        """The requests of one verb; all if None."""
        return [call for call in self.log if verb is None or call.verb == verb]

    @property
    def sent_bytes(self) -> int:
        return sum(call.sent_bytes for call in self.log)

    @property
    def received_bytes(self) -> int:
        return sum(call.received_bytes for call in self.log)

    @property
    def max_concurrent(self) -> int:
        """The largest number of requests in flight at once: n requests were sent together iff this is n."""
        edges = [(call.started, 1) for call in self.log] + [(call.ended, -1) for call in self.log if call.ended is not None]
        in_flight = most = 0
        for _, step in sorted(edges):
            in_flight += step
            most = max(most, in_flight)
        return most

    @property
    def round_trips(self) -> int:
        """The longest chain of requests each of which began after the one before had ended: what latency multiplies."""
        chain, free_from = 0, -1
        for call in sorted((call for call in self.log if call.ended is not None), key=lambda call: call.ended or 0):
            if call.started > free_from:
                chain, free_from = chain + 1, call.ended or 0
        return chain


class CountingStorage:
    """A store that logs every request to another one. `calls` is the whole log since the last `reset`."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.calls = Calls()
        self._measuring: list[Calls] = []
        self._tick = 0

    @property
    def url(self) -> str:
        return self.inner.url

    def reset(self) -> None:
        """Forget what was counted."""
        self.calls = Calls()

    @contextmanager
    def measure(self) -> Iterator[Calls]:
        """The requests that start inside the block; blocks may nest and overlap."""
        calls = Calls()
        self._measuring.append(calls)
        try:
            yield calls
        finally:
            self._measuring = [other for other in self._measuring if other is not calls]

    @property
    def is_remote(self) -> bool:
        return self.inner.is_remote

    async def get(self, path: str) -> bytes:
        return await self._counted("get", path, lambda: self.inner.get(path))

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        return await self._counted("put_if_absent", path, lambda: self.inner.put_if_absent(path, data), len(data))

    async def replace(self, path: str, data: bytes) -> None:
        await self._counted("replace", path, lambda: self.inner.replace(path, data), len(data))

    async def list(self, prefix: str) -> list[str]:
        return await self._counted("list", prefix, lambda: self.inner.list(prefix))

    async def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        """Each page is a request."""
        async with aclosing(self.inner.pages(prefix)) as pages:
            async for page in pages:
                yield await self._counted("list", prefix, partial(_given, page))

    async def delete(self, path: str) -> None:
        await self._counted("delete", path, lambda: self.inner.delete(path))

    async def exists(self, path: str) -> bool:
        return await self._counted("exists", path, lambda: self.inner.exists(path))

    async def clock_ms(self) -> int | None:
        return await self._counted("clock_ms", "", self.inner.clock_ms)

    async def close(self) -> None:
        await self.inner.close()

    async def _counted(self, verb: Verb, path: str, send: Callable[[], Awaitable[T]], size: int = 0) -> T:
        call = Call(verb, path, size, self._next_tick())
        for calls in (self.calls, *self._measuring):
            calls.log.append(call)
        try:
            # Requests that were started together overlap here even on a store that answers without waiting.
            await asyncio.sleep(0)
            result = await send()
            if isinstance(result, bytes):
                call.received_bytes = len(result)
            return result
        finally:
            call.ended = self._next_tick()

    def _next_tick(self) -> int:
        self._tick += 1
        return self._tick


async def _given(page: Page) -> Page:
    return page
