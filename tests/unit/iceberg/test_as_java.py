"""Where Treeline's builders once did something else than Iceberg's Java builders: found by the differential tests, one test each."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import TableMetadataBuilder, ViewMetadataBuilder, parse_table_updates
from tests.unit.iceberg.examples import (
    DAY,
    ID,
    NAME,
    Json,
    add_snapshot,
    append,
    apply,
    field,
    schema,
    set_ref,
    table,
    table_with_snapshots,
)
from tests.unit.iceberg.test_views import view


def refused(message: str, base: Json, *updates: Json) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(base, *updates)


def test_a_malformed_update_is_told_before_one_that_comes_too_late() -> None:
    late = add_snapshot(9, 1, parent=3)
    refused("Cannot parse missing string: location", table_with_snapshots(3), late, {"action": "set-location"})
    with pytest.raises(InvalidArgumentError, match="Unknown metadata update: fly"):
        parse_table_updates([late, {"action": "fly"}])


def test_updates_of_the_other_kind_of_object_must_be_well_formed_too() -> None:
    refused("Cannot parse missing field: view-version", table(), {"action": "add-view-version"})
    refused("Cannot apply update to a table: set-current", table(), {"action": "set-current-view-version", "view-version-id": 1})


@pytest.mark.parametrize("location", ["", "/", "///"])
def test_a_location_of_slashes_is_refused(location: str) -> None:
    """Java commits "/" and cannot read the table afterwards."""
    refused("path must not be null or empty", table(), {"action": "set-location", "location": location})


def test_row_ids_end_at_64_bits() -> None:
    lineage: Json = {"first-row-id": 2, "added-rows": (1 << 63) - 3}
    assert apply(table_with_snapshots(2, 3), add_snapshot(3, 3, 2, **lineage))["next-row-id"] == (1 << 63) - 1
    refused("row ids end at", table_with_snapshots(2, 3), add_snapshot(3, 3, 2, **lineage | {"added-rows": (1 << 63) - 2}))


@pytest.mark.parametrize(
    "holder",
    [
        {"type": "list", "element-id": 10, "element": "unknown", "element-required": True},
        {"type": "map", "key-id": 10, "key": "unknown", "value-id": 11, "value": "int", "value-required": False},
        {"type": "map", "key-id": 10, "key": "int", "value-id": 11, "value": "unknown", "value-required": True},
    ],
)
def test_nothing_required_is_of_unknown_type(holder: Json) -> None:
    refused("Cannot create required field with unknown type", table(3), add(field(9, "c", holder)))


def add(column: Json) -> Json:
    return {"action": "add-schema", "schema": schema(ID, NAME, DAY, column)}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("date", "-0001-01-01", "-0000-01-01"),
        ("date", "+12026-01-01", "12026-01-01"),
        ("date", "2026-12-31", "2026-13-01"),
        ("date", "+5881580-07-11", "+5881580-07-12"),
        ("date", "-5877641-06-23", "-5877641-06-22"),
        ("time", "23:59:59.999999999", "24:00"),
        ("time", "22:31", "22:31:60"),
        ("timestamp", "+294247-01-10T04:00:54.775807", "+294247-01-10T04:00:54.775808"),
        ("timestamp", "-290308-12-21T19:59:05.224192", "-290308-12-21T19:59:05.224191"),
        ("timestamp_ns", "2262-04-11T23:47:16.854775807", "2262-04-11T23:47:16.854775808"),
        ("timestamptz", "2026-02-28T22:31:08+00:00", "2026-02-30T22:31:08+00:00"),
        ("decimal(9, 2)", "+14.20", " 14.20"),
        ("decimal(9, 2)", "-0.01", "1_0.20"),
    ],
)
def test_defaults_are_days_times_and_numbers_that_there_are(kind: str, good: str, bad: str) -> None:
    assert apply(table(3), add(field(9, "c", kind, **{"initial-default": good})))["schemas"][-1]["fields"][-1]["initial-default"] == good
    refused(f"Cannot parse default as a {kind.partition('(')[0]}", table(3), add(field(9, "c", kind, **{"initial-default": bad})))


@pytest.mark.parametrize("size", [" 5", "1_0", "2147483648", "-2147483649", "1.0", ""])
def test_properties_that_are_no_java_integers_are_refused(size: str) -> None:
    base = table() | {"properties": {"write.metadata.previous-versions-max": size}}
    refused("must be an integer", base, {"action": "set-location", "location": "s3://b/u"})


@pytest.mark.parametrize("size", ["+2", "٢", "-0000000001"])
def test_other_spellings_of_integers_are_as_good(size: str) -> None:
    base = table() | {"properties": {"write.metadata.previous-versions-max": size}}
    assert len(apply(base, {"action": "set-location", "location": "s3://b/u"})["metadata-log"]) == 1


def test_a_snapshot_that_lists_its_manifests_has_no_row_ids() -> None:
    old: Json = {**add_snapshot(1)["snapshot"], "manifests": ["s3://b/m.avro"], "added-rows": -1, "key-id": "k"}
    del old["manifest-list"]
    stored = apply(table(1), {"action": "add-snapshot", "snapshot": old})["snapshots"][0]
    assert not {"added-rows", "key-id"} & stored.keys()
    refused("first-row-id is null", table(3), {"action": "add-snapshot", "snapshot": old | {"first-row-id": 0, "sequence-number": 1}})


def test_retention_is_checked_when_it_is_the_updates_turn() -> None:
    """After those before it, so that a snapshot that comes too late is a conflict, as in Java."""
    [update] = parse_table_updates([set_ref("t", 1, "tag", **{"min-snapshots-to-keep": 1})])
    with pytest.raises(InvalidArgumentError, match="Tags do not support setting minSnapshotsToKeep"):
        TableMetadataBuilder(table_with_snapshots(1)).carry_out([update])


@pytest.mark.parametrize("ids", [[1 << 31], [1.5], [None]])
@pytest.mark.parametrize(("action", "member"), [("remove-schemas", "schema-ids"), ("remove-partition-specs", "spec-ids")])
def test_ids_of_schemas_and_specs_have_32_bits(action: str, member: str, ids: list[Any]) -> None:
    refused("Cannot parse integer", table(), {"action": action, member: ids})


def test_a_schema_says_that_it_is_a_struct() -> None:
    columns = schema()
    del columns["type"]
    refused("not a struct type", table(), {"action": "add-schema", "schema": columns})


def test_a_stored_id_may_be_null() -> None:
    base = table(1) | {"schemas": [schema() | {"schema-id": None}]}
    assert apply(base, *append(1, 0))["current-snapshot-id"] == 1


def test_views_have_no_representations_but_sql() -> None:
    version = {**view()["versions"][-1], "representations": [{"type": "plan", "plan": "x"}]}
    with pytest.raises(InvalidArgumentError, match=r"Found unsupported view representations: \[plan\]"):
        ViewMetadataBuilder(view()).apply({"action": "add-view-version", "view-version": version})
