"""A client's side of a table's snapshots in miniature: it writes manifests and manifest lists as the Iceberg spec has them.

Written apart from `catalog_format.iceberg.joining`, and read back by `live_files` apart from it too, so that neither proves itself.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import Any

import fastavro

from catalog_format.storage import MemoryStorage

Json = dict[str, Any]

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
ROOT = "memory://table/"
PATH_COLUMN = 2147483546


@dataclass(frozen=True)
class File:
    """A data or delete file to add. `partition` is the value of the one partition field; None for a spec without fields."""

    path: str
    partition: int | None = None
    content: int = DATA
    rows: int = 10
    referenced: str | None = None
    offset: int | None = None
    bounds: tuple[str, str] | None = None
    sequence_number: int | None = None
    spec_id: int = 0

    @property
    def id(self) -> tuple[str, int | None]:
        return self.path, self.offset


@dataclass(frozen=True)
class Live:
    """A file that a snapshot shows, with all that it inherits."""

    file: File
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    first_row_id: int | None


class SnapshotWriter:
    """Makes snapshots on a state of a table. Files go into `storage`; nobody is told of them."""

    def __init__(self, storage: MemoryStorage, metadata: Json, first_id: int) -> None:
        """Snapshot ids count up from `first_id`."""
        self.storage = storage
        self.metadata = metadata
        self.version: int = metadata["format-version"]
        self._ids = count(first_id)

    async def write(
        self,
        operation: str,
        added: Sequence[File] = (),
        removed: Iterable[str | tuple[str, int | None]] = (),
        *,
        branch: str | None = "main",
        merge: bool = False,
        rewrite_manifests: bool = False,
        at: int = 1_700_000_050_000,
        silent: bool = False,
        **summary: str,
    ) -> list[Json]:
        """The updates for one snapshot that adds and removes these files.

        `merge` puts kept data files into the manifest of the new ones; `rewrite_manifests` puts them into a new one;
        `branch` None stages; `silent` leaves manifests out without saying which files go with them.
        """
        metadata = self.metadata
        snapshot_id = next(self._ids)
        head = metadata.get("refs", {}).get(branch or "main", {}).get("snapshot-id")
        parent = next((one for one in metadata["snapshots"] if one["snapshot-id"] == head), None)
        before = [] if parent is None else await read_list(self.storage, parent["manifest-list"])
        gone = {(one, None) if isinstance(one, str) else one for one in removed}
        sequence = metadata.get("last-sequence-number", 0) + 1 if self.version > 1 else 0
        first_row_id = metadata.get("next-row-id", 0)
        target = _Target(snapshot_id, sequence, self.version, self.storage)
        manifests, removed_files, merged = [], [], []
        for listed in before:
            live = await read_manifest(self.storage, listed)
            taken = [one for one in live if one.file.id in gone]
            removed_files += taken
            if silent and taken:
                continue
            if (merge or rewrite_manifests) and listed.get("content", 0) == DATA:
                merged += [(DELETED if one in taken else EXISTING, one) for one in live]
            elif taken:
                manifests.append(await target.manifest([(DELETED if one in taken else EXISTING, one) for one in live]))
            elif live:
                manifests.append(listed)
        new = [(ADDED, Live(file, snapshot_id, 0, 0, None)) for file in added]
        own = await target.manifests([*new, *merged] if merge else new)
        own += await target.manifests(merged) if rewrite_manifests else []
        assert len(removed_files) == len(gone), "removed files must be there"
        rows = [*own, *manifests]
        next_row_id = first_row_id
        for listed in rows:
            if self.version > 2 and listed.get("content", 0) == DATA and listed.get("first_row_id") is None:
                listed["first_row_id"] = next_row_id
                next_row_id += listed["added_rows_count"] + listed["existing_rows_count"]
        location = f"{ROOT}metadata/snap-{snapshot_id}.avro"
        header = {"snapshot-id": str(snapshot_id), "format-version": str(self.version)}
        await write(self.storage, location, _list_schema(self.version), rows, header)
        snapshot: Json = {
            "snapshot-id": snapshot_id,
            "timestamp-ms": at,
            "manifest-list": location,
            "schema-id": metadata["current-schema-id"],
            "summary": _summary(operation, added, removed_files, parent) | {key.replace("_", "-"): value for key, value in summary.items()},
        }
        if parent is not None:
            snapshot["parent-snapshot-id"] = parent["snapshot-id"]
        if self.version > 1:
            snapshot["sequence-number"] = sequence
        if self.version > 2:
            snapshot |= {"first-row-id": first_row_id, "added-rows": next_row_id - first_row_id}
        updates: list[Json] = [{"action": "add-snapshot", "snapshot": snapshot}]
        if branch is not None:
            updates.append({"action": "set-snapshot-ref", "ref-name": branch, "snapshot-id": snapshot_id, "type": "branch"})
        return updates


async def live_files(storage: MemoryStorage, metadata: Json, branch: str | int = "main") -> dict[tuple[str, int | None], Live]:
    """The files of a branch's head (or of a snapshot, by id), after checking all that the spec asks of its manifests."""
    if isinstance(branch, str) and branch not in metadata["refs"]:
        return {}
    snapshot_id = metadata["refs"][branch]["snapshot-id"] if isinstance(branch, str) else branch
    snapshot = next(one for one in metadata["snapshots"] if one["snapshot-id"] == snapshot_id)
    found: dict[tuple[str, int | None], Live] = {}
    version = metadata["format-version"]
    for listed in await read_list(storage, snapshot["manifest-list"]):
        assert len(storage_bytes(storage, listed["manifest_path"])) == listed["manifest_length"]
        entries = await read_manifest(storage, listed, with_deleted=True)
        for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
            of_status = [one for is_status, one in entries if is_status == status]
            assert len(of_status) == listed[f"{name}_files_count"], (name, listed)
            assert sum(one.file.rows for one in of_status) == listed[f"{name}_rows_count"]
        live = [one for status, one in entries if status != DELETED]
        if version > 1 and live:
            assert min(one.sequence_number for one in live) == listed.get("min_sequence_number", 0)
            assert listed.get("sequence_number", 0) <= snapshot.get("sequence-number", 0)
            assert max(one.sequence_number for one in live) <= listed.get("sequence_number", 0)
        for one in live:
            assert one.file.id not in found, f"{one.file.id} is live twice"
            found[one.file.id] = one
    if version > 2 and "first-row-id" in snapshot:
        ranges = sorted((one.first_row_id or 0, one.file.rows) for one in found.values() if one.file.content == DATA)
        assert all(one.first_row_id is not None for one in found.values() if one.file.content == DATA)
        assert all(start + rows <= following for (start, rows), (following, _) in pairwise(ranges)), ranges
        assert not ranges or ranges[-1][0] + ranges[-1][1] <= metadata["next-row-id"]
    return found


