"""What of two changes of a table its metadata decide: where two families of aspects meet, the values do."""

from __future__ import annotations

import pytest

from catalog_format.iceberg.metadata import metadata_conflict, needs_joining
from catalog_format.iceberg.metadata.schema_evolution import incompatibility
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
    spec,
    table_with_snapshots,
)

LIST = {"type": "list", "element-id": 9, "element": "int", "element-required": False}


def add_schema(*fields: Json) -> list[Json]:
    return [{"action": "add-schema", "schema": schema(*fields)}, {"action": "set-current-schema", "schema-id": -1}]


@pytest.mark.parametrize(
    ("current", "problem"),
    [
        ((ID, NAME, DAY), None),
        ((ID, NAME, DAY, field(4, "x", "int")), None),
        ((ID, NAME, DAY, field(4, "x", "int", True)), "column x is new and required, without a default"),
        ((ID, NAME, DAY, field(4, "x", "int", True, **{"initial-default": 3})), None),
        ((DAY, ID | {"name": "other", "doc": "renamed, moved"}), None),
        ((ID, NAME | {"required": True}, DAY), "column name became required"),
        ((ID | {"required": False}, NAME, DAY), None),
        ((ID | {"type": "string"}, NAME, DAY), "column id changed its type from long to string"),
        ((ID, NAME, DAY, field(4, "x", {"type": "struct", "fields": [field(5, "y", "int", True)]})), None),
        ((ID, NAME, DAY, field(4, "x", {"type": "struct", "fields": [field(5, "y", "int", True)]}, True)), "column x is new"),
    ],
)
def test_which_schemas_files_of_another_fit(current: tuple[Json, ...], problem: str | None) -> None:
    found = incompatibility(schema(ID, NAME, DAY), schema(*current))
    assert found is None if problem is None else problem in (found or "")


@pytest.mark.parametrize(
    ("before", "after", "widens"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("float", "double", True),
        ("date", "timestamp", True),
        ("decimal(9, 2)", "decimal(12, 2)", True),
        ("decimal(9, 2)", "decimal(9, 3)", False),
        ("decimal(9, 2)", "decimal(8, 2)", False),
        ("unknown", "string", True),
        (LIST, LIST | {"element": "long"}, True),
        (LIST, LIST | {"element-required": True}, False),
        ({"type": "struct", "fields": [field(5, "y")]}, {"type": "struct", "fields": [field(5, "y"), field(6, "z", "int", True)]}, False),
    ],
)
def test_which_types_may_become_another(before: object, after: object, widens: bool) -> None:
    assert (incompatibility(schema(field(1, "a", before)), schema(field(1, "a", after))) is None) is widens


WIDER = add_schema(*schema()["fields"], field(4, "x", "int"))
STRICTER = add_schema(ID, NAME | {"required": True}, DAY)
SPEC = [{"action": "add-spec", "spec": spec((3, "day", "at_day"), (1, "bucket[4]", "b"))}, {"action": "set-default-spec", "spec-id": -1}]
REPLACING = [
    add_snapshot(9, 4, 3, summary={"operation": "overwrite", "replace-partitions": "true"}),
    set_ref("main", 9),
]
APPEND, OTHER = append(10, 4, 3), append(11, 4, 3)
TO_DEV = [add_snapshot(12, 4, 2), set_ref("dev", 12)]
EXPIRE = [{"action": "remove-snapshots", "snapshot-ids": [1]}]
KEEP = {"min-snapshots-to-keep": 3}


