"""What an engine writes beside the catalog: rows, a manifest that names them, and the manifest list of a snapshot (format version 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import fastavro

_ADDED, _DELETED = 1, 2
_SYNC = bytes(16)


def _record(name: str, *fields: tuple[str, Any, int]) -> dict[str, Any]:
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


def manifest_list_of(folder: str, name: str) -> str:
    return f"{folder}/metadata/snap-{name}.avro"


def rows_of(snapshot: Mapping[str, Any]) -> str:
    """The data file that a snapshot added. By its id: joined with others' snapshots it has a manifest list that Treeline named."""
    folder = snapshot["manifest-list"].rpartition("/metadata/snap-")[0]
    return f"{folder}/data/o{snapshot['snapshot-id']}.parquet"


def files_of_snapshot(folder: str, name: str, snapshot_id: int, sequence_number: int, others: Sequence[str] = ()) -> Mapping[str, bytes]:
    """Location to bytes of what a snapshot that adds rows consists of: manifest list, manifest and rows, all below `folder`.

    `others` are data files that the manifest names as well, wherever they lie.
    """
    rows, manifest = f"{folder}/data/{name}.parquet", f"{folder}/metadata/{name}-m0.avro"
    manifest_list = manifest_list_of(folder, name)
    entries = _avro(_MANIFEST, [_entry(snapshot_id, location) for location in (rows, *others)])
    listed = {
        "manifest_path": manifest,
        "manifest_length": len(entries),
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": sequence_number,
        "min_sequence_number": sequence_number,
        "added_snapshot_id": snapshot_id,
        "added_files_count": 1 + len(others),
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": 1 + len(others),
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
    }
    return {manifest_list: _avro(_MANIFEST_LIST, [listed]), manifest: entries, rows: name.encode()}


def is_engines(path: str) -> bool:
    """Whether an engine gives files such names."""
    return path.endswith((".avro", ".parquet"))


def names_in(path: str, data: bytes) -> list[str]:
    """Locations that a manifest list or a manifest names; none for rows."""
    if not path.endswith(".avro"):
        return []
    rows: list[Any] = list(fastavro.reader(BytesIO(data)))
    if rows and "manifest_path" in rows[0]:
        return [row["manifest_path"] for row in rows]
    return [row["data_file"]["file_path"] for row in rows if row["status"] != _DELETED]


def _entry(snapshot_id: int, location: str) -> dict[str, Any]:
    file = {"content": 0, "file_path": location, "file_format": "PARQUET", "partition": {}, "record_count": 1, "file_size_in_bytes": 1}
    return {"status": _ADDED, "snapshot_id": snapshot_id, "sequence_number": None, "file_sequence_number": None, "data_file": file}


def _avro(schema: Any, rows: list[dict[str, Any]]) -> bytes:
    buffer = BytesIO()
    fastavro.writer(buffer, schema, rows, sync_marker=_SYNC)
    return buffer.getvalue()
