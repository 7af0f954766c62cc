"""A call: one request, with what its path and headers name already resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from catalog_format.errors import (
    InvalidArgumentError,
    NoSuchFunctionError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    NotFoundError,
)
from catalog_format.keys import LEVEL_SEPARATOR, Identifier
from catalog_format.names import TRANSACTION_PREFIX, Place, ResolvedName, resolve
from catalog_format.scope import Page, RequestContext, Scope
from irc_server.idempotency import noted_on
from irc_server.roots import Root, Roots
from irc_server.settings import Settings
from irc_server.warehouses import View, Warehouse, within
from irc_server.wire.answers import AnsweredLoads, Asked
from irc_server.wire.headers import accepts_gzip, header
from irc_server.wire.parameters import PAGE_SIZE, PAGE_TOKEN, Parameter
from irc_server.wire.protected import ProtectedTables
from irc_server.wire.referenced import ReferencedSnapshots

MAX_PAGE = 10_000
_LONGEST_SIZE = 10
MAX_AGENT = 200
_LONGEST_NAME = 6000
_MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers share."""

    roots: Roots
    settings: Settings
    loads: AnsweredLoads
    referenced: ReferencedSnapshots
    protected: ProtectedTables
    endpoints: Sequence[str]
    """What `/v1/config` says is served."""
    document: Callable[[], bytes]
    """Makes `/openapi.json`."""


@dataclass(frozen=True, slots=True)
class Target:
    """A scope, the name within it, and what to put before the names that are answered."""

    scope: Scope
    rest: Identifier
    prefix: Identifier
    home: str
    """The scope in one word; equal for names that can be changed together."""

    def shown(self, identifier: Identifier) -> Identifier:
        return self.prefix + identifier


def no_namespace(namespace: Identifier) -> NoSuchNamespaceError:
    return NoSuchNamespaceError(f"Namespace does not exist: {dotted(namespace)}")


def no_table(identifier: Identifier) -> NoSuchTableError:
    return NoSuchTableError(f"Table does not exist: {dotted(identifier)}")


def no_view(identifier: Identifier) -> NoSuchViewError:
    return NoSuchViewError(f"View does not exist: {dotted(identifier)}")


def no_function(identifier: Identifier) -> NoSuchFunctionError:
    return NoSuchFunctionError(f"Function does not exist: {dotted(identifier)}")


def dotted(identifier: Identifier) -> str:
    """A name for messages."""
    return ".".join(identifier) or "(the empty name)"


