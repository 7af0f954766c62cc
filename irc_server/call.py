"""A call: one request, with what its path and headers name already resolved."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.requests import Request

from catalog_format.errors import InvalidArgumentError, NoSuchTableError
from catalog_format.keys import LEVEL_SEPARATOR, Identifier
from catalog_format.names import Place, ResolvedName, resolve
from catalog_format.scope import Page, RequestContext, Scope
from irc_server.roots import Root, Roots, Warehouse, within
from irc_server.settings import Settings
from irc_server.wire.answers import MetadataAnswers
from irc_server.wire.json_body import Json, parse_object

MAX_PAGE = 10_000
MAX_KEY = 200


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers share."""

    roots: Roots
    settings: Settings
    answers: MetadataAnswers


@dataclass(frozen=True, slots=True)
class Target:
    """A scope, the name within it, and what to put before the names that are answered."""

    scope: Scope
    rest: Identifier
    prefix: Identifier

    def shown(self, identifier: Identifier) -> Identifier:
        return self.prefix + identifier


class Call:
    """Everything that a handler needs to know of its request."""

    def __init__(self, request: Request, services: Services) -> None:
        self.request = request
        self.services = services
        prefix = request.path_params.get("prefix")
        self.warehouse: Warehouse = services.roots.prefixed(None if prefix is None else unquote(prefix))

    @property
    def root(self) -> Root:
        return self.services.roots.named(self.warehouse.root)

    def segment(self, name: str) -> str:
        """A decoded segment of the path."""
        return unquote(self.request.path_params[name], errors="strict")

    def namespace(self) -> Identifier:
        """The namespace of the path: levels joined by 0x1F."""
        return namespace_of(self.segment("namespace"))

    def query(self, name: str) -> str | None:
        return self.request.query_params.get(name)

    def page(self) -> Page | None:
        """The page asked for; None for everything. `pageToken=` (empty) begins a listing in pages."""
        token, size = self.query("pageToken"), self.query("pageSize")
        if token is None and size is None:
            return None
        if size is None:
            return Page(token or None)
        if not size.isdecimal() or not 0 < int(size) < 1 << 31:
            raise InvalidArgumentError(f"pageSize must be a positive number, not {size!r}")
        return Page(token or None, min(int(size), MAX_PAGE))

    async def body(self) -> Json:
        return parse_object(await self.request.body())

    async def context(self) -> RequestContext:
        """Who asks, and the idempotency key with the hash of what is asked."""
        agent = self.request.headers.get("user-agent", "")[:MAX_KEY]
        key = self.request.headers.get("idempotency-key")
        if key is None:
            return RequestContext(agent)
        if not 0 < len(key) <= MAX_KEY or not key.isprintable():
            raise InvalidArgumentError(f"Idempotency-Key must be 1 to {MAX_KEY} printable characters")
        digest = hashlib.sha256(f"{self.request.method} {self.request.url.path}?{self.request.url.query}\n".encode())
        digest.update(await self.request.body())
        return RequestContext(agent, key, digest.digest())

    async def scope(self, *, write: bool) -> Scope:
        """The scope of the path's prefix."""
        return await self.services.roots.scope(self.warehouse, write=write)

    async def target(self, resolved: ResolvedName, *, write: bool) -> Target:
        """Where an ordinary name, or a name below a transaction, takes effect."""
        if resolved.place is Place.TRANSACTION and resolved.transaction_id is not None:
            return Target(await within(self.root.catalog, resolved.transaction_id, write=write), resolved.rest, resolved.prefix)
        return Target(await self.scope(write=write), resolved.rest, ())

    async def object_target(self, identifier: Identifier, *, write: bool) -> Target:
        """Where a table or a view takes effect; nothing but namespaces lies in the system namespace itself."""
        resolved = resolve(identifier)
        inside = resolved.place is Place.CATALOG or (resolved.place is Place.TRANSACTION and len(resolved.rest) > 0)
        if not inside or (resolved.place is Place.TRANSACTION and not resolved.rest):
            name = ".".join(identifier)
            if write:
                raise InvalidArgumentError(f"{name} cannot be made: the system namespace holds nothing but transactions")
            raise NoSuchTableError(f"Table does not exist: {name}")
        return await self.target(resolved, write=write)


def namespace_of(text: str) -> Identifier:
    """Levels of a namespace as clients write it in paths and queries. Raises `InvalidArgumentError` for an empty level."""
    levels = tuple(text.split(LEVEL_SEPARATOR))
    if not all(levels):
        raise InvalidArgumentError("A namespace must not have empty levels")
    return levels
