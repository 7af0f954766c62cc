"""A catalog in this process, as PyIceberg's tables see it: every request to its store is counted, and no server's time is mixed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadataUtil

from catalog_format.catalog import PlaceScope, StoredCatalog, create_catalog
from catalog_format.clock import SystemClock
from catalog_format.ids import SystemIds
from catalog_format.scope import TableCommit
from catalog_format.storage import CountingStorage, LocalStorage, StorageResolver

T = TypeVar("T")


class EmbeddedCatalog:
    """A process's view of the catalog in a folder, with caches of its own."""

    def __init__(self, runner: asyncio.Runner, folder: Path) -> None:
        self._runner = runner
        self.store = CountingStorage(LocalStorage(folder))
        self._catalog = StoredCatalog(self.store, StorageResolver(), SystemClock(), SystemIds())

    def open(self) -> None:
        self.run(create_catalog(self.store, SystemClock(), SystemIds()))
        self.run(self._catalog.versions.open())

    @property
    def main(self) -> Client:
        return Client(self, self._catalog.main)

    def begin(self, transaction_id: str) -> Client:
        self.run(self._catalog.transactions.begin(transaction_id))
        return Client(self, self.run(self._catalog.within(transaction_id)))

    def commit(self, transaction_id: str) -> None:
        """Raises `TransactionRefusedError`."""
        self.run(self._catalog.transactions.commit(transaction_id))

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._runner.run(awaited())

    def close(self) -> None:
        self.run(self._catalog.close())


class Client(NoopCatalog):
    """PyIceberg's catalog: the latest state, or what a transaction sees."""

    def __init__(self, catalog: EmbeddedCatalog, scope: PlaceScope) -> None:
        super().__init__("embedded")
        self._owner = catalog
        self.scope = scope

    def load_table(self, identifier: Any) -> Table:
        loaded = self._owner.run(self.scope.load_table(identifier))
        metadata = TableMetadataUtil.parse_raw(loaded.metadata.decode())
        return Table(identifier, metadata, loaded.metadata_location, load_file_io({}, metadata.location), self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        return self.commit(table.name(), [_plain(one) for one in requirements], [_plain(one) for one in updates])

    def commit(self, name: Any, requirements: list[Any], updates: list[Any]) -> CommitTableResponse:
        """A commit as it goes over the wire."""
        [done] = self._owner.run(self.scope.commit_tables([TableCommit(name, requirements, updates)]))
        return CommitTableResponse(metadata=TableMetadataUtil.parse_raw(done.metadata.decode()), metadata_location=done.metadata_location)


@contextmanager
def embedded(runner: asyncio.Runner, folder: Path) -> Iterator[EmbeddedCatalog]:
    """The catalog in a folder, created if it is not there, as one more process sees it."""
    catalog = EmbeddedCatalog(runner, folder)
    catalog.open()
    try:
        yield catalog
    finally:
        catalog.close()


def _plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
