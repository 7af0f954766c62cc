"""Catalogs for tests: real ones, over stores in memory, with a clock and ids that the test owns."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson

from catalog_format.catalog import PlaceScope, StoredCatalog, create_catalog
from catalog_format.ids import SeededIds
from catalog_format.objects import TreeLimits
from catalog_format.scope import LoadedMetadata, NewTable, NewView, TableCommit
from catalog_format.storage import LocalStorage, MemoryStorage, Storage, StorageResolver

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": True},
        {"id": 2, "name": "note", "type": "string", "required": False},
    ],
}

NEW_VIEW = NewView(
    SCHEMA,
    {
        "version-id": 1,
        "timestamp-ms": 1_700_000_000_000,
        "schema-id": 0,
        "summary": {"operation": "create"},
        "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    },
)

SMALL_TREE = TreeLimits(node_bytes=4096, node_rows=4, buffer_bytes=4096, buffer_rows=4, inline_bytes=256)


class ManualClock:
    """Time that passes only when somebody sleeps or the test says so."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._elapsed = 0.0

    def now_ms(self) -> int:
        return self._now_ms

    def elapsed(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._elapsed += seconds
        self._now_ms += int(seconds * 1000)

    def jump_ms(self, forth: int) -> None:
        """Wall time is set, while no time passes."""
        self._now_ms += forth


class TimelessFolder(LocalStorage):
    """A folder that is not asked for the time, for catalogs that live in another one."""

    async def clock_ms(self) -> int | None:
        return None


seeds = itertools.count(1)
"""Of ids: every process that a test opens has its own."""


@asynccontextmanager
async def opened(
    storage: Storage | None = None, *, clock: ManualClock | None = None, limits: TreeLimits | None = None, max_staleness_s: float = 0.0
) -> AsyncIterator[StoredCatalog]:
    """An open catalog over `storage` (memory if None), created if there is none. Each call is a process of its own."""
    store = storage or MemoryStorage()
    watch = clock or ManualClock()
    ids = SeededIds(next(seeds))
    await create_catalog(store, watch, ids, limits=limits)
    catalog = StoredCatalog(store, StorageResolver(), watch, ids, max_staleness_s=max_staleness_s)
    await catalog.versions.open()
    try:
        yield catalog
    finally:
        await catalog.close()


async def make_table(scope: PlaceScope, *name: str, properties: Mapping[str, str] | None = None) -> LoadedMetadata:
    """A table called `name`, with the namespaces above it where they are missing."""
    for depth in range(1, len(name)):
        if not await scope.namespace_exists(name[:depth]):
            await scope.create_namespace(name[:depth], {})
    return await scope.create_table(name, NewTable(SCHEMA, properties=properties))


def setting(*name: str, **properties: str) -> TableCommit:
    """A commit that sets properties of a table."""
    return TableCommit(name, [], [{"action": "set-properties", "updates": properties}])


async def properties_of(scope: PlaceScope, *name: str) -> dict[str, str]:
    """Properties of a table, from its metadata, without the one that every new table gets (as in Iceberg Java)."""
    properties: dict[str, str] = orjson.loads((await scope.load_table(name)).metadata)["properties"]
    return {key: value for key, value in properties.items() if key != "write.parquet.compression-codec"}