class Call:
    """Everything that a handler needs to know of its request."""

    def __init__(self, request: Request, services: Services, warehouse: Warehouse) -> None:
        self.request = request
        self.services = services
        self.warehouse = warehouse

    @property
    def root(self) -> Root:
        return self.warehouse.root

    # What the request says -----------------------------------------------------------------------

    def segment(self, name: str) -> str:
        """A decoded segment of the path. Raises `InvalidArgumentError`."""
        return decoded(self.request.path_params[name])

    def namespace(self) -> Identifier:
        """The namespace of the path, levels joined by 0x1F. Raises `NoSuchNamespaceError` for the empty one."""
        namespace = namespace_of(self.segment("namespace"))
        if not namespace:
            raise no_namespace(namespace)
        return namespace

    def object_name(self, name: str) -> Identifier:
        """The table or view of the path, with its namespace."""
        return (*namespace_of(self.segment("namespace")), self.segment(name))

    def query(self, parameter: Parameter) -> str | None:
        # Most requests have none, and parsing nothing is not free either.
        return self.request.query_params.get(parameter.name) if self.request.scope["query_string"] else None

    def page(self) -> Page | None:
        """The page asked for; None for everything: without `pageToken` (empty: the first page) no size makes pages."""
        token, size = self.query(PAGE_TOKEN), self.query(PAGE_SIZE)
        if size is not None and not (size.isascii() and size.isdecimal() and size.strip("0")):
            raise InvalidArgumentError(f"pageSize must be a positive number, not {size[:40]!r}")
        if token is None:
            return None
        if size is None:
            return Page(token or None)
        return Page(token or None, MAX_PAGE if len(size) > _LONGEST_SIZE else min(int(size), MAX_PAGE))

    def header(self, parameter: Parameter) -> str | None:
        return header(self.request.scope, parameter.key)

    @property
    def asked(self) -> Asked:
        scope = self.request.scope
        return scope["path"], scope["query_string"], accepts_gzip(scope)

    @property
    def accepts_gzip(self) -> bool:
        return accepts_gzip(self.request.scope)

    def context(self) -> RequestContext:
        """Who asks, and the idempotency key with the hash of what is asked."""
        # Java's user agent names only its HTTP library; the version header names the client.
        said = (header(self.request.scope, b"user-agent"), header(self.request.scope, b"x-client-version"))
        agent = " ".join(part for part in said if part)[:MAX_AGENT]
        noted = noted_on(self.request.scope)
        return RequestContext(agent) if noted is None else RequestContext(agent, noted.key, noted.request_hash)

    # Where it takes effect -----------------------------------------------------------------------

    async def target(self, resolved: ResolvedName, *, write: bool) -> Target:
        """Where an ordinary name, or a name below a transaction, takes effect."""
        if resolved.place is not Place.TRANSACTION:
            return Target(await self.warehouse.scope(write=write), resolved.rest, (), self.warehouse.prefix)
        transaction_id = resolved.transaction_id or ""
        if resolve(resolved.rest).place is not Place.CATALOG:
            raise no_namespace(resolved.prefix + resolved.rest)
        scope = await within(await self.root.catalog(), transaction_id, write=write)
        home = Warehouse(self.root, View.TRANSACTION, transaction_id=transaction_id).prefix
        return Target(scope, resolved.rest, resolved.prefix, home)

    async def object_target(self, identifier: Identifier, missing: Callable[[Identifier], NotFoundError], *, write: bool) -> Target:
        """Where a table or view that should exist lies; the system namespace itself holds none."""
        resolved = resolve(identifier[:-1])
        if resolved.place not in {Place.CATALOG, Place.TRANSACTION} or not resolved.rest:
            raise missing(identifier)
        return _below(await self.target(resolved, write=write), identifier[-1])

    async def new_object_target(self, identifier: Identifier) -> Target:
        """Where a table or view is to be made."""
        resolved = resolve(identifier[:-1])
        if resolved.place is Place.UNKNOWN:
            raise no_namespace(identifier[:-1])
        if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS} or not resolved.rest:
            raise InvalidArgumentError(
                f"{dotted(identifier)} cannot be made: tables and views lie in namespaces of the catalog, or of a transaction as in "
                f"sys.dtxns.{TRANSACTION_PREFIX}<id>.<namespace>"
            )
        # Engines show a 409 on a create as "already exists", so that a transaction has ended is told as 404 here.
        return _below(await self.target(resolved, write=False), identifier[-1])


def _below(parent: Target, name: str) -> Target:
    return Target(parent.scope, (*parent.rest, name), parent.prefix, parent.home)


def _check_length(text: str) -> None:
    """Before it is remembered: no name is as long as this, however it is encoded."""
    if len(text) > _LONGEST_NAME:
        raise InvalidArgumentError(f"A name of {len(text)} characters is too long: {text[:80]}…")


@lru_cache(maxsize=4096)
def decoded(segment: str) -> str:
    """Text of a path's segment. Java writes a space as "+" and a plus as "%2B", as in forms; others write "%20" and "%2B"."""
    _check_length(segment)
    if _MALFORMED.search(segment):
        raise InvalidArgumentError(f"{segment[:80]!r} in the path has a '%' that no two hexadecimal digits follow; write '%25' for '%'")
    try:
        # Each character of the raw path is one byte, those beyond ASCII included.
        return unquote_to_bytes(segment.replace("+", " ").encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"{segment[:80]!r} in the path is not UTF-8 when decoded") from None


@lru_cache(maxsize=4096)
def namespace_of(text: str) -> Identifier:
    """Levels of a namespace as clients write it in paths and queries; () for nothing. Raises `InvalidArgumentError` for an empty level."""
    if not text:
        return ()
    _check_length(text)
    levels = tuple(text.split(LEVEL_SEPARATOR))
    if not all(levels):
        raise InvalidArgumentError("A namespace must not have empty levels")
    return levels