def storage_bytes(storage: MemoryStorage, location: str) -> bytes:
    return storage._files[location.removeprefix(ROOT)]


async def read_list(storage: MemoryStorage, location: str) -> list[Json]:
    return _read(storage_bytes(storage, location))


async def read_manifest(storage: MemoryStorage, listed: Mapping[str, Any], *, with_deleted: bool = False) -> list[Any]:
    """Live files; with their status and the deleted ones, if asked."""
    found = []
    next_row_id = listed.get("first_row_id")
    for row in _read(storage_bytes(storage, listed["manifest_path"])):
        status, raw = row["status"], row["data_file"]
        sequence, of_file = row.get("sequence_number"), row.get("file_sequence_number")
        if status != ADDED and listed.get("sequence_number", 0) > 0:
            assert sequence is not None and of_file is not None, "files that were not added here must say their numbers"
        manifest_number = listed.get("sequence_number", 0)
        first_row_id = raw.get("first_row_id") if listed.get("first_row_id") is not None else None
        if status != DELETED and first_row_id is None and next_row_id is not None:
            first_row_id, next_row_id = next_row_id, next_row_id + raw["record_count"]
        bounds = None
        if raw.get("lower_bounds"):
            bounds = (raw["lower_bounds"][0]["value"].decode(), raw["upper_bounds"][0]["value"].decode())
        partition = raw["partition"].get("p")
        file = File(
            raw["file_path"],
            partition,
            raw.get("content", 0),
            raw["record_count"],
            raw.get("referenced_data_file"),
            raw.get("content_offset"),
            bounds,
            None,
            listed["partition_spec_id"],
        )
        one = Live(
            file,
            row["snapshot_id"] if row["snapshot_id"] is not None else listed["added_snapshot_id"],
            manifest_number if sequence is None else sequence,
            manifest_number if of_file is None else of_file,
            first_row_id,
        )
        if with_deleted:
            found.append((status, one))
        elif status != DELETED:
            found.append(one)
    return found


