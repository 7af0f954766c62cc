"""Injected faults: everything that a store may do to its caller, on demand and reproducibly.

A fault before the store applied a write and one after it look the same to the caller and are different things; each has
its class here. Which call meets which fault is a plan's decision; the plan sees calls, never results.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Protocol, TypeVar

from catalog_format.clock import Clock
from catalog_format.errors import StoreDeniedError, StoreFullError, StoreThrottledError
from catalog_format.storage.counting import Verb
from catalog_format.storage.protocol import Page, Storage

T = TypeVar("T")


class Crash(BaseException):
    """The process dies here. No `except Exception` survives it, and the store it came from answers nothing more."""


@dataclass(frozen=True)
class StoreCall:
    """What a plan sees: the `number`-th call of the store (from 1)."""

    verb: Verb
    path: str
    number: int


@dataclass
class Request:
    """A call on its way: `send` applies it to the store, once."""

    call: StoreCall
    send: Callable[[], Awaitable[Any]]
    store: FaultyStorage


class Fault(Protocol):
    """One thing that can happen to a request."""

    async def strike(self, request: Request) -> Any:
        """Answer in the store's place: a result of the verb's type, or an error."""
        ...


class Plan(Protocol):
    """Decides which call meets which fault."""

    def decide(self, call: StoreCall) -> Fault | None: ...


@dataclass(frozen=True)
class LostRequest:
    """The store never hears of it; the caller cannot tell."""

    async def strike(self, request: Request) -> Any:
        raise ConnectionResetError(f"injected: request lost, {request.call.verb} {request.call.path}")


@dataclass(frozen=True)
class LostReply:
    """The store applies it; the caller hears an error."""

    async def strike(self, request: Request) -> Any:
        await request.send()
        raise ConnectionResetError(f"injected: reply lost, {request.call.verb} {request.call.path}")


@dataclass(frozen=True)
class LateLanding:
    """The caller hears an error now; the store applies the write after `after_calls` further calls, or at `land_late()` if None."""

    after_calls: int | None = None

    async def strike(self, request: Request) -> Any:
        request.store.delay_landing(request, self.after_calls)
        raise TimeoutError(f"injected: no answer yet, {request.call.verb} {request.call.path}")


@dataclass(frozen=True)
class Latency:
    """The request takes `seconds` to arrive, then meets `then`, or nothing."""

    seconds: float
    then: Fault | None = None

    async def strike(self, request: Request) -> Any:
        await request.store.clock.sleep(self.seconds)
        return await (self.then.strike(request) if self.then else request.send())


@dataclass(frozen=True)
class Throttled:
    retry_after_seconds: float = 1.0

    async def strike(self, request: Request) -> Any:
        raise StoreThrottledError("injected: too many requests", self.retry_after_seconds)


@dataclass(frozen=True)
class Denied:
    async def strike(self, request: Request) -> Any:
        raise StoreDeniedError(f"injected: no access to {request.call.path}")


@dataclass(frozen=True)
class Full:
    async def strike(self, request: Request) -> Any:
        raise StoreFullError(f"injected: no room for {request.call.path}")


@dataclass(frozen=True)
class TruncatedRead:
    """`get` answers with the first `keep` bytes only."""

    keep: int

    async def strike(self, request: Request) -> bytes:
        return (await _read(request))[: self.keep]


@dataclass(frozen=True)
class FlippedRead:
    """`get` answers with one bit changed, counted from the first byte's lowest and wrapped to the file's size."""

    bit: int

    async def strike(self, request: Request) -> bytes:
        data = bytearray(await _read(request))
        if data:
            data[self.bit // 8 % len(data)] ^= 1 << self.bit % 8
        return bytes(data)


@dataclass(frozen=True)
class CrashBefore:
    """The process dies before the request leaves it."""

    async def strike(self, request: Request) -> Any:
        raise request.store.crash()


@dataclass(frozen=True)
class CrashAfter:
    """The store applies the request, and the process dies before it hears of it."""

    async def strike(self, request: Request) -> Any:
        await request.send()
        raise request.store.crash()


@dataclass(frozen=True)
class Rule:
    """`fault` for the `nth` call (from 1) that matches verb and path pattern, and for the `times - 1` matches after it.

    `path` is a shell pattern in which `*` also crosses "/"; `times` None means for ever.
    """

    fault: Fault
    verb: Verb | None = None
    path: str = "*"
    nth: int = 1
    times: int | None = 1

    def matches(self, call: StoreCall) -> bool:
        return self.verb in {None, call.verb} and fnmatchcase(call.path, self.path)

    def strikes(self, match: int) -> bool:
        """Whether the `match`-th matching call (from 1) meets the fault."""
        return match >= self.nth and (self.times is None or match < self.nth + self.times)


class ScriptedPlan:
    """Rules written down in advance; every rule counts its own matches, and the first that strikes wins."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules
        self._matches = [0] * len(rules)

    def decide(self, call: StoreCall) -> Fault | None:
        chosen: Fault | None = None
        for index, rule in enumerate(self._rules):
            if rule.matches(call):
                self._matches[index] += 1
                if chosen is None and rule.strikes(self._matches[index]):
                    chosen = rule.fault
        return chosen