@pytest.mark.parametrize(
    ("own", "rival", "rule"),
    [
        (APPEND, OTHER, None),
        (APPEND, TO_DEV, None),
        (TO_DEV, [add_snapshot(13, 4, 2), set_ref("dev", 13)], "both created branch or tag dev"),
        (APPEND, [set_ref("main", 2)], None),  # whether that is a rollback, the chain of snapshots tells
        ([set_ref("main", 2)], APPEND, "both moved branch or tag main"),
        ([*APPEND, set_ref("main", 2)], OTHER, "both moved branch or tag main"),
        ([{"action": "remove-snapshot-ref", "ref-name": "main"}], APPEND, "both moved branch or tag main"),
        (APPEND, [{"action": "remove-snapshot-ref", "ref-name": "main"}], "main was dropped"),
        (APPEND, [set_ref("main", 3, **KEEP)], "the retention of branch or tag main was changed"),
        ([add_snapshot(10, 4, 3), set_ref("main", 10, **KEEP)], OTHER, None),
        ([set_ref("main", 3, **KEEP)], OTHER, "both moved branch or tag main"),
        (APPEND, WIDER, None),
        (WIDER, APPEND, None),
        (APPEND, STRICTER, "new files were written with the schema before: column name became required"),
        (STRICTER, APPEND, "written meanwhile with the schema before: column name became required"),
        (STRICTER, EXPIRE, None),
        ([{"action": "remove-schemas", "schema-ids": [0]}], APPEND, "with a schema that is removed"),
        (SPEC, APPEND, None),
        (APPEND, SPEC, None),
        (SPEC, REPLACING, None),
        (REPLACING, SPEC, "which partitions are replaced"),
        ([{"action": "remove-partition-specs", "spec-ids": [7]}], APPEND, "with a partition spec that is removed"),
        (EXPIRE, APPEND, None),
        (APPEND, EXPIRE, None),
        (EXPIRE, EXPIRE, "both change the removal of snapshots"),
        (EXPIRE, [set_ref("t", 1, "tag")], "t leads meanwhile to snapshot 1, which is removed"),
        (EXPIRE, [set_ref("t", 2, "tag")], None),
        ([set_ref("t", 1, "tag")], EXPIRE, "snapshot 1, to which t is to lead, was removed"),
        ([set_ref("t", 2, "tag")], EXPIRE, None),
        (EXPIRE, [add_snapshot(10, 4, 1)], "snapshot 1, which is removed, has become the parent"),
        ([add_snapshot(10, 4, 1)], EXPIRE, "snapshot 1, the parent of a new one, was removed"),
        (EXPIRE, [{"action": "set-location", "location": "s3://b/new"}], None),
        ([{"action": "set-location", "location": "s3://b/new"}], EXPIRE, None),
        (APPEND, [{"action": "set-location", "location": "s3://b/new"}], "written to one location"),
        (APPEND, [{"action": "upgrade-format-version", "format-version": 3}], "format version"),
        (APPEND, [{"action": "assign-uuid", "uuid": "u"}], "goes with no other change"),
    ],
)
def test_what_metadata_decide(own: list[Json], rival: list[Json], rule: str | None) -> None:
    base = table_with_snapshots(3)
    found = metadata_conflict(base, apply(base, *rival), own)
    assert found is None if rule is None else rule in (found or "")


@pytest.mark.parametrize("kind", ["statistics", "partition-statistics"])
def test_statistics_of_removed_snapshots(kind: str) -> None:
    base = table_with_snapshots(3)

    def statistics(snapshot_id: int) -> list[Json]:
        file = {"snapshot-id": snapshot_id, "statistics-path": "p", "file-size-in-bytes": 1}
        file |= {"file-footer-size-in-bytes": 1, "blob-metadata": []} if kind == "statistics" else {}
        return [{"action": f"set-{kind}", kind: file}]

    for snapshot_id, conflicts in ((1, True), (2, False)):
        for own, rival in ((statistics(snapshot_id), EXPIRE), (EXPIRE, statistics(snapshot_id))):
            found = metadata_conflict(base, apply(base, *rival), own)
            assert (found is not None) is conflicts
            assert not conflicts or "statistics of snapshot 1, which was removed" in (found or "")


@pytest.mark.parametrize(
    ("own", "rival", "needed"),
    [
        (APPEND, OTHER, True),
        (APPEND, TO_DEV, True),
        (APPEND, [set_ref("main", 2)], True),
        (APPEND, WIDER, True),
        (APPEND, SPEC, True),
        (APPEND, [{"action": "set-properties", "updates": {"k": "v"}}], False),
        (APPEND, [set_ref("t", 1, "tag")], False),
        (APPEND, EXPIRE, False),
        (WIDER, OTHER, False),
        ([set_ref("t", 1, "tag")], OTHER, False),
    ],
)
def test_when_snapshots_must_be_put_on_top(own: list[Json], rival: list[Json], needed: bool) -> None:
    base = table_with_snapshots(3)
    assert needs_joining(base, apply(base, *rival), own) is needed
