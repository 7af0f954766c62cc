"""What an engine writes beside the catalog: rows, manifests that name them, and the manifest list of a snapshot (format version 2).

A data file holds the names of its rows, one a line, so that what a table holds can be read and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from typing import Any

import fastavro

Json = dict[str, Any]
Read = Callable[[str], bytes]
"""The bytes at a location."""

_EXISTING, _ADDED, _DELETED = 0, 1, 2
_SYNC = bytes(16)
_OWN_LIST = "snap-o"


def _record(name: str, *fields: tuple[str, Any, int]) -> Json:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": avro_type, "field-id": field_id} for field, avro_type, field_id in fields],
    }


_MANIFEST_LIST = fastavro.parse_schema(
    _record(
        "manifest_file",
        ("manifest_path", "string", 500),
        ("manifest_length", "long", 501),
        ("partition_spec_id", "int", 502),
        ("content", "int", 517),
        ("sequence_number", "long", 515),
        ("min_sequence_number", "long", 516),
        ("added_snapshot_id", "long", 503),
        ("added_files_count", "int", 504),
        ("existing_files_count", "int", 505),
        ("deleted_files_count", "int", 506),
        ("added_rows_count", "long", 512),
        ("existing_rows_count", "long", 513),
        ("deleted_rows_count", "long", 514),
    )
)
_MANIFEST = fastavro.parse_schema(
    _record(
        "manifest_entry",
        ("status", "int", 0),
        ("snapshot_id", ["null", "long"], 1),
        ("sequence_number", ["null", "long"], 3),
        ("file_sequence_number", ["null", "long"], 4),
        (
            "data_file",
            _record(
                "r2",
                ("content", "int", 134),
                ("file_path", "string", 100),
                ("file_format", "string", 101),
                ("partition", _record("r102"), 102),
                ("record_count", "long", 103),
                ("file_size_in_bytes", "long", 104),
            ),
            2,
        ),
    )
)


@dataclass(frozen=True)
class RowChange:
    """What a new snapshot does to the rows of a table."""

    operation: str
    added: Mapping[str, bytes] = field(default_factory=dict)
    """Data files by location, with what they hold."""
    removed: Collection[str] = ()
    """Locations of data files."""
    borrowed: Collection[str] = ()
    """Locations of data files that it adds and that are there already, wherever they lie."""


def snapshot_of(read: Read, metadata: Json, name: str, change: RowChange) -> tuple[Json, dict[str, bytes]]:
    """A snapshot on top of main's head in `metadata`, and what it consists of: location to bytes.

    Its summary tells which rows it adds and removes, which the catalog passes on as it is.
    """
    sequence_number, snapshot_id = metadata["last-sequence-number"] + 1, int(name[1:])
    folder = f"{metadata['location']}/metadata"
    files = dict(change.added)
    listed = []
    for number, (manifest, entries) in enumerate(_rewritten(read, metadata, change.removed), start=1):
        if entries is not None:
            manifest = _listed(f"{folder}/{name}-m{number}.avro", entries, snapshot_id, sequence_number, files)
        listed.append(manifest)
    if change.added or change.borrowed:
        entries = [_entry(location) for location in (*change.added, *change.borrowed)]
        listed.insert(0, _listed(f"{folder}/{name}-m0.avro", entries, snapshot_id, sequence_number, files))
    manifest_list = f"{folder}/{_OWN_LIST}{name[1:]}.avro"
    files[manifest_list] = _avro(_MANIFEST_LIST, listed)
    added = [row for location in (*change.added, *change.borrowed) for row in _rows(files.get(location) or read(location))]
    removed = [row for location in sorted(change.removed) for row in _rows(read(location))]
    snapshot: Json = {
        "snapshot-id": snapshot_id,
        "sequence-number": sequence_number,
        "timestamp-ms": metadata["last-updated-ms"] + 1,
        "manifest-list": manifest_list,
        "summary": {"operation": change.operation, "rows-added": " ".join(added), "rows-removed": " ".join(removed)},
        "schema-id": 0,
    }
    head = head_of(metadata)
    if head is not None:
        snapshot["parent-snapshot-id"] = head
    return snapshot, files


def head_of(metadata: Json) -> int | None:
    """Main's snapshot."""
    head: int | None = metadata.get("current-snapshot-id")
    return None if head == -1 else head


def data_file(metadata: Json, name: str) -> str:
    """The location of a table's new data file."""
    return f"{metadata['location']}/data/{name}.parquet"


def live_files(read: Read, metadata: Json) -> list[str]:
    """Locations of the data files that main's head in `metadata` shows, each as often as it does; in a fixed order."""
    manifests = _head_manifests(read, metadata)
    return sorted(entry["data_file"]["file_path"] for listed in manifests for entry in _live(read, listed))


def live_rows(read: Read, metadata: Json) -> tuple[str, ...]:
    """The rows that main's head in `metadata` shows, each as often as it does, sorted."""
    return tuple(sorted(row for location in live_files(read, metadata) for row in _rows(read(location))))


