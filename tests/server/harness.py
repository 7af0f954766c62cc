"""The server in this process, spoken to over ASGI or sockets: real settings, a real application, real stores."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, unquote

import httpx
import uvicorn

from catalog_format.catalog import StoredCatalog, create_catalog
from catalog_format.clock import Clock
from catalog_format.ids import Ids
from catalog_format.keys import LEVEL_SEPARATOR
from catalog_format.storage import Storage, StorageResolver
from irc_server.app import Application, make_app
from irc_server.settings import Settings
from tests.support.catalogs import SCHEMA, ManualClock

Json = dict[str, Any]
ROOT = "lake"
_numbers = itertools.count()


def new_root() -> str:
    """The URL of an empty store that nobody else has."""
    return f"memory://server-tests-{next(_numbers)}"


class Client(httpx.AsyncClient):
    """A client of one application, which fails the test when the application raises."""

    def __init__(self, app: Application, **options: Any) -> None:
        super().__init__(transport=httpx.ASGITransport(app), base_url="http://server", **options)
        self.app = app

    async def raw(
        self, method: str, target: bytes, *, headers: Mapping[str, str] | None = None, body: bytes = b"", query: bytes = b""
    ) -> httpx.Response:
        """A request whose path is sent exactly as given, which no well-behaved client would do."""
        answer: Json = {}
        parts: list[bytes] = []

        async def receive() -> Json:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.update(message)
            else:
                parts.append(message.get("body", b""))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(target.decode("latin-1")),
            "raw_path": target,
            "query_string": query,
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {"host": "server"}).items()],
            "server": ("server", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        await self.app(scope, receive, send)
        return httpx.Response(answer["status"], headers=answer["headers"], content=b"".join(parts))


@asynccontextmanager
async def serving(
    root: str | None = None, *, clock: Clock | None = None, headers: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[Client]:
    """A started server with one root called `lake`, for the block's duration; `settings` as in `Settings`."""
    settings.setdefault("roots", [f"{ROOT}={root or new_root()}"])
    settings.setdefault("request_log", False)
    async with started(make_app(Settings(**settings), clock), headers) as client:
        yield client


@asynccontextmanager
async def serving_over(storage: Storage, *, clock: Clock | None = None, **settings: Any) -> AsyncIterator[Client]:
    """A started server whose root is this store, faults and all."""

    async def open_over(
        url: str,
        *,
        init: bool,
        options: Mapping[str, str],
        clock: Clock,
        ids: Ids,
        node_cache_bytes: int,
        max_staleness_s: float,
    ) -> StoredCatalog:
        if init:
            await create_catalog(storage, clock, ids)
        catalog = StoredCatalog(storage, StorageResolver(options), clock, ids, max_staleness_s=max_staleness_s)
        await catalog.versions.open()
        return catalog

    settings.setdefault("request_log", False)
    chosen = Settings(roots=[f"{ROOT}={storage.url}"], **settings)
    async with started(make_app(chosen, clock or ManualClock(), open_catalog=open_over)) as client:
        yield client


@asynccontextmanager
async def started(app: Application, headers: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """Start and stop an application around a block."""
    async with app.router.lifespan_context(app), Client(app, headers=headers) as client:
        yield client


class _Announced(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def listening(app: Application) -> AsyncIterator[tuple[str, int]]:
    """The address, on a free port of the loopback interface, where an application that was started is served over real sockets."""
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", ws="none", server_header=False)
    server = _Announced(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = asyncio.create_task(server.serve([listener]))
        await server.listening.wait()
        try:
            yield listener.getsockname()[:2]
        finally:
            server.should_exit = True
            await running


def path(*levels: str, table: str | None = None, view: str | None = None, prefix: str | None = None) -> str:
    """The path of a namespace, or of a table or view in it."""
    start = "/v1" if prefix is None else f"/v1/{prefix}"
    joined = f"{start}/namespaces/{quote(LEVEL_SEPARATOR.join(levels), safe='')}" if levels else f"{start}/namespaces"
    if table is not None:
        return f"{joined}/tables/{quote(table, safe='')}"
    return joined if view is None else f"{joined}/views/{quote(view, safe='')}"


def inside(transaction: str, *levels: str) -> tuple[str, ...]:
    """The levels of a namespace as a transaction sees it."""
    return ("sys", "dtxns", f"dtxn_{transaction}", *levels)


def refused(response: httpx.Response, status: int, kind: str, *says: str) -> str:
    """The message of an answer that must be this error: status, type, and the code once more in the body."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:300]}"
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert (error["type"], error["code"]) == (kind, status), error
    assert isinstance(error["message"], str)
    assert error["message"]
    for part in says:
        assert part in error["message"], error["message"]
    message: str = error["message"]
    return message


def done(response: httpx.Response, status: int = 200) -> Any:
    """The body of an answer that must be a success."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:500]}"
    if status == 204:
        assert response.content == b""
        return None
    assert response.headers["content-type"] == "application/json"
    return response.json()


def new_table(name: str, **more: Any) -> Json:
    return {"name": name, "schema": SCHEMA, **more}


def new_view(name: str, sql: str = "select 1", **more: Any) -> Json:
    version = {
        "version-id": 1,
        "timestamp-ms": 1_700_000_000_000,
        "schema-id": 0,
        "summary": {"operation": "create"},
        "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
    }
    return {"name": name, "schema": SCHEMA, "view-version": version, "properties": {}, **more}


def setting(requirements: Sequence[Json] = (), **properties: str) -> Json:
    """The body of a commit that sets properties of a table."""
    return {"requirements": list(requirements), "updates": [{"action": "set-properties", "updates": properties}]}


async def make_namespace(client: Client, *levels: str, **properties: str) -> None:
    done(await client.post("/v1/namespaces", json={"namespace": list(levels), "properties": properties}))


async def make_table(client: Client, namespace: Sequence[str], name: str, **more: Any) -> Json:
    made: Json = done(await client.post(f"{path(*namespace)}/tables", json=new_table(name, **more)))
    return made


async def make_view(client: Client, namespace: Sequence[str], name: str, **more: Any) -> Json:
    made: Json = done(await client.post(f"{path(*namespace)}/views", json=new_view(name, **more)))
    return made


async def begin(client: Client, transaction: str, **properties: str) -> dict[str, str]:
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    answer = done(await client.post("/v1/namespaces", json={"namespace": list(inside(transaction)), "properties": named}))
    shown: dict[str, str] = answer["properties"]
    return shown


async def commit(client: Client, transaction: str) -> httpx.Response:
    return await client.post(f"{path(*inside(transaction))}/properties", json={"removals": [], "updates": {"commit": "true"}})


async def properties_of(client: Client, namespace: Sequence[str], table: str) -> dict[str, str]:
    """Properties of a table that a client set, and not the server."""
    metadata = done(await client.get(path(*namespace, table=table)))["metadata"]
    return {key: value for key, value in metadata["properties"].items() if key not in {"write.parquet.compression-codec", "gc.enabled"}}


async def names_in(client: Client, *namespace: str, what: str = "tables") -> list[str]:
    listing = done(await client.get(f"{path(*namespace)}/{what}"))
    return [item["name"] for item in listing["identifiers"]]


def metadata_file(response_body: Mapping[str, Any]) -> str:
    location: str = response_body["metadata-location"]
    return location
