"""What commits touch, what differs, and what commutes; the last also as a property of random pairs of commits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog_format.errors import TreelineError
from catalog_format.iceberg.metadata import (
    Aspect,
    ViewMetadataBuilder,
    commute,
    difference,
    new_view_metadata,
    properties_difference,
    properties_touched_by,
    touched_by,
    view_difference,
    view_touched_by,
)
from catalog_format.iceberg.metadata.aspects import _TABLE_ASPECTS, _VIEW_ASPECTS
from catalog_format.iceberg.metadata.table_updates import TABLE_UPDATES
from catalog_format.iceberg.metadata.view_updates import VIEW_UPDATES
from catalog_format.ids import SeededIds
from tests.unit.iceberg.examples import (
    LATER,
    Json,
    add_snapshot,
    append,
    apply,
    field,
    order,
    schema,
    set_ref,
    spec,
    table_with_snapshots,
)


def set_property(key: str, value: str = "v") -> Json:
    return {"action": "set-properties", "updates": {key: value}}


def encryption_key(key_id: str) -> Json:
    return {"action": "add-encryption-key", "encryption-key": {"key-id": key_id, "encrypted-key-metadata": "aGk="}}


def statistics(snapshot_id: int) -> Json:
    file = {"snapshot-id": snapshot_id, "statistics-path": "p", "file-size-in-bytes": 1}
    return {"action": "set-partition-statistics", "partition-statistics": file}


ADD_COLUMN = [
    {"action": "add-schema", "schema": schema(*schema()["fields"], field(4, "x", "int"))},
    {"action": "set-current-schema", "schema-id": -1},
]
ADD_SPEC = [
    {"action": "add-spec", "spec": spec((1, "bucket[4]", "b"), first_id=1001)},
    {"action": "set-default-spec", "spec-id": -1},
]
ADD_ORDER = [{"action": "add-sort-order", "sort-order": order((1, "identity"))}, {"action": "set-default-sort-order", "sort-order-id": -1}]
EXPIRE = [{"action": "remove-snapshots", "snapshot-ids": [1]}]
UPGRADE = [{"action": "upgrade-format-version", "format-version": 3}]
MOVE = [{"action": "set-location", "location": "s3://b/new"}]


def test_every_update_has_aspects() -> None:
    assert _TABLE_ASPECTS.keys() == TABLE_UPDATES.keys()
    assert _VIEW_ASPECTS.keys() == VIEW_UPDATES.keys()
    assert touched_by([{"action": "fly"}]) == {("unknown", "fly")}


@pytest.mark.parametrize(
    ("updates", "aspects"),
    [
        ([set_property("k"), {"action": "remove-properties", "removals": ["owner"]}], {("property", "k"), ("property", "owner")}),
        (ADD_COLUMN, {("schema",)}),
        (ADD_SPEC, {("spec",)}),
        (ADD_ORDER, {("sort-order",)}),
        (append(3, 3, 2), {("snapshots",), ("ref", "main")}),
        ([set_ref("t", 1, "tag")], {("ref", "t")}),
        (MOVE, {("location",)}),
        (UPGRADE, {("format-version",)}),
        ([{"action": "assign-uuid", "uuid": "u"}], {("uuid",)}),
        ([statistics(1)], {("partition-statistics", 1)}),
        ([encryption_key("a")], {("encryption-key", "a")}),
    ],
)
def test_what_a_commit_touches_is_what_differs_after_it(updates: list[Json], aspects: set[Aspect]) -> None:
    assert touched_by(updates) == aspects
    base = table_with_snapshots(2)
    assert difference(base, apply(base, *updates)) == aspects


def test_removing_snapshots_is_more_than_changing_them() -> None:
    base = table_with_snapshots(2)
    assert touched_by(EXPIRE) == difference(base, apply(base, *EXPIRE)) == {("snapshots",), ("removed-snapshots",)}


def test_equal_states_do_not_differ_and_logs_do_not_count() -> None:
    base = table_with_snapshots(2)
    assert difference(base, base) == set()
    assert difference(base, table_with_snapshots(2) | {"last-updated-ms": LATER, "metadata-log": [1]}) == set()


def test_a_change_this_code_does_not_know_is_noticed() -> None:
    base = table_with_snapshots(1)
    found = difference(base, base | {"new-in-v9": 1})
    assert found == {("unknown", "new-in-v9")}
    assert commute(touched_by([set_property("k")]), found) is not None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([set_property("a")], [set_property("b")]),
        ([set_property("a")], ADD_COLUMN),
        ([set_property("a")], append(3, 3, 2)),
        (append(3, 3, 2), [set_property("a")]),
        (append(3, 3, 2), [set_ref("t", 1, "tag")]),
        ([set_ref("t", 1, "tag")], append(3, 3, 2)),
        ([set_ref("t", 1, "tag")], [set_ref("u", 1, "tag")]),
        (append(3, 3, 2), [statistics(1)]),
        ([statistics(1)], [statistics(2)]),
        (ADD_ORDER, ADD_SPEC),
        (ADD_ORDER, append(3, 3, 2)),
        ([set_property("a")], MOVE),
        ([set_property("a")], UPGRADE),
        ([encryption_key("a")], [encryption_key("b")]),
        (ADD_COLUMN, [set_ref("t", 1, "tag")]),
    ],
)
def test_what_commutes(ours: list[Json], theirs: list[Json]) -> None:
    base = table_with_snapshots(2)
    assert commute(touched_by(ours), difference(base, apply(base, *theirs))) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "rule"),
    [
        ([set_property("a")], [set_property("a", "w")], "both change property a"),
        ([set_property("a")], [set_property("a"), set_property("b")], "both change property a"),
        (append(3, 3, 2), append(4, 3, 2), "both change ref main"),
        ([add_snapshot(3, 3, 2)], [add_snapshot(4, 3, 2)], "both change the snapshots"),
        (ADD_COLUMN, append(3, 3, 2), "written under one schema"),
        (append(3, 3, 2), ADD_COLUMN, "written under one schema"),
        (append(3, 3, 2), ADD_SPEC, "written under one partition spec"),
        (ADD_COLUMN, ADD_SPEC, "bound to the current schema"),
        (ADD_COLUMN, ADD_ORDER, "bound to the current schema"),
        (append(3, 3, 2), MOVE, "written to one location"),
        (EXPIRE, [set_ref("t", 1, "tag")], "drops the branches and tags"),
        ([statistics(1)], EXPIRE, "drops its statistics"),
        (append(3, 3, 2), UPGRADE, "format version"),
        ([encryption_key("a")], append(3, 3, 2), "encrypted with one of the keys"),
        ([set_property("a")], [{"action": "assign-uuid", "uuid": "u"}], "goes with no other change"),
        ([set_property("schema.name-mapping.default")], ADD_COLUMN, "bears on the schemas"),
        (ADD_COLUMN, [set_property("write.metadata.metrics.column.id", "full")], "bears on the schemas"),
        (EXPIRE, [set_property("gc.enabled", "false")], "bears on the removal of snapshots"),
        ([set_property("encryption.key-id")], UPGRADE, "bears on the format version"),
        ([{"action": "fly"}], [set_property("b")], "goes with no other change"),
    ],
)
def test_what_does_not_commute(ours: list[Json], theirs: list[Json], rule: str) -> None:
    base = table_with_snapshots(2)
    found = commute(touched_by(ours), difference(base, apply(base, *theirs)))
    assert found is not None
    assert rule in found


CHOICES: list[list[Json]] = [
    [set_property("a", "1")],
    [set_property("a", "2"), set_property("b", "1")],
    [{"action": "remove-properties", "removals": ["owner"]}],
    ADD_COLUMN,
    [{"action": "add-schema", "schema": schema(*schema()["fields"], field(4, "y", "string"))}],
    ADD_SPEC,
    [{"action": "add-spec", "spec": spec((1, "bucket[8]", "c"), first_id=1001)}],
    ADD_ORDER,
    [{"action": "add-sort-order", "sort-order": order((2, "identity"))}],
    append(10, 4, 3),
    append(11, 4, 3),
    [add_snapshot(12, 4, 2), set_ref("dev", 12)],
    EXPIRE,
    [{"action": "remove-snapshots", "snapshot-ids": [1, 2]}],
    [set_ref("t", 1, "tag")],
    [set_ref("u", 2, "tag", **{"max-ref-age-ms": 5})],
    [set_ref("main", 2)],
    [{"action": "remove-snapshot-ref", "ref-name": "main"}],
    [statistics(1)],
    [statistics(2)],
    [{"action": "remove-partition-statistics", "snapshot-id": 2}],
    [encryption_key("a")],
    [encryption_key("b")],
    MOVE,
    UPGRADE,
    [{"action": "assign-uuid", "uuid": "u"}],
]
COMMITS = st.lists(st.sampled_from(CHOICES), min_size=1, max_size=3).map(lambda parts: [update for part in parts for update in part])


def comparable(metadata: Json) -> Json:
    """Without logs, and with lists in an order of their own: two orders of commits may differ in that."""
    kept = {name: value for name, value in metadata.items() if name not in ("snapshot-log", "metadata-log", "last-updated-ms")}
    for member in ("statistics", "partition-statistics", "encryption-keys", "snapshots"):
        kept[member] = sorted(kept.get(member, []), key=str)
    return kept


@settings(max_examples=400, deadline=None)
@given(ours=COMMITS, theirs=COMMITS)
def test_commits_that_commute_give_the_same_in_either_order(ours: list[Json], theirs: list[Json]) -> None:
    base = table_with_snapshots(3)
    try:
        winner, alone = apply(base, *theirs), apply(base, *ours)
    except TreelineError:
        return
    # What they asked for in vain (removing what is not there) left no mark that could keep ours from undoing it.
    asked_in_vain = touched_by(theirs) - difference(base, winner)
    if asked_in_vain or commute(touched_by(ours), difference(base, winner)) is not None:
        return
    assert comparable(apply(winner, *ours)) == comparable(apply(alone, *theirs))


@settings(max_examples=200, deadline=None)
@given(updates=COMMITS)
def test_a_commit_changes_nothing_that_it_does_not_touch(updates: list[Json]) -> None:
    base = table_with_snapshots(3)
    try:
        result = apply(base, *updates)
    except TreelineError:
        return
    beyond = set(difference(base, result) - touched_by(updates))
    # Removing snapshots takes along what leads to them, which is why it commutes with neither.
    if ("removed-snapshots",) in touched_by(updates):
        beyond = {aspect for aspect in beyond if aspect[0] not in ("ref", "statistics", "partition-statistics")}
    assert not beyond


VERSION: Json = {
    "version-id": 2,
    "schema-id": 0,
    "timestamp-ms": LATER,
    "summary": {},
    "default-namespace": ["a"],
    "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
}
REPLACE: list[Json] = [
    {"action": "add-view-version", "view-version": VERSION | {"summary": {"a": "b"}}},
    {"action": "set-current-view-version", "view-version-id": -1},
]


@pytest.mark.parametrize(
    ("updates", "aspects"),
    [
        (REPLACE, {("view-version",)}),
        ([set_property("k")], {("property", "k")}),
        (MOVE, {("location",)}),
    ],
)
def test_views_have_aspects_too(updates: list[Json], aspects: set[Aspect]) -> None:
    base = new_view_metadata(schema(), VERSION, "s3://b/v", {}, SeededIds(1))
    winner = ViewMetadataBuilder(base).apply_all(updates).build(LATER)
    assert view_touched_by(updates) == view_difference(base, winner) == aspects


@pytest.mark.parametrize(
    ("ours", "theirs", "commutes"),
    [
        ([set_property("a")], REPLACE, True),
        ([set_property("a")], [set_property("b")], True),
        (REPLACE, MOVE, True),
        (REPLACE, REPLACE, False),
        ([set_property("a")], [set_property("a", "w")], False),
        ([set_property("replace.drop-dialect.allowed", "true")], REPLACE, False),
        ([{"action": "upgrade-format-version", "format-version": 1}], REPLACE, False),
    ],
)
def test_which_changes_of_views_commute(ours: list[Json], theirs: list[Json], commutes: bool) -> None:
    base = new_view_metadata(schema(), VERSION, "s3://b/v", {}, SeededIds(1))
    winner = ViewMetadataBuilder(base).apply_all(theirs).build(LATER)
    assert (commute(view_touched_by(ours), view_difference(base, winner)) is None) is commutes


@pytest.mark.parametrize(
    ("updates", "removals", "winner", "commutes"),
    [
        ({"a": "1"}, [], {"b": "0"}, True),
        ({"a": "1"}, [], {"a": "9", "b": "0"}, False),
        ({}, ["b"], {}, False),
        ({}, ["c"], {"b": "1"}, True),
    ],
)
def test_properties_of_namespaces(updates: dict[str, str], removals: list[str], winner: dict[str, Any], commutes: bool) -> None:
    found = commute(properties_touched_by(updates, removals), properties_difference({"b": "0"}, winner))
    assert (found is None) is commutes
