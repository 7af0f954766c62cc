"""Roots: the catalogs that a server serves, each open or not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from catalog_format.catalog import StoredCatalog, create_catalog, open_catalog
from catalog_format.clock import Clock
from catalog_format.errors import InvalidArgumentError, NoSuchNamespaceError, NoSuchWarehouseError, NotACatalogError
from catalog_format.ids import Ids
from catalog_format.storage import open_storage
from catalog_format.storage.opening import split_location


class OpenCatalog(Protocol):
    """`catalog_format.catalog.open_catalog`, or what stands in for it over another store."""

    async def __call__(
        self,
        url: str,
        *,
        init: bool,
        options: Mapping[str, str],
        clock: Clock,
        ids: Ids,
        node_cache_bytes: int,
        max_staleness_s: float,
    ) -> StoredCatalog: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """How the catalogs of a server are opened."""

    options: Mapping[str, str]
    """For the stores, in Iceberg's names."""
    node_cache_bytes: int
    max_staleness_s: float
    clock: Clock
    ids: Ids
    open_catalog: OpenCatalog = open_catalog


class Root:
    """One catalog, open or not there yet."""

    def __init__(self, name: str, url: str, client_config: Mapping[str, str], opening: Opening) -> None:
        self.name = name
        self.url = url
        self.client_config = client_config
        # The choice of a FileIO is a default that a session may overrule, so it does not go with each table.
        self.table_config = orjson.dumps({key: value for key, value in client_config.items() if key != "io-impl"})
        self.location = split_location(url.rstrip("/"))
        self._how = opening
        self._catalog: StoredCatalog | None = None
        self._opening = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._catalog is not None

    async def catalog(self) -> StoredCatalog:
        """The open catalog. While there is none, each call looks whether somebody has made it.

        Raises `NoSuchNamespaceError`: Java shows its message, where it would take another for a table that is not there.
        """
        if self._catalog is None and not await self.open(init=False):
            raise NoSuchNamespaceError(
                f"{self.name} ({self.url}) holds no catalog yet: create it with CREATE NAMESPACE sys in this catalog, "
                f"or with `treeline init {self.url}`"
            )
        assert self._catalog is not None
        return self._catalog

    async def open(self, *, init: bool) -> bool:
        """Open the catalog, with `init` making it if there is none; False if there is none."""
        async with self._opening:
            if self._catalog is None:
                try:
                    self._catalog = await self._how.open_catalog(
                        self.url,
                        init=init,
                        options=self._how.options,
                        clock=self._how.clock,
                        ids=self._how.ids,
                        node_cache_bytes=self._how.node_cache_bytes,
                        max_staleness_s=self._how.max_staleness_s,
                    )
                except NotACatalogError:
                    if init:
                        raise
            return self._catalog is not None

    async def initialise(self, properties: Mapping[str, str]) -> bool:
        """Make the catalog, with properties of its own; False if there was one."""
        if await self.open(init=False):
            return False
        storage = open_storage(self.url, self._how.options)
        try:
            made = await create_catalog(storage, self._how.clock, self._how.ids, properties=properties)
        finally:
            await storage.close()
        await self.open(init=False)
        return made

    async def close(self) -> None:
        if self._catalog is not None:
            await self._catalog.close()


class Roots:
    """All roots of a server, by name; the first is the one that nameless clients get."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = {root.name: root for root in roots}
        self.first = roots[0]

    def __iter__(self) -> Iterator[Root]:
        return iter(self._roots.values())

    def get(self, name: str) -> Root | None:
        return self._roots.get(name)

    def by_url(self, text: str) -> Root | None:
        """A root by its URL, in any spelling of that."""
        if ":" not in text and "/" not in text:
            return None
        try:
            location = split_location(text.rstrip("/"))
        except InvalidArgumentError:
            return None
        return next((root for root in self._roots.values() if root.location == location), None)

    def missing(self, text: str, hint: str = "") -> NoSuchWarehouseError:
        """The error for a warehouse that is none."""
        return NoSuchWarehouseError(f"Warehouse does not exist: {text[:200]}; {hint or 'this server serves ' + ', '.join(self._roots)}")
