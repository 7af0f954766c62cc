"""Every class of error: how it goes over the wire, and what clients make of it; and a server that refuses with any of them."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from catalog_format import errors
from catalog_format.catalog import StoredCatalog, create_catalog
from catalog_format.clock import Clock
from catalog_format.ids import Ids
from catalog_format.keys import Identifier
from catalog_format.scope import NO_CONTEXT, LoadedMetadata, RequestContext, Scope, TableCommit
from catalog_format.storage import StorageResolver, open_storage
from irc_server import error_map
from irc_server.app import make_app
from irc_server.settings import Settings

MESSAGE = "what happened, and what to do"
LOAD, COMMIT = "load_", "commit_"

CLASSES: dict[str, type[Exception]] = {
    name: kind
    for module in (errors, error_map)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Exception) and kind.__module__ == module.__name__ and kind is not errors.TreelineError
}


@dataclass(frozen=True, slots=True)
class Seen:
    """An error on the wire, and the exceptions that a load and a commit of a table end with in PyIceberg and in Java."""

    status: int
    kind: str
    pyiceberg: tuple[str, str]
    java: tuple[str, str]


_REST = ("RESTError", "RESTError")
_J_REST = ("RESTException", "RESTException")
_LATER = Seen(429, "TooManyRequestsException", ("TooManyRequestsError", "TooManyRequestsError"), _J_REST)
_BAD = Seen(400, "BadRequestException", ("BadRequestError", "BadRequestError"), ("BadRequestException", "BadRequestException"))
_FORBIDDEN = Seen(403, "ForbiddenException", ("ForbiddenError", "ForbiddenError"), ("ForbiddenException", "ForbiddenException"))
_CONFLICT = Seen(409, "CommitFailedException", ("RESTError", "CommitFailedException"), ("AlreadyExistsException", "CommitFailedException"))
_GIVE_UP = Seen(
    500,
    "ServiceFailureException",
    ("ServerError", "CommitStateUnknownException"),
    ("ServiceFailureException", "CommitStateUnknownException"),
)


def _missing(kind: str, java: str) -> Seen:
    return Seen(404, kind, ("NoSuchTableError", "RESTError"), (java, "NoSuchTableException"))


_NO_FILE = _missing("NotFoundException", "NotFoundException")
_NO_NAMESPACE = _missing("NoSuchNamespaceException", "NoSuchNamespaceException")
_NO_WAREHOUSE = _missing("NoSuchWarehouseException", "NoSuchTableException")

EXPECTED: Mapping[str, Seen] = {
    "RetryLater": _LATER,
    "StoreThrottledError": _LATER,
    "StoreUnavailableError": _LATER,
    "ContendedError": _LATER,
    "BadRequest": _BAD,
    "InvalidArgumentError": _BAD,
    "InvalidViewVersionError": Seen(
        400, "IllegalArgumentException", ("BadRequestError", "BadRequestError"), ("IllegalArgumentException", "IllegalArgumentException")
    ),
    "UnsupportedError": Seen(406, "UnsupportedOperationException", _REST, _J_REST),
    "ReadOnlyError": _FORBIDDEN,
    "NotFoundError": _NO_FILE,
    "NoSuchNamespaceError": _NO_NAMESPACE,
    "NoSuchTableError": _missing("NoSuchTableException", "NoSuchTableException"),
    "NoSuchViewError": _missing("NoSuchViewException", "NoSuchTableException"),
    "NoSuchFunctionError": _missing("NoSuchFunctionException", "NoSuchTableException"),
    "NoSuchVersionError": _NO_WAREHOUSE,
    "NoSuchTransactionError": _NO_NAMESPACE,
    "NoSuchWarehouseError": _NO_WAREHOUSE,
    "MissingFileError": _NO_FILE,
    "AlreadyExistsError": Seen(409, "AlreadyExistsException", _CONFLICT.pyiceberg, _CONFLICT.java),
    "NamespaceNotEmptyError": Seen(409, "NamespaceNotEmptyException", _CONFLICT.pyiceberg, _CONFLICT.java),
    "ConflictError": _CONFLICT,
    "RequirementFailedError": _CONFLICT,
    "TransactionRefusedError": _CONFLICT,
    "TransactionEndedError": _CONFLICT,
    "GiveUp": _GIVE_UP,
    "CorruptFileError": _GIVE_UP,
    "LostFileError": _GIVE_UP,
    "NotACatalogError": _GIVE_UP,
    "NewerFormatError": _GIVE_UP,
    "StoreDeniedError": _FORBIDDEN,
    "StoreFullError": Seen(507, "ServiceFailureException", ("ServerError", "ServerError"), _J_REST),
    "ClockSkewError": Seen(421, "ServiceFailureException", _REST, _J_REST),
    "UnknownOutcomeError": Seen(500, "CommitStateUnknownException", _GIVE_UP.pyiceberg, _GIVE_UP.java),
    "NotAuthorizedError": Seen(
        401, "NotAuthorizedException", ("UnauthorizedError", "UnauthorizedError"), ("NotAuthorizedException", "NotAuthorizedException")
    ),
    "PayloadTooLargeError": Seen(413, "BadRequestException", _REST, _J_REST),
    "UnprocessableError": Seen(422, "UnprocessableEntityException", _REST, _J_REST),
    "RouteNotFoundError": _NO_FILE,
    "MethodNotAllowedError": Seen(405, "UnsupportedOperationException", _REST, _J_REST),
    "NotOfferedError": Seen(
        501,
        "UnsupportedOperationException",
        ("NotImplementedError", "NotImplementedError"),
        ("UnsupportedOperationException", "UnsupportedOperationException"),
    ),
    "NotReadyError": Seen(
        503,
        "ServiceUnavailableException",
        ("ServiceUnavailableError", "ServiceUnavailableError"),
        ("ServiceUnavailableException", "CommitStateUnknownException"),
    ),
}


class _Refusing:
    """The latest state, with tables whose names are classes of errors: `load_<class>` and `commit_<class>` end with it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scope, name)

    async def load_table(self, table: Identifier, held: LoadedMetadata | None = None) -> LoadedMetadata:
        if table[-1].startswith(LOAD):
            raise CLASSES[table[-1].removeprefix(LOAD)](MESSAGE)
        return await self._scope.load_table((*table[:-1], "t"))

    async def commit_tables(self, commits: Sequence[TableCommit], context: RequestContext = NO_CONTEXT) -> list[LoadedMetadata]:
        raise CLASSES[commits[0].identifier[-1].removeprefix(COMMIT)](MESSAGE)


