"""Tables that PyIceberg writes, in a catalog of this process: no server between, so that a test owns clock and store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadataUtil

from catalog_format.catalog import StoredCatalog, create_catalog
from catalog_format.ids import SeededIds
from catalog_format.scope import NewTable, TableCommit
from catalog_format.storage import Storage, StorageResolver
from tests.support.catalogs import ManualClock, TimelessFolder, seeds

T = TypeVar("T")
LAKE_FOLDER = "lake"
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "type": "long", "required": False}],
}


class TestLake(NoopCatalog):
    """A catalog as PyIceberg's tables see it. `run` carries out what is asynchronous, on a loop of its own."""

    __test__ = False

    def __init__(self, storage: Storage, clock: ManualClock) -> None:
        super().__init__("lake")
        self._runner = asyncio.Runner()
        self.clock = clock
        self.catalog: StoredCatalog = self.run(_opened(storage, clock))
        self.parts = self.catalog.parts

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._runner.run(awaited())

    def create(self, name: str, *appends: Sequence[int], location: str | None = None, **properties: str) -> Table:
        """A table ns.`name` with one snapshot for each sequence of ids."""
        main = self.catalog.main
        if not self.run(main.namespace_exists(("ns",))):
            self.run(main.create_namespace(("ns",), {}))
        wanted = {key.replace("_", "."): value for key, value in properties.items()}
        self.run(main.create_table(("ns", name), NewTable(SCHEMA, location=location, properties=wanted)))
        table = self.load(name)
        for ids in appends:
            table.append(rows(*ids))
        return table

    def load(self, name: str) -> Table:
        return self.load_table(("ns", name))

    def load_table(self, identifier: Any) -> Table:
        loaded = self.run(self.catalog.main.load_table(identifier))
        metadata = TableMetadataUtil.parse_raw(loaded.metadata.decode())
        return Table(identifier, metadata, loaded.metadata_location, load_file_io({}, metadata.location), self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        commit = TableCommit(table.name(), [plain(one) for one in requirements], [plain(one) for one in updates])
        [done] = self.run(self.catalog.main.commit_tables([commit]))
        metadata = TableMetadataUtil.parse_raw(done.metadata.decode())
        return CommitTableResponse(metadata=metadata, metadata_location=done.metadata_location)

    def close(self) -> None:
        self.run(self.catalog.close())
        self._runner.close()


@contextmanager
def opened_lake(folder: Path, clock: ManualClock, wrap: Callable[[Storage], Storage] = lambda store: store) -> Iterator[TestLake]:
    """The catalog in `folder`/lake as one more process sees it."""
    lake = TestLake(wrap(TimelessFolder(folder / LAKE_FOLDER)), clock)
    try:
        yield lake
    finally:
        lake.close()


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids_in(table: Table) -> list[int]:
    """What a scan finds, sorted."""
    return sorted(table.scan().to_arrow().column("id").to_pylist())


def files_of(table: Table) -> set[Path]:
    """Every file of the table, as PyIceberg's own metadata tables list them."""
    found = set(table.inspect.all_files().column("file_path").to_pylist())
    found |= set(table.inspect.all_manifests().column("path").to_pylist())
    found |= {snapshot.manifest_list for snapshot in table.metadata.snapshots}
    found |= {entry.metadata_file for entry in table.metadata.metadata_log}
    found |= {statistics.statistics_path for statistics in table.metadata.statistics}
    found |= {statistics.statistics_path for statistics in table.metadata.partition_statistics}
    return {as_path(location) for location in (*found, table.metadata_location)}


def as_path(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def all_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


async def _opened(storage: Storage, clock: ManualClock) -> StoredCatalog:
    ids = SeededIds(next(seeds))
    await create_catalog(storage, clock, ids)
    catalog = StoredCatalog(storage, StorageResolver(), clock, ids)
    await catalog.versions.open()
    return catalog


def plain(model: Any) -> Any:
    """A requirement or an update of PyIceberg's as JSON."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
