"""Metadata of tables that Java accepts, in all format versions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.integration.differential.outcome import Json
from tests.integration.differential.strategies.schemas import CORE, rarely, schemas

NOW = 1_700_000_000_000
UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
BASE_FILE = "s3://b/t/metadata/00007-a.metadata.json"
PROPERTIES: dict[str, list[str]] = {
    "owner": ["me", ""],
    "write.metadata.previous-versions-max": ["1", "3", "0", "100", "x", " 5", "+2", "1_0", "2147483648", "٣"],
    "write.metadata.path": ["s3://b/elsewhere"],
    "write.metadata.compression-codec": ["gzip", "none", "zip"],
    "write.metadata.delete-after-commit.enabled": ["true"],
    "write.metadata.metrics.column.id": ["full"],
    "write.metadata.metrics.column.gone": ["counts"],
    "commit.retry.num-retries": ["4", "-1", "x"],
    "encryption.key-id": ["k"],
    "format-version": ["3", "2"],
    "gc.enabled": ["false"],
    "❄": ["❄"],
}
_FIELDS = [(1, "identity"), (1, "bucket[16]"), (2, "truncate[4]"), (2, "identity"), (3, "day"), (3, "hour"), (3, "void"), (1, "unheard-of")]
_TRANSFORM_NAMES = {"bucket[16]": "bucket", "truncate[4]": "trunc"}


def spec_field(source_id: int, transform: str, field_id: int | None = None) -> Json:
    """A partition field under its usual name."""
    column = CORE[source_id - 1]["name"] if source_id <= len(CORE) else f"c{source_id}"
    name = column if transform == "identity" else f"{column}_{_TRANSFORM_NAMES.get(transform, transform)}"
    field = {"source-id": source_id, "transform": transform, "name": name}
    return field if field_id is None else field | {"field-id": field_id}


def order_field(source_id: int, transform: str, direction: str, null_order: str) -> Json:
    return {"transform": transform, "source-id": source_id, "direction": direction, "null-order": null_order}


def snapshot(draw: st.DrawFn, snapshot_id: int, sequence: int, parent: int | None, version: int, first_row_id: int) -> Json:
    """A snapshot as writers make it; it adds ten rows."""
    made: Json = {
        "snapshot-id": snapshot_id,
        "timestamp-ms": NOW + sequence * 1000,
        "summary": {"operation": draw(st.sampled_from(["append", "overwrite", "delete", "replace"])), "added-records": "10"},
        "manifest-list": f"s3://b/t/metadata/snap-{snapshot_id}.avro",
        "schema-id": 0,
    }
    if version > 1:
        made["sequence-number"] = sequence
    if rarely(draw, 5 if version == 1 else 25):
        del made["manifest-list"]
        made["manifests"] = ["s3://b/t/metadata/m0.avro"]
    if parent is not None:
        made["parent-snapshot-id"] = parent
    if version > 2:
        made |= {"first-row-id": first_row_id, "added-rows": 10}
        if rarely(draw, 6):
            made["key-id"] = "k1"
    return made


def reference(draw: st.DrawFn, snapshot_id: int, kind: str) -> Json:
    """A branch or a tag with some retention."""
    found: Json = {"snapshot-id": snapshot_id, "type": kind}
    if kind == "branch" and rarely(draw, 3):
        found["min-snapshots-to-keep"] = draw(st.integers(1, 3))
    if kind == "branch" and rarely(draw, 3):
        found["max-snapshot-age-ms"] = draw(st.integers(1, 1000))
    if rarely(draw, 3):
        found["max-ref-age-ms"] = draw(st.integers(1, 1000))
    return found


def statistics_file(draw: st.DrawFn, snapshot_id: int) -> Json:
    return {
        "snapshot-id": snapshot_id,
        "statistics-path": f"s3://b/t/metadata/{snapshot_id}-{draw(st.integers(0, 1))}.puffin",
        "file-size-in-bytes": 413,
        "file-footer-size-in-bytes": 42,
        "blob-metadata": [
            {"type": "ndv", "snapshot-id": snapshot_id, "sequence-number": 1, "fields": [1]}
            | draw(st.sampled_from([{}, {"properties": {"a": "b"}}]))
            for _ in range(draw(st.integers(0, 1)))
        ],
    }


def partition_statistics_file(draw: st.DrawFn, snapshot_id: int) -> Json:
    path = f"s3://b/t/metadata/{snapshot_id}-{draw(st.integers(0, 1))}.parquet"
    return {"snapshot-id": snapshot_id, "statistics-path": path, "file-size-in-bytes": 43}


def encryption_key(draw: st.DrawFn, key_id: str) -> Json:
    key: Json = {"key-id": key_id, "encrypted-key-metadata": draw(st.sampled_from(["aGVsbG8=", "", "/+8="]))}
    if draw(st.booleans()):
        key["encrypted-by-id"] = "kms"
    if draw(st.booleans()):
        key["properties"] = draw(st.sampled_from([{}, {"a": "b"}]))
    return key


@st.composite
def tables(draw: st.DrawFn) -> Json:
    """Metadata of a table with some history."""
    version = draw(st.integers(1, 3))
    current = draw(schemas(version))
    current["schema-id"] = 0
    older = [{**draw(schemas(version)), "schema-id": schema_id} for schema_id in range(1, draw(st.integers(1, 2)))]
    listed = [current, *older]
    metadata: Json = {
        "format-version": version,
        "table-uuid": UUID,
        "location": "s3://b/t",
        "last-updated-ms": NOW + 100_000,
        "last-column-id": draw(st.sampled_from([40, 90])),
        "current-schema-id": 0,
        "schemas": listed,
        "properties": {key: values[0] for key, values in PROPERTIES.items() if rarely(draw, 8)},
    }
    if version > 1:
        metadata["last-sequence-number"] = 0
    metadata |= _layout(draw, version, current)
    metadata |= _history(draw, version)
    if version == 1:
        metadata |= {"schema": current, "partition-spec": metadata["partition-specs"][metadata["default-spec-id"]]["fields"]}
        if rarely(draw, 4):
            metadata = _as_old_writers_left_it(draw, metadata)
    return metadata


def _layout(draw: st.DrawFn, version: int, current: Json) -> Json:
    """Partition specs and sort orders; those that are the default one fit the current schema."""
    columns = {field["id"] for field in current["fields"]}
    fitting = [pair for pair in _FIELDS if pair[0] in columns or pair[1] == "void"]
    specs, last = [], 999
    for spec_id in range(draw(st.integers(1, 3))):
        chosen = draw(st.lists(st.sampled_from(fitting), max_size=2, unique=True)) if fitting else []
        start = 1000 if version == 1 else last + 1
        specs.append({"spec-id": spec_id, "fields": [spec_field(*pair, start + index) for index, pair in enumerate(chosen)]})
        last = max(last, start + len(chosen) - 1)
    orders: list[Json] = [{"order-id": 0, "fields": []}]
    sortable = [pair for pair in _FIELDS if pair[0] in columns and pair[1] != "void"]
    for order_id in range(1, draw(st.integers(1, 3))):
        if sortable:
            source_id, transform = draw(st.sampled_from(sortable))
            orders.append(
                {
                    "order-id": order_id,
                    "fields": [order_field(source_id, transform, "asc", draw(st.sampled_from(["nulls-first", "nulls-last"])))],
                }
            )
    return {
        "partition-specs": specs,
        "default-spec-id": draw(st.integers(0, len(specs) - 1)),
        "last-partition-id": last,
        "sort-orders": orders,
        "default-sort-order-id": draw(st.integers(0, len(orders) - 1)),
    }


def _history(draw: st.DrawFn, version: int) -> Json:
    """Snapshots 1 to n on main, logs, branches and tags, statistics, keys."""
    many = draw(st.integers(0, 4))
    snapshots = [snapshot(draw, number, number, number - 1 or None, version, (number - 1) * 10) for number in range(1, many + 1)]
    current = draw(st.sampled_from([many, many, max(many, 1) - 1])) if many else 0
    refs: dict[str, Any] = {"main": reference(draw, current, "branch")} if current else {}
    for name, kind in (("branch", "branch"), ("tag", "tag"), ("audit", "branch")):
        if many and rarely(draw, 3):
            refs[name] = reference(draw, draw(st.integers(1, many)), kind)
    history: Json = {
        "current-snapshot-id": current or (None if version > 2 else -1),
        "refs": refs,
        "snapshots": snapshots,
        "snapshot-log": [{"timestamp-ms": NOW + number * 1000, "snapshot-id": number} for number in range(1, current + 1)],
        "metadata-log": [
            {"timestamp-ms": NOW + number, "metadata-file": f"s3://b/t/metadata/{number:05}-m.metadata.json"}
            for number in range(draw(st.integers(0, 6)))
        ],
        "statistics": [statistics_file(draw, number) for number in range(1, many + 2) if rarely(draw, 4)],
        "partition-statistics": [partition_statistics_file(draw, number) for number in range(1, many + 2) if rarely(draw, 4)],
    }
    if version > 1:
        history["last-sequence-number"] = many
    if version > 2:
        history["next-row-id"] = many * 10
    if rarely(draw, 3):
        history["encryption-keys"] = [encryption_key(draw, f"k{number}") for number in range(1, draw(st.integers(2, 3)))]
    return history


def _as_old_writers_left_it(draw: st.DrawFn, metadata: Json) -> Json:
    """Without what the first writers of format version 1 did not know."""
    groups = (
        ("schemas", "current-schema-id"),
        ("partition-specs", "default-spec-id"),
        ("sort-orders", "default-sort-order-id"),
        ("last-partition-id",),
        ("table-uuid",),
        ("refs",),
        ("statistics",),
        ("partition-statistics",),
        ("snapshot-log",),
        ("metadata-log",),
        ("properties",),
    )
    gone = {member for group in draw(st.lists(st.sampled_from(groups), min_size=1, max_size=4)) for member in group}
    if "refs" in gone:
        # They had one line of snapshots.
        gone |= {"refs"}
    return {key: value for key, value in metadata.items() if key not in gone}
