"""Listings without pages that are long: sent as they are read, all of one version."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from catalog_format.clock import SystemClock
from catalog_format.storage import CountingStorage, Denied, FaultyStorage, MemoryStorage, Rule, ScriptedPlan
from irc_server.endpoints import listings
from tests.server.harness import (
    ROOT,
    Client,
    begin,
    done,
    inside,
    listening,
    make_namespace,
    make_table,
    make_view,
    path,
    serving,
    serving_over,
)
from tests.support.catalogs import SMALL_TREE, ManualClock, opened

PART = 3
COUNTS = [2, 3, 4, 6, 7, 10]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "PART", PART)


async def fill(client: Client, count: int) -> None:
    await make_namespace(client, "ns")
    for number in range(count):
        await make_namespace(client, "ns", f"n{number:02}")
        await make_table(client, ["ns"], f"t{number:02}")
        await make_view(client, ["ns"], f"v{number:02}")


async def parts_of(client: Client, target: str, query: bytes = b"", between: Callable[[int], Awaitable[None]] | None = None) -> list[bytes]:
    """The parts of a body in the order in which they are sent; after each, `between` is called with its number."""
    sent: list[bytes] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query,
        "headers": [(b"host", b"server")],
        "server": ("server", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }

    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if asked:
            # The client stays, and has nothing more to say.
            await asyncio.Event().wait()
        asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sent.append(message.get("body", b""))
            if between is not None:
                await between(len(sent))

    await client.app(scope, receive, send)
    return sent


@pytest.mark.parametrize("count", COUNTS)
async def test_the_parts_together_are_the_body_that_the_specification_wants(count: int) -> None:
    async with serving() as client:
        await fill(client, count)
        for target, key, name in (
            (f"{path('ns')}/tables", "identifiers", "t"),
            (f"{path('ns')}/views", "identifiers", "v"),
            (f"{path()}?parent=ns", "namespaces", "n"),
        ):
            answer = await client.get(target, headers={"accept-encoding": "identity"})
            levels: list[Any] = [f"{name}{number:02}" for number in range(count)]
            expected = (
                [["ns", level] for level in levels] if key == "namespaces" else [{"namespace": ["ns"], "name": level} for level in levels]
            )
            assert answer.json() == {key: expected, "next-page-token": None}
            assert answer.headers["content-type"] == "application/json"
            packed = await client.get(target, headers={"accept-encoding": "gzip"})
            assert packed.json() == answer.json()
            assert ("content-encoding" in packed.headers) == (count > PART)
            whole = done(await client.get(target, params={"pageToken": "", "parent": "ns"}))
            assert whole == answer.json()


async def test_all_parts_are_of_the_version_in_which_the_first_was_read() -> None:
    async with serving() as client:
        await fill(client, 8)

        async def interfere(number: int) -> None:
            if number == 2:
                done(await client.delete(path("ns", table="t07")), 204)
                await make_table(client, ["ns"], "t055")

        parts = await parts_of(client, f"{path('ns')}/tables", between=interfere)
        assert len(parts) > 4
        assert [item["name"] for item in json.loads(b"".join(parts))["identifiers"]] == [f"t{number:02}" for number in range(8)]


async def test_the_first_names_are_sent_before_the_last_are_read() -> None:
    store = CountingStorage(MemoryStorage())
    async with serving_over(store, clock=SystemClock()) as client:
        await make_namespace(client, "ns")
        # Long names, so that the tree has many leaves.
        for number in range(150):
            await make_namespace(client, "ns", f"n{number:03}" + "x" * 900)
    async with serving_over(store, clock=SystemClock()) as client:
        read_by_then: list[int] = []

        async def note(_: int) -> None:
            read_by_then.append(store.calls.count("get"))

        store.reset()
        await parts_of(client, "/v1/namespaces", b"parent=ns", between=note)
        assert len(read_by_then) > 50
        assert read_by_then[1] < read_by_then[-1]


async def test_a_transaction_is_listed_at_once() -> None:
    async with serving() as client:
        await fill(client, 7)
        await begin(client, "1")
        for target in (f"{path(*inside('1', 'ns'))}/tables", f"{path('ns', prefix=f'{ROOT}@dtxn_1')}/tables"):
            assert len(await parts_of(client, target)) == 1


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_a_listing_that_breaks_off_does_not_look_whole(encoding: str) -> None:
    """At whichever read the store fails, over real sockets: an error, or half a body and a broken connection; never a shorter list."""
    store = MemoryStorage()
    async with opened(store, limits=SMALL_TREE) as catalog:
        await catalog.main.create_namespace(("ns",), {})
        for number in range(16):
            await catalog.main.create_namespace(("ns", f"n{number:02}"), {})
    refused = broken = 0
    for nth in itertools.count(1):
        fails = FaultyStorage(store, ScriptedPlan(Rule(Denied(), "get", "node/*", nth=nth, times=None)), ManualClock())
        async with serving_over(fails) as client, listening(client.app) as address:
            got = await received(address, "/v1/namespaces?parent=ns", encoding)
        if got.status != 200:
            assert got.is_whole and json.loads(got.text)["error"]["code"] == got.status
            refused += 1
            continue
        if got.is_whole:
            break
        assert 3 <= got.text.count('["ns",') < 16
        with pytest.raises(json.JSONDecodeError):
            json.loads(got.text)
        broken += 1
    # Without a failure everything is there.
    assert len(json.loads(got.text)["namespaces"]) == 16
    assert refused > 0 and broken > 2


@dataclass(frozen=True)
class Received:
    """What a client has of an answer when the connection is done, or broken."""

    status: int
    text: str
    is_whole: bool
    """Whether both HTTP and gzip say that this is all."""


async def received(address: tuple[str, int], target: str, encoding: str) -> Received:
    data, is_whole = b"", True
    async with (
        httpx.AsyncClient(base_url=f"http://{address[0]}:{address[1]}", headers={"accept-encoding": encoding}) as client,
        client.stream("GET", target) as answer,
    ):
        try:
            async for part in answer.aiter_raw():
                data += part
        except httpx.RemoteProtocolError:
            is_whole = False
        if answer.headers.get("content-encoding") == "gzip":
            reader = zlib.decompressobj(wbits=31)
            data = reader.decompress(data)
            assert reader.eof == is_whole
        return Received(answer.status_code, data.decode(), is_whole)


def test_parts_of_gzip_can_be_read_as_they_come() -> None:
    from irc_server.wire.compression import Packer

    packer, reader, read = Packer(), zlib.decompressobj(wbits=31), b""
    texts = [b"one," * 300, b"two," * 300, b"three"]
    packed = [packer.part(text, last=text is texts[-1]) for text in texts]
    for text, part in zip(texts, packed, strict=True):
        read += (plain := reader.decompress(part))
        assert plain == text
    assert gzip.decompress(b"".join(packed)) == read == b"".join(texts)
