"""New tables: fresh ids, defaults, properties, what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import is_create, new_table_metadata, table_metadata_from_updates
from catalog_format.ids import SeededIds
from tests.unit.iceberg.examples import NOW, Json, add_snapshot, field, order, schema, set_ref, spec


def create(table_schema: Json, *, version: int | None = None, properties: dict[str, str] | None = None, **parts: Any) -> Json:
    return new_table_metadata(table_schema, parts.get("spec"), parts.get("order"), "s3://b/t", properties or {}, version, SeededIds(1), NOW)


def test_an_unpartitioned_table_has_the_members_java_writes() -> None:
    metadata = create(schema(field(7, "a")))
    assert metadata.pop("table-uuid")
    assert metadata == {
        "format-version": 2,
        "location": "s3://b/t",
        "last-sequence-number": 0,
        "last-updated-ms": NOW,
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [field(1, "a")]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"write.parquet.compression-codec": "zstd"},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "statistics": [],
        "partition-statistics": [],
        "snapshot-log": [],
        "metadata-log": [],
    }


def test_v1_repeats_schema_and_spec_for_old_readers() -> None:
    metadata = create(schema(), version=1, spec=spec((1, "bucket[4]", "b")))
    assert metadata["schema"] == metadata["schemas"][0]
    assert metadata["partition-spec"] == metadata["partition-specs"][0]["fields"]
    assert "last-sequence-number" not in metadata


def test_v3_has_null_for_no_snapshot_and_counts_row_ids() -> None:
    metadata = create(schema(), version=3)
    assert metadata["current-snapshot-id"] is None
    assert metadata["next-row-id"] == 0


def test_column_ids_are_fresh_level_by_level() -> None:
    nested = {
        "type": "struct",
        "fields": [field(50, "x", {"type": "list", "element-id": 51, "element-required": True, "element": "int"}), field(52, "y")],
    }
    pairs = {"type": "map", "key-id": 60, "key": "string", "value-id": 61, "value-required": False, "value": nested}
    metadata = create(schema(field(9, "m", pairs), field(8, "s", nested | {"fields": [field(70, "z")]}), field(7, "last")))
    columns = metadata["schemas"][0]["fields"]
    assert [column["id"] for column in columns] == [1, 2, 3]
    assert (columns[0]["type"]["key-id"], columns[0]["type"]["value-id"]) == (4, 5)
    x, y = columns[0]["type"]["value"]["fields"]
    assert (x["id"], y["id"], x["type"]["element-id"]) == (6, 7, 8)
    assert columns[1]["type"]["fields"][0]["id"] == 9
    assert metadata["last-column-id"] == 9


def test_partition_sort_and_identifier_fields_follow_their_columns() -> None:
    request = schema(field(11, "a", "int", True), field(22, "b", "timestamp"), **{"identifier-field-ids": [11]})
    metadata = create(request, spec=spec((22, "day", "b_day"), (11, "identity", "a"), first_id=2000), order=order((11, "identity")))
    assert metadata["schemas"][0]["identifier-field-ids"] == [1]
    fields = metadata["partition-specs"][0]["fields"]
    assert [(item["source-id"], item["field-id"]) for item in fields] == [(2, 1000), (1, 1001)]
    assert metadata["last-partition-id"] == 1001
    assert metadata["sort-orders"] == [
        {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}]}
    ]
    assert metadata["default-sort-order-id"] == 1


def test_the_request_is_left_alone_and_unknown_members_are_kept() -> None:
    request = schema(field(5, "a", "int", **{"new-in-v9": {"x": 1}}), hint="kept")
    before = copy.deepcopy(request)
    metadata = create(request)
    assert request == before
    assert metadata["schemas"][0]["hint"] == "kept"
    assert metadata["schemas"][0]["fields"][0]["new-in-v9"] == {"x": 1}


def test_the_format_version_may_come_as_a_property_and_reserved_properties_are_not_stored() -> None:
    metadata = create(schema(), properties={"format-version": "1", "uuid": "x", "k": "v", "write.parquet.compression-codec": "gzip"})
    assert metadata["format-version"] == 1
    assert metadata["properties"] == {"k": "v", "write.parquet.compression-codec": "gzip"}


def test_trailing_slashes_of_the_location_go() -> None:
    assert new_table_metadata(schema(), None, None, "s3://b/t//", {}, 2, SeededIds(1), NOW)["location"] == "s3://b/t"


@pytest.mark.parametrize(
    ("table_schema", "options", "message"),
    [
        (schema(), {"version": 4}, "Unsupported format version: v4"),
        (schema(), {"properties": {"format-version": "two"}}, "format-version must be an integer"),
        (schema(field(1, "v", "variant")), {}, "Invalid type for v: variant is not supported until v3"),
        (schema(field(1, "t", "timestamp_ns")), {}, "Invalid type for t: timestamp_ns is not supported until v3"),
        (schema(field(1, "d", "int", **{"initial-default": 3})), {}, "Invalid initial default for d"),
        (schema(field(1, "a"), field(2, "a")), {}, "Invalid schema: multiple fields for name a: 1 and 2"),
        (schema(field(1, "a"), field(1, "b")), {}, "multiple fields for id 1"),
        (schema(field(1, "a", "text")), {}, "Cannot parse type string to primitive: text"),
        (schema(field(1, "a", "unknown", True)), {"version": 3}, "Cannot create required field with unknown type"),
        (schema(field(1, "a"), **{"identifier-field-ids": [1]}), {}, "not a required field"),
        (schema(field(1, "a", "double", True), **{"identifier-field-ids": [1]}), {}, "must not be float or double"),
        (schema(field(1, "a"), **{"identifier-field-ids": [2]}), {}, "field does not exist"),
        (schema(), {"spec": spec((9, "identity", "x"))}, "Cannot find source column for partition field: 1000: x: identity(9)"),
        (schema(), {"spec": spec((1, "day", "x"))}, "Invalid source type long for transform: day"),
        (schema(), {"spec": spec((1, "bucket[0]", "x"))}, "Invalid number of buckets: 0"),
        (schema(), {"spec": spec((1, "bucket[2]", "name"))}, "sourced from different field in schema: name"),
        (schema(), {"spec": spec((1, "bucket[2]", "x"), (1, "bucket[4]", "x"))}, "partition name more than once: x"),
        (schema(), {"order": order((9, "identity"))}, "Cannot find source column for sort field: identity(9) ASC NULLS FIRST"),
        (schema(), {"properties": {"write.metadata.metrics.column.zz": "full"}}, "could not find column zz"),
        (schema(), {"properties": {"commit.retry.num-retries": "-1"}}, "must have non negative integer value"),
        (schema(), {"properties": {"encryption.key-id": "k"}}, "Invalid properties for v2: [encryption.key-id]"),
    ],
)
def test_what_java_refuses_is_refused(table_schema: Json, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        create(table_schema, **options)
    assert message in str(refused.value)


def test_deep_nesting_is_refused_rather_than_overflowing() -> None:
    deep: Any = "int"
    for number in range(400):
        deep = {"type": "list", "element-id": 1000 - number, "element-required": True, "element": deep}
    with pytest.raises(InvalidArgumentError, match="nested more than"):
        create(schema(field(1, "a", deep)))


STAGED = [
    {"action": "assign-uuid", "uuid": "0e5f8b4e-0000-4000-8000-000000000001"},
    {"action": "upgrade-format-version", "format-version": 2},
    {"action": "add-schema", "schema": schema(), "last-column-id": 3},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": spec((3, "day", "at_day"))},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": order()},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "set-location", "location": "s3://b/t"},
    {"action": "set-properties", "updates": {"k": "v"}},
]


def test_a_staged_create_is_built_from_its_updates() -> None:
    metadata = table_metadata_from_updates([*STAGED, add_snapshot(5, 1), set_ref("main", 5)], SeededIds(1), NOW)
    assert metadata["table-uuid"] == "0e5f8b4e-0000-4000-8000-000000000001"
    assert metadata["schemas"] == [schema()]
    assert (metadata["last-column-id"], metadata["last-partition-id"]) == (3, 1000)
    assert metadata["current-snapshot-id"] == 5
    assert metadata["last-sequence-number"] == 1
    assert metadata["metadata-log"] == []


def test_the_unsorted_order_may_come_before_the_schema_and_a_spec_may_not() -> None:
    def moved_up(action: str, **members: Any) -> list[Json]:
        return [{"action": action, **members}, *(update for update in STAGED if update["action"] != action)]

    unsorted = moved_up("add-sort-order", **{"sort-order": order()})
    assert table_metadata_from_updates(unsorted, SeededIds(1), NOW)["sort-orders"] == [order()]
    with pytest.raises(InvalidArgumentError, match="Cannot find current schema"):
        table_metadata_from_updates(moved_up("add-spec", spec=spec()), SeededIds(1), NOW)


def test_the_first_upgrade_decides_the_version_of_a_staged_create() -> None:
    updates = [update | {"format-version": 1} if update["action"] == "upgrade-format-version" else update for update in STAGED]
    assert table_metadata_from_updates(updates, SeededIds(1), NOW)["format-version"] == 1
    assert table_metadata_from_updates(STAGED[2:], SeededIds(1), NOW)["format-version"] == 2


@pytest.mark.parametrize(
    ("missing", "message"),
    [("add-spec", "no spec has been added"), ("set-location", "location is required"), ("add-schema", "no schema has been added")],
)
def test_an_incomplete_staged_create_is_refused(missing: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        table_metadata_from_updates([update for update in STAGED if update["action"] != missing], SeededIds(1), NOW)


def test_a_create_stands_alone_among_requirements() -> None:
    assert is_create([{"type": "assert-create"}])
    assert not is_create([{"type": "assert-table-uuid", "uuid": "u"}])
    assert not is_create([])
    with pytest.raises(InvalidArgumentError, match="Invalid create requirements"):
        is_create([{"type": "assert-create"}, {"type": "assert-table-uuid", "uuid": "u"}])
