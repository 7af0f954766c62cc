"""Pure ASGI middleware: raw paths, the log of requests, the token, compression, bodies, repeated requests."""

from __future__ import annotations

import sys
import traceback

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catalog_format.clock import Clock
from catalog_format.errors import InvalidArgumentError, TreelineError
from catalog_format.ids import Ids
from irc_server.auth import StaticToken
from irc_server.error_map import NotAuthorizedError, PayloadTooLargeError, error_response, foreseen
from irc_server.idempotency import KEY_HEADER, Answer, AnswerMemory, note_on, repeatable
from irc_server.wire.compression import COMPRESS_FROM_BYTES, Packer, TooLargeWhenPlain, packed, unpacked
from irc_server.wire.headers import accepts_gzip, header

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
ERROR_KEY = "treeline.error"
_MAX_LOGGED = 500
_LONGEST_LENGTH = 15


class RawPath:
    """Routes match the path as it was sent, so that an encoded slash stays within its segment. To be the outermost."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw: bytes = scope.get("raw_path") or scope["path"].encode()
            scope["path"] = raw.partition(b"?")[0].decode("latin-1")
        await self._app(scope, receive, send)


class RequestLog:
    """One JSON line a request on standard error, and an id in the answer by which to find it."""

    def __init__(self, app: ASGIApp, clock: Clock, ids: Ids) -> None:
        self._app = app
        self._clock = clock
        self._ids = ids

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
                # A new list: answers in the cache share theirs.
                message = {**message, "headers": [*message["headers"], (b"x-request-id", request_id.encode())]}
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            line: dict[str, object] = {
                "at": self._clock.now_ms(),
                "request": request_id,
                "method": scope["method"],
                "path": scope["path"][:_MAX_LOGGED],
                "status": status,
                "ms": round((self._clock.elapsed() - began) * 1000, 2),
                "bytes": sent,
                "agent": (header(scope, b"user-agent") or "")[:_MAX_LOGGED],
            }
            error: Exception | None = scope.get(ERROR_KEY)
            if error is not None:
                line["error"] = f"{type(error).__name__}: {error}"[:_MAX_LOGGED]
                if not foreseen(error):
                    line["traceback"] = "".join(traceback.format_exception(error))
            sys.stderr.write(orjson.dumps(line).decode(errors="replace") + "\n")


class BearerToken:
    """Refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: StaticToken) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            sent = (header(scope, b"authorization") or "").encode("latin-1")
            if not self._token.admits(sent):
                await error_response(NotAuthorizedError("A valid bearer token is needed"))(scope, receive, send)
                return
        await self._app(scope, receive, send)


_GZIP_HEADERS = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))


class Compression:
    """gzip for answers over 1 KiB, where it is accepted. What is compressed already passes as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not accepts_gzip(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        packer: Packer | None = None

        async def pack(message: Message) -> None:
            nonlocal start, packer
            if message["type"] == "http.response.start":
                start = message
                return
            body, more = message.get("body", b""), message.get("more_body", False)
            if start is None:
                # A further part of a long answer.
                await send(message if packer is None else {**message, "body": packer.part(body, last=not more)})
                return
            started, start = start, None
            encoded = any(name == b"content-encoding" for name, _ in started["headers"])
            if more and not encoded:
                packer = Packer()
                await send({**started, "headers": [*started["headers"], *_GZIP_HEADERS]})
                await send({**message, "body": packer.part(body, last=False)})
                return
            if len(body) >= COMPRESS_FROM_BYTES and not encoded:
                body = await packed(body)
                kept = [(name, value) for name, value in started["headers"] if name != b"content-length"]
                started = {**started, "headers": [*kept, *_GZIP_HEADERS, (b"content-length", str(len(body)).encode())]}
                message = {**message, "body": body}
            await send(started)
            await send(message)

        await self._app(scope, receive, pack)


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
            length = header(scope, b"content-length") or ""
            if length.isdecimal() and (len(length) > _LONGEST_LENGTH or int(length) > self._limit):
                raise self._too_large()
            body = await self._read(receive)
            encoding = (header(scope, b"content-encoding") or "identity").lower()
            if encoding == "gzip":
                body = unpacked(body, self._limit)
            elif encoding != "identity":
                raise InvalidArgumentError(f"Content-Encoding {encoding!r} is not understood; send gzip or plain JSON")
        except TooLargeWhenPlain:
            await error_response(self._too_large())(scope, receive, send)
        except (TreelineError, PayloadTooLargeError) as error:
            await error_response(error)(scope, receive, send)
        else:
            await self._app(scope, _given(body, receive), send)

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
                raise self._too_large()
            more = message.get("more_body", False)
        return b"".join(parts)

    def _too_large(self) -> PayloadTooLargeError:
        return PayloadTooLargeError(f"The body is larger than {self._limit} bytes; the server's body-limit-mib sets the limit")


class RepeatedRequests:
    """Answers a repeated idempotency key from memory, where there is something to remember. Needs whole bodies."""

    def __init__(self, app: ASGIApp, memory: AnswerMemory) -> None:
        self._app = app
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        repeats = scope["type"] == "http" and scope["method"] not in {"GET", "HEAD"}
        client_key = header(scope, KEY_HEADER) if repeats else None
        if client_key is None:
            await self._app(scope, receive, send)
            return
        body: bytes = (await receive()).get("body", b"")
        try:
            request = repeatable(scope, client_key, body)
            held = await self._memory.recall(request)
        except TreelineError as error:
            await error_response(error)(scope, receive, send)
            return
        if held is not None:
            await send(held.start)
            await send(held.body)
            return
        start: Message = {}
        answer: Answer | None = None

        async def listen(message: Message) -> None:
            nonlocal start, answer
            if message["type"] == "http.response.start":
                start = message
            else:
                answer = Answer(start, message)
            await send(message)

        note_on(scope, request)
        try:
            await self._app(scope, _given(body, receive), listen)
        finally:
            self._memory.finish(request, scope, answer)


def _given(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body first."""
    given = False

    async def receive_whole() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_whole