async def write(storage: MemoryStorage, location: str, schema: Json, rows: Sequence[Json], header: Mapping[str, str]) -> int:
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec="deflate", metadata=dict(header))
    storage._files[location.removeprefix(ROOT)] = out.getvalue()
    return len(out.getvalue())


def _read(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


@dataclass
class _Target:
    snapshot_id: int
    sequence: int
    version: int
    storage: MemoryStorage
    _numbers: Any = field(default_factory=count)

    async def manifests(self, entries: Sequence[tuple[int, Live]]) -> list[Json]:
        """One for each spec and kind of content."""
        kinds = sorted({(one.file.spec_id, one.file.content != DATA) for _, one in entries})
        return [
            await self.manifest([(status, one) for status, one in entries if (one.file.spec_id, one.file.content != DATA) == kind])
            for kind in kinds
        ]

    async def manifest(self, entries: Sequence[tuple[int, Live]]) -> Json:
        first = entries[0][1].file
        location = f"{ROOT}metadata/{self.snapshot_id}-m{next(self._numbers)}.avro"
        schema = _entry_schema(self.version, first.partition is not None)
        header = {"format-version": str(self.version), "partition-spec-id": str(first.spec_id), "schema": "{}", "partition-spec": "[]"}
        if self.version > 1:
            header["content"] = "deletes" if first.content != DATA else "data"
        length = await write(self.storage, location, schema, [self._row(status, one) for status, one in entries], header)
        row: Json = {"manifest_path": location, "manifest_length": length, "partition_spec_id": first.spec_id}
        row |= {"added_snapshot_id": self.snapshot_id, "partitions": []}
        for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
            files = [one.file for is_status, one in entries if is_status == status]
            row |= {f"{name}_files_count": len(files), f"{name}_rows_count": sum(file.rows for file in files)}
        if self.version > 1:
            said = [one.sequence_number if status == EXISTING else one.file.sequence_number for status, one in entries if status != DELETED]
            known = [number for number in said if number is not None]
            row |= {"content": int(first.content != DATA), "sequence_number": self.sequence}
            row["min_sequence_number"] = min([self.sequence, *known])
        return row

    def _row(self, status: int, one: Live) -> Json:
        file = one.file
        data_file: Json = {
            "content": file.content,
            "file_path": file.path,
            "file_format": "PUFFIN" if file.offset is not None else "PARQUET",
            "partition": {} if file.partition is None else {"p": file.partition},
            "record_count": file.rows,
            "file_size_in_bytes": 100,
            "block_size_in_bytes": 1,
            "lower_bounds": None if file.bounds is None else [{"key": PATH_COLUMN, "value": file.bounds[0].encode()}],
            "upper_bounds": None if file.bounds is None else [{"key": PATH_COLUMN, "value": file.bounds[1].encode()}],
            "not_of_the_spec": f"kept for {file.path}",
            "first_row_id": one.first_row_id if status != ADDED else None,
            "referenced_data_file": file.referenced,
            "content_offset": file.offset,
        }
        row: Json = {"status": status, "snapshot_id": self.snapshot_id if status != EXISTING else one.snapshot_id, "data_file": data_file}
        if status == ADDED:
            return row | {"sequence_number": file.sequence_number, "file_sequence_number": None}
        return row | {"sequence_number": one.sequence_number, "file_sequence_number": one.file_sequence_number}


def _summary(operation: str, added: Sequence[File], removed: Sequence[Live], parent: Json | None) -> dict[str, str]:
    gone = [one.file for one in removed]
    found = {"operation": operation}
    counts = {
        "added-data-files": sum(file.content == DATA for file in added),
        "deleted-data-files": sum(file.content == DATA for file in gone),
        "added-records": sum(file.rows for file in added if file.content == DATA),
        "deleted-records": sum(file.rows for file in gone if file.content == DATA),
        "added-delete-files": sum(file.content != DATA for file in added),
        "removed-delete-files": sum(file.content != DATA for file in gone),
    }
    found |= {key: str(value) for key, value in counts.items() if value}
    above = {} if parent is None else parent["summary"]
    for total, plus, minus in (
        ("total-data-files", "added-data-files", "deleted-data-files"),
        ("total-records", "added-records", "deleted-records"),
        ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ):
        found[total] = str(int(above.get(total, "0")) + counts[plus] - counts[minus])
    return found


def _optional(name: str, kind: Any, field_id: int) -> Json:
    return {"name": name, "type": ["null", kind], "default": None, "field-id": field_id}


def _required(name: str, kind: Any, field_id: int) -> Json:
    return {"name": name, "type": kind, "field-id": field_id}


def _bounds(name: str, field_id: int, key_id: int, value_id: int) -> Json:
    pair = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_required("key", "int", key_id), _required("value", "bytes", value_id)],
    }
    return _optional(name, {"type": "array", "items": pair, "logicalType": "map"}, field_id)