@dataclass
class _Late:
    request: Request
    due: int | None


class FaultyStorage:
    """Another store, seen through a plan of faults."""

    def __init__(self, inner: Storage, plan: Plan, clock: Clock) -> None:
        self.inner = inner
        self.plan = plan
        self.clock = clock
        self.crashed = False
        self._number = 0
        self._late: list[_Late] = []

    @property
    def url(self) -> str:
        return self.inner.url

    @property
    def is_remote(self) -> bool:
        return True

    async def get(self, path: str) -> bytes:
        return await self._sent("get", path, lambda: self.inner.get(path))

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        return await self._sent("put_if_absent", path, lambda: self.inner.put_if_absent(path, data))

    async def replace(self, path: str, data: bytes) -> None:
        await self._sent("replace", path, lambda: self.inner.replace(path, data))

    async def list(self, prefix: str) -> list[str]:
        return await self._sent("list", prefix, lambda: self.inner.list(prefix))

    async def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        """Each page is a call; what happens to it happens after it was read, which changes nothing."""
        async with aclosing(self.inner.pages(prefix)) as pages:
            async for page in pages:
                yield await self._sent("list", prefix, partial(_given, page))

    async def delete(self, path: str) -> None:
        await self._sent("delete", path, lambda: self.inner.delete(path))

    async def exists(self, path: str) -> bool:
        return await self._sent("exists", path, lambda: self.inner.exists(path))

    async def clock_ms(self) -> int | None:
        return await self._sent("clock_ms", "", self.inner.clock_ms)

    async def close(self) -> None:
        await self.inner.close()

    @property
    def late(self) -> tuple[StoreCall, ...]:
        """Calls that were answered with an error and have not landed yet."""
        return tuple(late.request.call for late in self._late)

    async def land_late(self) -> None:
        """Apply all late calls now, oldest first. Works after a crash too: what is on the wire outlives its sender."""
        late, self._late = self._late, []
        for entry in late:
            await entry.request.send()

    def delay_landing(self, request: Request, after_calls: int | None) -> None:
        """Keep a request back until `after_calls` further calls were made, or until `land_late`."""
        self._late.append(_Late(request, None if after_calls is None else self._number + after_calls))

    def crash(self) -> Crash:
        """From now on every call raises `Crash`; what is late may still land."""
        self.crashed = True
        return Crash(f"injected: crash at call {self._number}")

    async def _sent(self, verb: Verb, path: str, send: Callable[[], Awaitable[T]]) -> T:
        if self.crashed:
            raise self.crash()
        self._number += 1
        request = Request(StoreCall(verb, path, self._number), send, self)
        await self._land_due()
        fault = self.plan.decide(request.call)
        result: T = await (fault.strike(request) if fault else send())
        return result

    async def _land_due(self) -> None:
        """Apply the late calls whose turn is before the call that is being sent."""
        due = [entry for entry in self._late if entry.due is not None and entry.due < self._number]
        self._late = [entry for entry in self._late if entry not in due]
        for entry in due:
            await entry.request.send()


async def _read(request: Request) -> bytes:
    data = await request.send()
    if not isinstance(data, bytes):
        raise TypeError(f"only what get reads can be damaged, not {request.call.verb}")
    return data


async def _given(page: Page) -> Page:
    return page
