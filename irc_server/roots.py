"""Roots: the catalogs that a server serves, and what a warehouse or a prefix names within them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from catalog_format.catalog import StoredCatalog, open_catalog
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTransactionError,
    NoSuchWarehouseError,
    NotACatalogError,
)
from catalog_format.scope import Scope

_MILLIS = re.compile(r"\d{12,}")


class View(Enum):
    """Which state of a root is meant."""

    MAIN = auto()
    VERSION = auto()
    TRANSACTION = auto()


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A root, seen as it is now, as it was, or from within a transaction."""

    root: str
    view: View = View.MAIN
    version: int = 0
    transaction_id: str = ""

    @property
    def prefix(self) -> str:
        """One URL-safe segment that names this again."""
        match self.view:
            case View.MAIN:
                return self.root
            case View.VERSION:
                return f"{self.root}@v{self.version}"
            case View.TRANSACTION:
                return f"{self.root}@dtxn_{self.transaction_id}"


class Root:
    """One catalog, open or not there yet."""

    def __init__(self, name: str, url: str, options: Mapping[str, str], client_config: Mapping[str, str]) -> None:
        self.name = name
        self.url = url
        self.client_config = client_config
        self._options = options
        self._catalog: StoredCatalog | None = None
        self._opening = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._catalog is not None

    @property
    def catalog(self) -> StoredCatalog:
        """Raises `NoSuchWarehouseError` while there is no catalog at the root."""
        if self._catalog is None:
            raise NoSuchWarehouseError(
                f"{self.name} ({self.url}) holds no catalog yet: create one with `CREATE NAMESPACE sys` or `treeline init {self.url}`"
            )
        return self._catalog

    async def open(self, *, init: bool, node_cache_bytes: int, max_staleness_s: float) -> None:
        """Open the catalog; without `init` it may be missing."""
        async with self._opening:
            if self._catalog is not None:
                return
            try:
                self._catalog = await open_catalog(
                    self.url, init=init, options=self._options, node_cache_bytes=node_cache_bytes, max_staleness_s=max_staleness_s
                )
            except NotACatalogError:
                if init:
                    raise

    async def close(self) -> None:
        if self._catalog is not None:
            await self._catalog.close()


class Roots:
    """All roots of a server, by name; the first is the one that nameless clients get."""

    def __init__(self, roots: list[Root]) -> None:
        self._roots = {root.name: root for root in roots}
        self.first = roots[0]

    def __iter__(self) -> Iterator[Root]:
        return iter(self._roots.values())

    def named(self, name: str) -> Root:
        """Raises `NoSuchWarehouseError`."""
        root = self._roots.get(name)
        if root is None:
            raise NoSuchWarehouseError(f"Warehouse does not exist: {name}; this server serves {', '.join(self._roots)}")
        return root

    def _named_or_located(self, text: str) -> Root:
        plain = text.rstrip("/")
        for root in self._roots.values():
            if plain in (root.url.rstrip("/"), root.is_open and root.catalog.url):
                return root
        return self.named(text)

    async def warehouse(self, text: str | None) -> Warehouse:
        """What a client's `warehouse` names. `@latest` is pinned to the version that is the latest now."""
        if not text:
            return Warehouse(self.first.name)
        if text in self._roots:
            return Warehouse(text)
        name, separator, state = text.rpartition("@")
        if not separator or "/" in state:
            return Warehouse(self._named_or_located(text).name)
        root = self._named_or_located(name)
        return await self._state(root, state)

    async def _state(self, root: Root, state: str) -> Warehouse:
        catalog = root.catalog
        if state == "latest":
            return Warehouse(root.name, View.VERSION, await catalog.latest_version())
        if state.startswith("dtxn_"):
            transaction_id = state.removeprefix("dtxn_")
            await catalog.transactions.load(transaction_id)
            return Warehouse(root.name, View.TRANSACTION, transaction_id=transaction_id)
        if state.startswith("v") and state[1:].isdecimal():
            version = int(state[1:])
            await catalog.at(version)
            return Warehouse(root.name, View.VERSION, version)
        if state.startswith(("branch:", "tag:")):
            raise NoSuchWarehouseError(f"Warehouse does not exist: {root.name}@{state}; this server has no branches and tags yet")
        return Warehouse(root.name, View.VERSION, await catalog.version_at(_timestamp_ms(state)))

    def prefixed(self, prefix: str | None) -> Warehouse:
        """What the prefix of a path names. Raises `NoSuchWarehouseError`."""
        if prefix is None or prefix in self._roots:
            return Warehouse(prefix or self.first.name)
        name, _, state = prefix.rpartition("@")
        root = self.named(name or prefix)
        if state.startswith("v") and state[1:].isdecimal():
            return Warehouse(root.name, View.VERSION, int(state[1:]))
        if state.startswith("dtxn_"):
            return Warehouse(root.name, View.TRANSACTION, transaction_id=state.removeprefix("dtxn_"))
        raise NoSuchWarehouseError(f"Warehouse does not exist: {prefix}; ask /v1/config for the prefix of a warehouse")

    async def scope(self, warehouse: Warehouse, *, write: bool) -> Scope:
        """Where the operations of a request take place."""
        catalog = self.named(warehouse.root).catalog
        match warehouse.view:
            case View.MAIN:
                return catalog.main
            case View.VERSION:
                return await catalog.at(warehouse.version)
            case View.TRANSACTION:
                return await within(catalog, warehouse.transaction_id, write=write)


async def within(catalog: StoredCatalog, transaction_id: str, *, write: bool) -> Scope:
    """A transaction's scope. To a reader an ended one is gone (404); a writer is told that it has ended (409)."""
    if not write:
        info = await catalog.transactions.load(transaction_id) if catalog.transactions.known_open(transaction_id) is None else None
        if info is not None and info.status is not TransactionStatus.OPEN:
            raise NoSuchNamespaceError(f"Namespace does not exist: transaction {transaction_id} is {info.status.value}")
    try:
        return await catalog.within(transaction_id)
    except NoSuchTransactionError as error:
        raise NoSuchNamespaceError(f"Namespace does not exist: sys.dtxns.dtxn_{transaction_id}") from error


def _timestamp_ms(text: str) -> int:
    """Epoch milliseconds, or ISO 8601 (UTC unless it says otherwise)."""
    if _MILLIS.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is no state of a catalog: write @v<number>, @dtxn_<id>, @latest, or a time such as @2026-11-21T12:00:00Z"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