def rows_after(rows: Iterable[str], snapshot: Json) -> tuple[str, ...]:
    """What a snapshot makes of its parent's rows, by its summary, sorted. Raises `ValueError` if it removes one that is not there."""
    left = list(rows)
    summary = snapshot["summary"]
    for row in summary["rows-removed"].split():
        left.remove(row)
    return tuple(sorted([*left, *summary["rows-added"].split()]))


def disorder(read: Read, metadata: Json) -> Iterator[str]:
    """What is wrong with the order of main's snapshots, or with the sequence numbers of the data files that its head shows."""
    snapshots = metadata.get("snapshots", [])
    for before, snapshot in pairwise(snapshots):
        if snapshot.get("parent-snapshot-id") != before["snapshot-id"] or snapshot["sequence-number"] <= before["sequence-number"]:
            yield f"snapshot {snapshot['snapshot-id']} does not follow {before['snapshot-id']}"
    numbers = {snapshot["snapshot-id"]: snapshot["sequence-number"] for snapshot in snapshots}
    for listed in _head_manifests(read, metadata):
        for entry in _live(read, listed):
            added, found = numbers[entry["snapshot_id"]], entry["sequence_number"]
            if found != added:
                yield f"{entry['data_file']['file_path']} has sequence number {found}, snapshot {entry['snapshot_id']} gave it {added}"


def is_engines(path: str) -> bool:
    """Whether an engine gives files such names."""
    return path.endswith((".avro", ".parquet"))


def is_own_list(location: str) -> bool:
    """Whether an engine named a manifest list so, not the catalog."""
    return f"/{_OWN_LIST}" in location


def names_in(path: str, data: bytes) -> list[str]:
    """Locations that a manifest list or a manifest names; none for rows."""
    if not path.endswith(".avro"):
        return []
    rows = _decoded(data)
    if rows and "manifest_path" in rows[0]:
        return [row["manifest_path"] for row in rows]
    return [row["data_file"]["file_path"] for row in rows if row["status"] != _DELETED]


def _rewritten(read: Read, metadata: Json, removed: Collection[str]) -> Iterator[tuple[Json, list[Json] | None]]:
    """The head's manifests; with entries anew for one that names a file to be removed."""
    for listed in _head_manifests(read, metadata):
        entries = _live(read, listed)
        if any(entry["data_file"]["file_path"] in removed for entry in entries):
            states = (_DELETED if entry["data_file"]["file_path"] in removed else _EXISTING for entry in entries)
            yield listed, [{**entry, "status": status} for entry, status in zip(entries, states, strict=True)]
        elif entries:
            yield listed, None


def _head_manifests(read: Read, metadata: Json) -> list[Json]:
    head = head_of(metadata)
    if head is None:
        return []
    snapshot = next(snapshot for snapshot in metadata["snapshots"] if snapshot["snapshot-id"] == head)
    return _decoded(read(snapshot["manifest-list"]))


def _live(read: Read, listed: Json) -> list[Json]:
    """A manifest's live entries, with what they inherit (Iceberg spec, "Sequence Number Inheritance")."""
    inherited = {
        "snapshot_id": listed["added_snapshot_id"],
        "sequence_number": listed["sequence_number"],
        "file_sequence_number": listed["sequence_number"],
    }
    entries = (entry for entry in _decoded(read(listed["manifest_path"])) if entry["status"] != _DELETED)
    return [{**entry, **{name: value for name, value in inherited.items() if entry[name] is None}} for entry in entries]


def _listed(location: str, entries: list[Json], snapshot_id: int, sequence_number: int, files: dict[str, bytes]) -> Json:
    """A manifest as lists name it; it is added to `files`."""
    entries = [{**entry, "snapshot_id": snapshot_id} if entry["status"] == _DELETED else entry for entry in entries]
    files[location] = data = _avro(_MANIFEST, entries)
    counts = [sum(entry["status"] == status for entry in entries) for status in (_ADDED, _EXISTING, _DELETED)]
    kept = [entry["sequence_number"] for entry in entries if entry["status"] == _EXISTING]
    return {
        "manifest_path": location,
        "manifest_length": len(data),
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": sequence_number,
        "min_sequence_number": min([sequence_number, *kept]),
        "added_snapshot_id": snapshot_id,
        **{f"{what}_files_count": count for what, count in zip(("added", "existing", "deleted"), counts, strict=True)},
        **{f"{what}_rows_count": count for what, count in zip(("added", "existing", "deleted"), counts, strict=True)},
    }


def _entry(location: str) -> Json:
    file = {"content": 0, "file_path": location, "file_format": "PARQUET", "partition": {}, "record_count": 1, "file_size_in_bytes": 1}
    return {"status": _ADDED, "snapshot_id": None, "sequence_number": None, "file_sequence_number": None, "data_file": file}


def _rows(data: bytes) -> list[str]:
    return data.decode().splitlines()


def _decoded(data: bytes) -> list[Json]:
    rows: list[Any] = list(fastavro.reader(BytesIO(data)))
    return rows


def _avro(schema: Any, rows: list[Json]) -> bytes:
    buffer = BytesIO()
    fastavro.writer(buffer, schema, rows, sync_marker=_SYNC)
    return buffer.getvalue()
