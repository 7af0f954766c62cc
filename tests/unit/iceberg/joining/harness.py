"""A table with a few files in two partitions, two changes of it, and what comes of joining them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining import Joined, ManifestReader, TableJoiner
from catalog_format.iceberg.metadata import TableMetadataBuilder, metadata_conflict, needs_joining, new_table_metadata
from catalog_format.iceberg.metadata.table_fields import current_schema_id_of, refs_of
from catalog_format.ids import SeededIds
from catalog_format.storage import MemoryStorage
from catalog_format.storage.counting import CountingStorage
from tests.support.snapshot_writer import ROOT, File, Live, SnapshotWriter, live_files
from tests.unit.iceberg.examples import NOW, order, schema, set_ref, spec

Json = dict[str, Any]
Operation = Callable[[SnapshotWriter], Awaitable[list[Json]]]
LATER = NOW + 60_000


class Table:
    """A base state with its files. Changes are made on it by writers of their own, and joined."""

    def __init__(self, version: int, storage: MemoryStorage, base: Json) -> None:
        self.version = version
        self.memory = storage
        self.store = CountingStorage(storage)
        self.base = base
        self.reader = ManifestReader(lambda location: (self.store, location.removeprefix(ROOT)))
        self.joiner = TableJoiner(self.reader, SeededIds(1))

    def fresh_joiner(self) -> TableJoiner:
        """One that remembers nothing."""
        self.reader = ManifestReader(lambda location: (self.store, location.removeprefix(ROOT)))
        self.joiner = TableJoiner(self.reader, SeededIds(2))
        return self.joiner

    def writer(self, first_id: int, base: Json | None = None) -> SnapshotWriter:
        return SnapshotWriter(self.memory, self.base if base is None else base, first_id)

    def apply(self, metadata: Json, updates: Sequence[Json], now: int = LATER) -> Json:
        return TableMetadataBuilder(metadata).apply_all(updates).build(max(now, metadata["last-updated-ms"]))

    async def several(self, writer: SnapshotWriter, *operations: Operation) -> list[Json]:
        """The updates of operations that one client does one after the other."""
        found = []
        for operation in operations:
            updates = await operation(writer)
            writer.metadata = self.apply(writer.metadata, updates)
            found += updates
        return found

    async def ask(self, winner: Json, updates: Sequence[Json], *, appends_only: bool = False) -> Joined:
        """The join as the catalog asks for it."""
        refs = refs_of(self.base)
        names = {update["ref-name"] for update in updates if update["action"] == "set-snapshot-ref"}
        heads = {name: refs[name]["snapshot-id"] if name in refs else None for name in names}
        schema_id = current_schema_id_of(self.base)
        return await self.joiner.join(winner, heads, updates, schema_id=schema_id, appends_only=appends_only)

    async def join(self, winner: Json, updates: Sequence[Json]) -> Json:
        """The metadata with the updates on top of `winner`, as the catalog does it. Raises `ConflictError`."""
        reason = metadata_conflict(self.base, winner, updates)
        if reason is not None:
            raise ConflictError(reason)
        if needs_joining(self.base, winner, updates):
            joined = await self.ask(winner, updates)
            for file in joined.files:
                place = file.location.removeprefix(ROOT)
                assert await self.memory.put_if_absent(place, file.data) or await self.memory.get(place) == file.data
            updates = joined.updates
        return self.apply(winner, updates)

    async def live(self, metadata: Json, branch: str | int = "main") -> dict[tuple[str, int | None], Live]:
        return await live_files(self.memory, metadata, branch)

    async def paths(self, metadata: Json, branch: str | int = "main") -> set[str]:
        """The files of a branch, by their short names."""
        return {short(path) for path, _ in await self.live(metadata, branch)}


def path(name: str) -> str:
    return f"{ROOT}data/{name}.parquet"


def short(location: str) -> str:
    return location.removeprefix(f"{ROOT}data/").removesuffix(".parquet")


def data(name: str, partition: int | None = 1, **members: Any) -> File:
    return File(path(name), partition, **members)


def head(metadata: Json, branch: str = "main") -> Json:
    """The snapshot that a branch leads to."""
    snapshot_id = metadata["refs"][branch]["snapshot-id"]
    found: Json = next(one for one in metadata["snapshots"] if one["snapshot-id"] == snapshot_id)
    return found


def empty(version: int, **properties: str) -> Json:
    """A table without snapshots, partitioned by one field."""
    return new_table_metadata(schema(), spec((3, "day", "p")), order(), ROOT.rstrip("/"), properties, version, SeededIds(1), NOW)


async def table(version: int = 2, **properties: str) -> Table:
    """Files a1, a2 in partition 1, b1, b2 in partition 2 and c in partition 3, of three appends; branch dev leads to the last."""
    storage = MemoryStorage()
    made = Table(version, storage, empty(version, **properties))
    writer = made.writer(1)
    for files in ((data("a1"), data("b1", 2)), (data("a2"), data("b2", 2)), (data("c", 3),)):
        made.base = writer.metadata = made.apply(writer.metadata, await writer.write("append", files, at=NOW), NOW)
    made.base = made.apply(made.base, [set_ref("dev", 3)], NOW)
    return made
