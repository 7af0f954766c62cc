"""Metadata and updates that the tests of this folder start from."""

from __future__ import annotations

from typing import Any

from catalog_format.iceberg.metadata import TableMetadataBuilder, new_table_metadata
from catalog_format.ids import SeededIds

Json = dict[str, Any]

NOW = 1_700_000_000_000
LATER = NOW + 1_000
BASE_FILE = "s3://b/t/metadata/00000-a.metadata.json"

ID = {"id": 1, "name": "id", "required": True, "type": "long"}
NAME = {"id": 2, "name": "name", "required": False, "type": "string"}
DAY = {"id": 3, "name": "at", "required": False, "type": "timestamptz"}


def schema(*fields: Json, **members: Any) -> Json:
    return {"type": "struct", "schema-id": 0, "fields": list(fields or (ID, NAME, DAY))} | members


def field(field_id: int, name: str, field_type: Any = "string", required: bool = False, **members: Any) -> Json:
    return {"id": field_id, "name": name, "required": required, "type": field_type} | members


def spec(*fields: tuple[int, str, str], spec_id: int = 0, first_id: int = 1000) -> Json:
    """Fields are (source id, transform, name)."""
    return {
        "spec-id": spec_id,
        "fields": [
            {"source-id": source, "field-id": first_id + index, "transform": transform, "name": name}
            for index, (source, transform, name) in enumerate(fields)
        ],
    }


def order(*fields: tuple[int, str], order_id: int = 1) -> Json:
    """Fields are (source id, transform)."""
    return {
        "order-id": order_id if fields else 0,
        "fields": [
            {"source-id": source, "transform": transform, "direction": "asc", "null-order": "nulls-first"} for source, transform in fields
        ],
    }


def table(version: int = 2, **members: Any) -> Json:
    """A table without snapshots: columns id, name, at; partitioned by day(at); unsorted."""
    metadata = new_table_metadata(schema(), spec((3, "day", "at_day")), None, "s3://b/t", {"owner": "me"}, version, SeededIds(1), NOW)
    return metadata | members


def snapshot(snapshot_id: int, sequence: int | None = None, parent: int | None = None, at: int = LATER, **members: Any) -> Json:
    found: Json = {
        "snapshot-id": snapshot_id,
        "timestamp-ms": at,
        "summary": {"operation": "append"},
        "manifest-list": f"s3://b/t/metadata/snap-{snapshot_id}.avro",
        "schema-id": 0,
    }
    if sequence is not None:
        found["sequence-number"] = sequence
    if parent is not None:
        found["parent-snapshot-id"] = parent
    return found | members


def add_snapshot(*arguments: Any, **members: Any) -> Json:
    return {"action": "add-snapshot", "snapshot": snapshot(*arguments, **members)}


def set_ref(name: str, snapshot_id: int, kind: str = "branch", **members: Any) -> Json:
    return {"action": "set-snapshot-ref", "ref-name": name, "snapshot-id": snapshot_id, "type": kind} | members


def append(snapshot_id: int, sequence: int, parent: int | None = None, at: int = LATER) -> list[Json]:
    """What a client sends for an append to main."""
    return [add_snapshot(snapshot_id, sequence, parent, at), set_ref("main", snapshot_id)]


def apply(base: Json | None, *updates: Json, now: int = LATER, previous: str | None = BASE_FILE) -> Json:
    return TableMetadataBuilder(base).apply_all(updates).build(now, previous)


def table_with_snapshots(count: int, version: int = 2) -> Json:
    """Snapshots 1 to `count` on main, a second apart; the table was last updated with the last of them."""
    base = table(version)
    builder = TableMetadataBuilder(base)
    log = []
    for number in range(1, count + 1):
        sequence = number if version > 1 else None
        lineage = {"first-row-id": number - 1, "added-rows": 1} if version > 2 else {}
        builder.apply(add_snapshot(number, sequence, number - 1 or None, NOW + number, **lineage))
        log.append({"timestamp-ms": NOW + number, "snapshot-id": number})
    builder.apply(set_ref("main", count))
    return builder.build(NOW + count) | {"snapshot-log": log}