class _RefusingCatalog(StoredCatalog):
    @property
    def main(self) -> Any:
        return _Refusing(super().main)


async def _open(
    url: str, *, init: bool, options: Mapping[str, str], clock: Clock, ids: Ids, node_cache_bytes: int, max_staleness_s: float
) -> StoredCatalog:
    storage = open_storage(url, options)
    await create_catalog(storage, clock, ids)
    catalog = _RefusingCatalog(storage, StorageResolver(options), clock, ids)
    await catalog.versions.open()
    return catalog


class _Announced(uvicorn.Server):
    """Says when it listens, to another thread."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextmanager
def refusing_server(folder: Path) -> Iterator[str]:
    """The URL of a server with a namespace `ns`, in which loads and commits end as the table's name says."""
    app = make_app(Settings(roots=[f"lake={folder}"], request_log=False), open_catalog=_open)
    server = _Announced(uvicorn.Config(app, log_level="critical", access_log=False, lifespan="on", ws="none", server_header=False))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), name="refusing server")
        thread.start()
        try:
            assert server.listening.wait(30)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=url) as client:
                client.post("/v1/namespaces", json={"namespace": ["ns"]}).raise_for_status()
                properties = {"commit.retry.num-retries": "0"}
                table = {"name": "t", "schema": {"type": "struct", "fields": []}, "properties": properties}
                client.post("/v1/namespaces/ns/tables", json=table).raise_for_status()
            yield url
        finally:
            server.should_exit = True
            thread.join()
