"""Pure ASGI middleware: raw paths, the token, bodies, remembered refusals, the log of requests."""

from __future__ import annotations

import hmac
import sys
import zlib
from collections.abc import Callable

import orjson
from cachetools import TTLCache
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catalog_format.clock import Clock
from catalog_format.errors import InvalidArgumentError, TreelineError
from catalog_format.ids import Ids
from irc_server.error_map import NotAuthorizedError, PayloadTooLargeError, error_response

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
REMEMBERED = 10_000
# Refusals that come out the same when the request is repeated.
_DETERMINISTIC = range(400, 500)
_NOT_DETERMINISTIC = {401, 408, 413, 429}


class RawPath:
    """Routes match the path as it was sent, so that an encoded slash stays within its segment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or scope["path"].encode()
            scope = {**scope, "path": raw.split(b"?")[0].decode("ascii", "replace")}
        await self._app(scope, receive, send)


class BearerToken:
    """Refuses requests without the token; the comparison takes the same time whatever is sent."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            sent = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(sent, self._expected):
                await error_response(NotAuthorizedError("A valid bearer token is needed"))(scope, receive, send)
                return
        await self._app(scope, receive, send)


class BodyReader:
    """Reads the body whole, decompressed, up to a limit."""

    def __init__(self, app: ASGIApp, limit_bytes: int) -> None:
        self._app = app
        self._limit = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(receive)
            if Headers(scope=scope).get("content-encoding", "").lower() == "gzip":
                body = self._decompressed(body)
        except (TreelineError, PayloadTooLargeError) as error:
            await error_response(error)(scope, receive, send)
            return
        given = False

        async def receive_whole() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive_whole, send)

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise InvalidArgumentError("The client went away before its request was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limit:
                raise PayloadTooLargeError(f"The body is larger than {self._limit} bytes")
            more = message.get("more_body", False)
        return b"".join(parts)

    def _decompressed(self, body: bytes) -> bytes:
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        try:
            plain = unpacker.decompress(body, self._limit + 1)
        except zlib.error as error:
            raise InvalidArgumentError(f"The body is not valid gzip: {error}") from None
        if len(plain) > self._limit:
            raise PayloadTooLargeError(f"The body is larger than {self._limit} bytes when decompressed")
        if not unpacker.eof:
            raise InvalidArgumentError("The body is not valid gzip: it ends too early")
        return plain


class RememberedRefusals:
    """Answers a repeated idempotency key with the refusal that it met in this process. Successes live in the tree."""

    def __init__(self, app: ASGIApp, lifetime_s: float, clock: Clock) -> None:
        self._app = app
        self._refusals: TTLCache[tuple[str, str, str], tuple[Message, bytes]] = TTLCache(REMEMBERED, lifetime_s, clock.elapsed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client_key = Headers(scope=scope).get("idempotency-key") if scope["type"] == "http" else None
        if client_key is None:
            await self._app(scope, receive, send)
            return
        message = await receive()
        key = (client_key, f"{scope['method']} {scope['path']}", str(zlib.crc32(message.get("body", b""))))
        held = self._refusals.get(key)
        if held is not None:
            await send(held[0])
            await send({"type": "http.response.body", "body": held[1]})
            return
        start: Message = {}

        async def replay() -> Message:
            nonlocal message
            given, message = message, {}
            return given or await receive()

        async def remember(part: Message) -> None:
            nonlocal start
            if part["type"] == "http.response.start":
                start = part
            elif start["status"] in _DETERMINISTIC and start["status"] not in _NOT_DETERMINISTIC and not part.get("more_body"):
                self._refusals[key] = (start, part.get("body", b""))
            await send(part)

        await self._app(scope, replay, remember)


class RequestLog:
    """One JSON line a request on standard error, and an id in the answer by which to find it."""

    def __init__(self, app: ASGIApp, clock: Clock, ids: Ids, write: Callable[[str], object] = sys.stderr.write) -> None:
        self._app = app
        self._clock = clock
        self._ids = ids
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, request_id = self._clock.elapsed(), self._ids.attempt_id()[:16]
        status, sent = 0, 0

        async def note(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request_id
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            line = {
                "at": self._clock.now_ms(),
                "request": request_id,
                "method": scope["method"],
                "path": (scope.get("raw_path") or scope["path"].encode()).decode("ascii", "replace"),
                "status": status,
                "ms": round((self._clock.elapsed() - began) * 1000, 2),
                "bytes": sent,
                "agent": Headers(scope=scope).get("user-agent", ""),
            }
            error = scope.get("treeline.error")
            if error is not None:
                line["error"] = f"{type(error).__name__}: {error}"
            self._write(orjson.dumps(line).decode() + "\n")