def _entry_schema(version: int, partitioned: bool) -> Json:
    date = {"type": "int", "logicalType": "date"}
    partition = {"type": "record", "name": "r102", "fields": [_optional("p", date, 1000)] if partitioned else []}
    fields = [_required("content", "int", 134)] if version > 1 else []
    fields += [
        _required("file_path", "string", 100),
        _required("file_format", "string", 101),
        _required("partition", partition, 102),
        _required("record_count", "long", 103),
        _required("file_size_in_bytes", "long", 104),
        _bounds("lower_bounds", 125, 126, 127),
        _bounds("upper_bounds", 128, 129, 130),
        _optional("not_of_the_spec", "string", 9999),
    ]
    if version == 1:
        fields.append(_required("block_size_in_bytes", "long", 105))
    if version > 1:
        fields.append(_optional("referenced_data_file", "string", 143))
    if version > 2:
        fields += [_optional("first_row_id", "long", 142), _optional("content_offset", "long", 144)]
    entry = [_required("status", "int", 0), _required("snapshot_id", "long", 1) if version == 1 else _optional("snapshot_id", "long", 1)]
    if version > 1:
        entry += [_optional("sequence_number", "long", 3), _optional("file_sequence_number", "long", 4)]
    entry.append(_required("data_file", {"type": "record", "name": "r2", "fields": fields}, 2))
    return {"type": "record", "name": "manifest_entry", "fields": entry}


def _list_schema(version: int) -> Json:
    counted = _required if version > 1 else _optional
    fields = [_required("manifest_path", "string", 500), _required("manifest_length", "long", 501)]
    fields.append(_required("partition_spec_id", "int", 502))
    if version > 1:
        fields += [_required("content", "int", 517), _required("sequence_number", "long", 515)]
        fields.append(_required("min_sequence_number", "long", 516))
    fields.append(_required("added_snapshot_id", "long", 503))
    fields += [counted(f"{name}_files_count", "int", 504 + at) for at, name in enumerate(("added", "existing", "deleted"))]
    fields += [counted(f"{name}_rows_count", "long", 512 + at) for at, name in enumerate(("added", "existing", "deleted"))]
    fields.append(_optional("partitions", {"type": "array", "items": "string", "element-id": 508}, 507))
    if version > 2:
        fields.append(_optional("first_row_id", "long", 520))
    return {"type": "record", "name": "manifest_file", "fields": fields}


def vector(path: str, of: str, offset: int, partition: int | None = None) -> File:
    """A deletion vector for a data file."""
    return File(path, partition, POSITION_DELETES, 1, of, offset)


def position_deletes(path: str, partition: int | None, of: str | None = None, bounds: tuple[str, str] | None = None) -> File:
    return File(path, partition, POSITION_DELETES, 1, of, None, bounds)


def equality_deletes(path: str, partition: int | None, spec_id: int = 0) -> File:
    return replace(File(path, partition, EQUALITY_DELETES, 1), spec_id=spec_id)
