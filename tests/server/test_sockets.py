"""Over real sockets: what the HTTP parser in front of the application lets through, keeps out, or changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.server.harness import listening, path, serving, setting
from tests.support.catalogs import SCHEMA


@pytest.fixture
async def address() -> AsyncIterator[tuple[str, int]]:
    """A server on a free port of the loopback interface."""
    async with serving(body_limit_mib=1) as client, listening(client.app) as address:
        yield address


async def exchange(address: tuple[str, int], request: bytes) -> bytes:
    """Send bytes, then read until the server closes the connection."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def request(target: str, method: str = "GET", headers: str = "", body: bytes = b"") -> bytes:
    length = f"content-length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{length}{headers}\r\n".encode("latin-1") + body


def parsed(answer: bytes) -> tuple[int, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


async def test_a_whole_session(address: tuple[str, int]) -> None:
    async with httpx.AsyncClient(base_url=f"http://{address[0]}:{address[1]}") as client:
        prefix = (await client.get("/v1/config")).json()["overrides"]["prefix"]
        for name in ("ns", "a/b ü"):
            assert (await client.post(f"/v1/{prefix}/namespaces", json={"namespace": [name]})).status_code == 200
        made = await client.post(f"{path('a/b ü')}/tables", json={"name": "t/1", "schema": SCHEMA})
        assert made.status_code == 200
        where = path("a/b ü", table="t/1")
        loaded = await client.get(where)
        assert loaded.json() == made.json()
        assert (await client.get(where, headers={"if-none-match": loaded.headers["etag"]})).status_code == 304
        head = await client.head(where)
        assert (head.status_code, head.content) == (204, b"")
        missing = await client.head(path("a/b ü", table="no"))
        assert (missing.status_code, missing.content) == (404, b"")
        listing = await client.head("/v1/namespaces")
        assert (listing.status_code, listing.content) == (200, b"")
        commits = [client.post(where, json=setting(**{f"k{number}": "v"})) for number in range(10)]
        assert {answer.status_code for answer in await asyncio.gather(*commits)} == {200}
        assert len((await client.get(where)).json()["metadata"]["properties"]) >= 10
        assert (await client.delete(where)).status_code == 204


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/v1/namespaces", 200),
        ("/v1/namespaces?", 200),
        ("/v1/namespaces?parent=", 200),
        ("http://elsewhere/v1/namespaces", 200),
        ("/v1/namespaces/%2e%2e", 404),
        ("/v1/namespaces/..", 404),
        ("/v1/../healthz", 404),
        ("/v1/namespaces/%", 400),
        ("/v1/namespaces/%ff", 400),
        ("/v1/namespaces/\xff", 400),
        ("/v1/namespaces/a?b#c", 404),
        ("*", 404),
    ],
)
async def test_targets_as_they_are_sent(address: tuple[str, int], target: str, status: int) -> None:
    told, body = parsed(await exchange(address, request(target)))
    assert told in {status, 400}, body
    if told != 400 or status == 400:
        assert body.startswith((b"{", b"Invalid HTTP"))


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        request("/v1/namespaces", "POST", "content-length: x\r\n"),
        request("/v1/namespaces", "POST", "content-length: -1\r\n"),
        request("/v1/namespaces", "POST", "transfer-encoding: chunked\r\n") + b"zz\r\n",
        request("/v1/namespaces", "POST", "content-length: 2\r\ntransfer-encoding: chunked\r\n") + b"0\r\n\r\n",
        request("/v1/namespaces", headers="x: \x00\r\n"),
    ],
)
async def test_what_is_no_http_is_refused_and_the_server_lives_on(address: tuple[str, int], garbage: bytes) -> None:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(garbage)
    writer.write_eof()
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer == b"" or parsed(answer)[0] in {400, 404, 413}
    assert parsed(await exchange(address, request("/healthz")))[0] == 200


async def test_a_body_that_never_ends_is_cut_off(address: tuple[str, int]) -> None:
    head = b"POST /v1/namespaces HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    reader, writer = await asyncio.open_connection(*address)
    writer.write(head)
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    for _ in range(17):
        writer.write(chunk)
    await writer.drain()
    async with asyncio.timeout(10):
        assert b" 413 " in await reader.readuntil(b"\r\n")
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_is_announced_too_large_is_not_waited_for(address: tuple[str, int]) -> None:
    for length in (str((1 << 20) + 1), "9" * 18):
        answer = await exchange(address, request("/v1/namespaces", "POST", f"content-length: {length}\r\n"))
        assert parsed(answer)[0] == 413


async def test_a_client_that_goes_away_harms_nobody(address: tuple[str, int]) -> None:
    body = json.dumps({"namespace": ["gone"]}).encode()
    for sent in (request("/v1/namespaces", "POST", body=body)[:-5], request("/v1/namespaces", "POST", body=body), b"GET /v1/na"):
        _, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        await writer.drain()
        writer.transport.abort()
    assert parsed(await exchange(address, request("/healthz")))[0] == 200


async def test_several_requests_on_one_connection_are_answered_in_order(address: tuple[str, int]) -> None:
    first = request("/v1/namespaces/no", "HEAD").replace(b"connection: close\r\n", b"")
    second = request("/v1/namespaces", "POST", body=b'{"namespace":["x"]}').replace(b"connection: close\r\n", b"")
    answer = await exchange(address, first + second + request("/v1/namespaces"))
    statuses = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [404, 200, 200]
    assert answer.endswith(b'{"namespaces":[["x"]],"next-page-token":null}')
