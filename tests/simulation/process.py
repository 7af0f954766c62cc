"""Server processes of the simulated world, and their way to the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from catalog_format.catalog import StoredCatalog
from catalog_format.errors import StoreFullError, StoreThrottledError
from catalog_format.ids import SeededIds
from catalog_format.storage import StorageResolver
from tests.simulation.disk import UNDERTAKING, URL, Undertaking
from tests.simulation.faults import Fault, Harm
from tests.simulation.history import GaveUpError, ProcessDiedError
from tests.simulation.loop import Life, context_of
from tests.simulation.trace import Path

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")

EPOCH_MS = 1_700_000_000_000
PAUSE = 1.0
"""How long a client library waits for a reply that does not come."""


class ProcessClock:
    """The clock of one machine: virtual time, plus what its owner set it to."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ahead_s: float) -> None:
        self._loop = loop
        self.ahead_s = ahead_s

    def now_ms(self) -> int:
        return EPOCH_MS + int((self._loop.time() + self.ahead_s) * 1000)

    def elapsed(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Process:
    """One life of a server: from its start until it is killed."""

    def __init__(self, world: World, slot: int, number: int, ahead_s: float) -> None:
        self.name = f"p{slot}.{number}"
        self.slot = slot
        self.life = Life()
        self.clock = ProcessClock(world.loop, ahead_s)
        self._world = world
        self._context = context_of(self.life)
        # A dict for its order, which every run repeats.
        self._calls: dict[asyncio.Future[Any], None] = {}
        self.catalog = StoredCatalog(
            Link(world, self),
            StorageResolver(),
            self.clock,
            SeededIds(Random(f"ids {world.plan.seed} {self.name}").getrandbits(64)),
            node_cache_bytes=world.plan.cache_bytes,
            max_staleness_s=world.plan.staleness,
        )

    async def call(self, work: Callable[[StoredCatalog], Awaitable[T]], patience: float = 0.0, cancels: bool = False) -> T:
        """A client's request: runs in the process, and fails with it. After `patience` seconds the client waits no longer."""
        loop = self._world.loop
        reply: asyncio.Future[T] = loop.create_future()
        self._calls[reply] = None

        async def serve() -> T:
            return await work(self.catalog)

        task = loop.create_task(serve(), context=self._context.copy())

        def answered(done: asyncio.Task[T]) -> None:
            error = asyncio.CancelledError() if done.cancelled() else done.exception()
            if reply.done():
                return
            if error is None:
                reply.set_result(done.result())
            else:
                reply.set_exception(error if isinstance(error, Exception) else GaveUpError("cancelled"))

        def give_up() -> None:
            if not reply.done():
                reply.set_exception(GaveUpError(f"no answer after {patience:.3f} s"))
                if cancels:
                    task.cancel()

        task.add_done_callback(answered)
        if patience:
            loop.call_later(patience, give_up)
        try:
            return await reply
        finally:
            self._calls.pop(reply, None)

    def crash(self) -> None:
        """Dies here: nothing of it runs any more. What it has sent is on its way all the same."""
        if self.life.over:
            return
        self.life.over = True
        self._world.trace.add(self._world.loop.time(), self.name, "dies")
        for reply in list(self._calls):
            if not reply.done():
                reply.set_exception(ProcessDiedError(self.name))
        self._world.bury(self)

    def stall(self, seconds: float) -> None:
        world, loop = self._world, self._world.loop

        def resume() -> None:
            world.stalls -= 1
            loop.resume(self.life)

        world.stalls += 1
        loop.stall(self.life)
        loop.call_later(seconds, resume, context=world.context)


class Link:
    """The store as one process reaches it: with latency, and with the plan's faults."""

    is_remote = True
    url = URL

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    async def get(self, path: str) -> bytes:
        return await self._send("get", path)

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        return await self._send("put_if_absent", path, data)

    async def replace(self, path: str, data: bytes) -> None:
        await self._send("replace", path, data)

    async def list(self, prefix: str) -> list[str]:
        return await self._send("list", prefix)

    async def pages(self, prefix: str) -> AsyncGenerator[list[str], None]:
        yield await self.list(prefix)

    async def delete(self, path: str) -> None:
        await self._send("delete", path)

    async def exists(self, path: str) -> bool:
        return await self._send("exists", path)

    async def clock_ms(self) -> int | None:
        return await self._send("clock_ms", "")

    async def close(self) -> None:
        """The files stay."""

    def _send(self, verb: str, path: str, data: bytes = b"") -> asyncio.Future[Any]:
        """The reply to a request that sets out now. What is on its way belongs to the world, not to the process."""
        world, process = self._world, self._process
        reply: asyncio.Future[Any] = world.loop.create_future()
        fault = world.fault_for(process.slot, verb, path)
        harm = None if fault is None else fault.harm
        way = world.latency()
        arrives, answers, answered = way, True, way + world.latency()
        undertaking = UNDERTAKING.get()
        if fault is not None:
            world.trace.add(world.loop.time(), process.name, "!", fault.harm, verb, Path(path))
            match harm:
                case Harm.LOST:
                    self._fail(reply, way + PAUSE, ConnectionResetError("request lost"))
                    return reply
                case Harm.THROTTLED:
                    self._fail(reply, way, StoreThrottledError("too many requests"))
                    return reply
                case Harm.FULL:
                    self._fail(reply, way, StoreFullError("no room"))
                    return reply
                case Harm.REPLY_LOST:
                    answers = False
                    self._fail(reply, way + PAUSE, ConnectionResetError("reply lost"))
                case Harm.LATE:
                    arrives, answers = fault.seconds, False
                    self._fail(reply, PAUSE, TimeoutError("no answer yet"))
                case Harm.REPEATED:
                    self._arrive(way, verb, path, data, undertaking, None, 0.0)
                    arrives = way + world.latency()
                    answered = arrives + way
                case Harm.SLOW:
                    arrives, answered = fault.seconds * fault.where, fault.seconds
                case Harm.STALL:
                    process.stall(fault.seconds)
                case Harm.CRASH_BEFORE:
                    process.crash()
                    return reply
                case Harm.CRASH_AFTER | Harm.CRASH_LATE:
                    arrives, answers = fault.seconds or way, False
                    process.crash()
        self._arrive(arrives, verb, path, data, undertaking, reply if answers else None, answered, fault)
        return reply

    def _fail(self, reply: asyncio.Future[Any], after: float, error: Exception) -> None:
        def fail() -> None:
            if not reply.done():
                reply.set_exception(error)

        self._world.loop.call_later(after, fail, context=self._world.context)

    def _arrive(
        self,
        arrives: float,
        verb: str,
        path: str,
        data: bytes,
        undertaking: Undertaking | None,
        reply: asyncio.Future[Any] | None,
        answered: float,
        fault: Fault | None = None,
    ) -> None:
        """Have the store apply the request after `arrives` seconds, and its reply arrive after `answered`."""
        world, loop = self._world, self._world.loop
        world.in_flight += 1

        def apply() -> None:
            world.in_flight -= 1
            result: object
            try:
                result = self._apply(verb, path, data, undertaking)
            except FileNotFoundError as error:
                result = error
            world.trace.add(loop.time(), self._process.name, verb, Path(path), _in_words(result))
            if reply is not None:
                loop.call_at(sent + answered, tell, result, context=world.context)

        def tell(result: object) -> None:
            assert reply is not None
            if reply.done():
                return
            if isinstance(result, FileNotFoundError):
                reply.set_exception(result)
            elif fault is not None and isinstance(result, bytes):
                reply.set_result(_damaged(result, fault))
            else:
                reply.set_result(result)

        sent = loop.time()
        loop.call_at(sent + arrives, apply, context=world.context)

    def _apply(self, verb: str, path: str, data: bytes, undertaking: Undertaking | None) -> object:
        disk, now = self._world.disk, self._world.loop.time()
        match verb:
            case "get":
                return disk.get(path)
            case "exists":
                return path in disk.files
            case "put_if_absent":
                return disk.put_if_absent(path, data, now)
            case "replace":
                return disk.replace(path, data)
            case "delete":
                return disk.delete(path, undertaking)
            case "list":
                return disk.list(path)
            case _:
                return EPOCH_MS + int(now * 1000)


def _damaged(data: bytes, fault: Fault) -> bytes:
    place = int(fault.where * len(data))
    if fault.harm is Harm.TORN:
        return data[:place]
    if fault.harm is Harm.FLIPPED and data:
        return data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
    return data


def _in_words(result: object) -> object:
    if isinstance(result, bytes | list):
        return f"-> {len(result)}"
    return "-> none" if isinstance(result, Exception) else "" if result is None else f"-> {result}"
