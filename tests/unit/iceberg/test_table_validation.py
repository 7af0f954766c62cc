"""Metadata that others wrote: what may be registered, and what is refused although a commit would never notice."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import check_table_metadata, check_view
from tests.unit.iceberg.examples import Json, apply, snapshot, table, table_with_snapshots
from tests.unit.iceberg.test_table_builder import MANY, v1_of_an_early_writer
from tests.unit.iceberg.test_views import view

BASE = table_with_snapshots(2)


@pytest.mark.parametrize("metadata", [table(1), table(2), table(3), BASE, v1_of_an_early_writer(), apply(BASE, *MANY)])
def test_whole_metadata_is_accepted(metadata: Json) -> None:
    check_table_metadata(metadata)


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("format-version", 0, "Unsupported format version"),
        ("table-uuid", None, "UUID is required"),
        ("location", "/", "path must not be null or empty"),
        ("last-partition-id", None, "last-partition-id"),
        ("last-updated-ms", "now", "last-updated-ms"),
        ("current-schema-id", 7, "Cannot find current schema: 7"),
        ("schemas", [*BASE["schemas"], *BASE["schemas"]], "more than one schema with id 0"),
        ("schemas", [*BASE["schemas"], {"type": "struct", "schema-id": 1, "fields": 7}], "fields"),
        ("default-spec-id", 7, "Cannot find default partition spec: 7"),
        ("default-sort-order-id", 7, "Cannot find default sort order: 7"),
        ("snapshots", [snapshot(1, 1), snapshot(1, 1), snapshot(2, 2)], "more than one snapshot with id 1"),
        ("snapshots", [snapshot(2, 9)], "Invalid snapshot with sequence number 9"),
        ("snapshots", [{"snapshot-id": 2}], "timestamp-ms"),
        ("snapshots", [], "does not exist in the existing snapshots list"),
        ("refs", {"main": {"snapshot-id": 2, "type": "twig"}}, "Invalid snapshot ref type: twig"),
        ("refs", {"main": {"snapshot-id": 1, "type": "branch"}}, "Current snapshot ID does not match main branch"),
        ("snapshot-log", [{"timestamp-ms": 1}], "snapshot-id"),
        ("snapshot-log", [{"timestamp-ms": 1 << 60, "snapshot-id": 1}], "before last snapshot log entry"),
        ("metadata-log", [{"timestamp-ms": 1}], "metadata-file"),
        ("statistics", [{"snapshot-id": 1}], "statistics-path"),
        ("partition-statistics", ["x"], "non-object"),
        ("encryption-keys", [{"key-id": "k", "encrypted-key-metadata": ""}] * 2, "more than one encryption key with id k"),
    ],
)
def test_what_java_could_not_read_is_refused(member: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        check_table_metadata(BASE | {member: value})


@pytest.mark.parametrize(("member", "what"), [("schemas", "schema with id 0"), ("versions", "view version with id 1")])
def test_ids_within_a_view_are_distinct(member: str, what: str) -> None:
    check_view(view())
    with pytest.raises(InvalidArgumentError, match=f"more than one {what}"):
        check_view(view() | {member: view()[member] * 2})


@pytest.mark.parametrize("versions", [1.5, "x", {}, None, [1]])
def test_versions_of_a_view_must_be_a_list_of_objects(versions: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        check_view(view() | {"versions": versions})
