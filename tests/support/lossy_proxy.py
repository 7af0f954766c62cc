"""A proxy for HTTP/1.1 that loses things: requests, replies to requests that were applied, and requests that arrive late.

Its address stays while the server behind it dies and comes back.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 60.0


class Fate(StrEnum):
    """What happens to a request. In all but the first the client's connection is closed without an answer."""

    ANSWERED = "answered"
    REQUEST_LOST = "request lost"
    REPLY_LOST = "reply lost"
    LATE = "late"
    """The server gets it after the client has been cut off."""


@dataclass(frozen=True)
class Weather:
    """How often each misfortune happens, as shares of 1, and how late "late" is."""

    request_lost: float = 0.0
    reply_lost: float = 0.0
    late: float = 0.0
    late_seconds: float = 1.0

    @property
    def shares(self) -> Mapping[Fate, float]:
        rest = 1 - self.request_lost - self.reply_lost - self.late
        return {Fate.ANSWERED: rest, Fate.REQUEST_LOST: self.request_lost, Fate.REPLY_LOST: self.reply_lost, Fate.LATE: self.late}


class LossyProxy:
    """Serves in a thread of its own for as long as a `with` block runs; at its end nothing is under way any more."""

    def __init__(self, weather: Weather, seed: int) -> None:
        self._weather = weather
        self._rng = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._ready = threading.Event()
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._port = 0
        self.upstream: str | None = None
        """The server's URL; None while there is none: clients are cut off."""
        self.fates: Counter[Fate] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> LossyProxy:
        self._thread.start()
        assert self._ready.wait(_PATIENCE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, *self._late, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        server = _Upstream()
        try:
            while (request := await _read_message(reader)) is not None and self.upstream is not None:
                fate = self._rng.choices(list(self._weather.shares), list(self._weather.shares.values()))[0]
                self.fates[fate] += 1
                if fate is Fate.LATE:
                    self._send_late(self.upstream, request)
                if fate in {Fate.LATE, Fate.REQUEST_LOST}:
                    break
                reply = await server.exchange(self.upstream, request)
                if reply is None or fate is Fate.REPLY_LOST:
                    break
                writer.write(reply)
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            # A cancelled handler that ended so would be reported by asyncio as an error of the server's.
            pass
        finally:
            server.close()
            writer.close()
            self._connections.discard(task)

    def _send_late(self, upstream: str, request: bytes) -> None:
        async def send() -> None:
            await asyncio.sleep(self._rng.uniform(0, self._weather.late_seconds))
            server = _Upstream()
            try:
                # The server that is there now: the one it was meant for may be dead.
                await server.exchange(self.upstream or upstream, request)
            except OSError:
                pass
            finally:
                server.close()

        task = self._loop.create_task(send())
        self._late.add(task)
        task.add_done_callback(self._late.discard)


class _Upstream:
    """A connection to the server, made when it is needed."""

    def __init__(self) -> None:
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def exchange(self, url: str, request: bytes) -> bytes | None:
        """The reply; None if the connection ends without one."""
        if self._streams is None:
            address = urlsplit(url)
            self._streams = await asyncio.open_connection(address.hostname, address.port)
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        return await _read_message(reader)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def _read_message(reader: asyncio.StreamReader) -> bytes | None:
    """A whole request, or a whole reply that gives its length or has no body; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if line)
        return head + await reader.readexactly(int(fields.get(b"content-length", b"0")))
    except asyncio.IncompleteReadError:
        return None
