"""A server that answers S3 requests as a test dictates, to show what the real client makes of each answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from catalog_format.storage import Storage, open_storage


@dataclass(frozen=True)
class Reply:
    """An answer with this status and S3 error code; status 0 closes the connection without one."""

    status: int
    code: str | None = None
    body: bytes = b""

    def encode(self, method: str) -> bytes:
        body = self.body
        if self.code is not None:
            condition = "<Condition>If-None-Match</Condition>" if self.code == "PreconditionFailed" else ""
            body = f"<Error><Code>{self.code}</Code><Message>as dictated</Message>{condition}</Error>".encode()
        head = f"HTTP/1.1 {self.status} Dictated\r\nContent-Length: {len(body)}\r\nContent-Type: application/xml\r\n\r\n"
        return head.encode() + (b"" if method == "HEAD" else body)


@dataclass
class CannedS3:
    """Replies in order, one a request, and the requests that came."""

    replies: deque[Reply] = field(default_factory=deque)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method = line.split()[0].decode()
                headers = {}
                while (header := (await reader.readline()).decode().strip()) != "":
                    name, _, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                if headers.get("expect"):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await reader.readexactly(int(headers.get("content-length", "0")))
                self.requests.append((method, headers))
                reply = self.replies.popleft()
                if reply.status == 0:
                    break
                writer.write(reply.encode(method))
                await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def canned_s3() -> AsyncIterator[tuple[CannedS3, Storage]]:
    """The server, and a store on it."""
    canned = CannedS3()
    server = await asyncio.start_server(canned.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    options = {"s3.endpoint": f"http://127.0.0.1:{port}", "s3.region": "here", "s3.access-key-id": "k", "s3.secret-access-key": "s"}
    store = open_storage("s3://bucket/root", options)
    try:
        yield canned, store
    finally:
        await store.close()
        server.close()
        await server.wait_closed()
