"""The build itself: no-ops, logs, time, sharing with the base, unknown members, metadata of older writers."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import TableMetadataBuilder, parse_table_requirements
from tests.unit.iceberg.examples import (
    BASE_FILE,
    LATER,
    NOW,
    Json,
    add_snapshot,
    append,
    apply,
    field,
    order,
    schema,
    set_ref,
    spec,
    table,
    table_with_snapshots,
)

SET = {"action": "set-properties", "updates": {"k": "v"}}

MANY = [
    SET,
    {"action": "remove-properties", "removals": ["owner"]},
    {"action": "add-schema", "schema": schema(*schema()["fields"], field(4, "x", "int"))},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": spec((1, "bucket[4]", "b"), first_id=1001)},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": order((1, "identity"))},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "remove-snapshots", "snapshot-ids": [1]},
    *append(9, 9, 3),
    set_ref("tag", 2, "tag"),
    {"action": "set-location", "location": "s3://b/elsewhere"},
    {"action": "remove-snapshot-ref", "ref-name": "tag"},
]


def test_without_changes_the_base_itself_comes_back() -> None:
    base = table()
    builder = TableMetadataBuilder(base)
    assert not builder.has_changes
    assert builder.build(LATER, BASE_FILE) is base


def test_neither_the_base_nor_the_updates_are_changed() -> None:
    base, updates = table_with_snapshots(3), copy.deepcopy(MANY)
    before = copy.deepcopy(base)
    result = apply(base, *updates)
    assert base == before
    assert updates == MANY
    assert result != base


def test_a_build_may_be_repeated_and_continued() -> None:
    builder = TableMetadataBuilder(table()).apply(SET)
    first = builder.build(LATER, BASE_FILE)
    kept = copy.deepcopy(first)
    assert builder.build(LATER, BASE_FILE) == first
    builder.apply_all(append(1, 1)).apply_all(append(2, 2, 1)).build(LATER, BASE_FILE)
    assert first == kept


def test_unknown_members_are_kept_at_every_level() -> None:
    base = table_with_snapshots(3)
    base["new-in-v9"] = {"a": 1}
    base["snapshots"][1]["new"] = 1
    base["schemas"][0]["new"] = 2
    base["partition-specs"][0]["new"] = 3
    base["sort-orders"][0]["new"] = 4
    base["refs"]["main"]["new"] = 5
    result = apply(base, *MANY[:9], {"action": "set-location", "location": "s3://b/x"})
    assert result["new-in-v9"] == {"a": 1}
    assert result["snapshots"][0]["new"] == 1
    assert [result[name][0]["new"] for name in ("schemas", "partition-specs", "sort-orders")] == [2, 3, 4]
    assert result["refs"]["main"]["new"] == 5


def test_what_is_not_changed_is_shared_not_copied() -> None:
    base = table_with_snapshots(5_000)
    renamed = apply(base, SET)
    for member in ("snapshots", "snapshot-log", "schemas", "partition-specs", "sort-orders", "refs", "statistics"):
        assert renamed[member] is base[member], member
    appended = apply(base, *append(6_000, 6_000, 5_000, at=NOW + 5_000), now=NOW + 5_000)
    assert len(appended["snapshots"]) == 5_001
    assert all(old is new for old, new in zip(base["snapshots"], appended["snapshots"], strict=False))
    assert all(old is new for old, new in zip(base["snapshot-log"], appended["snapshot-log"], strict=False))
    assert appended["schemas"] is base["schemas"]
    assert appended["properties"] is base["properties"]
    assert len(base["snapshots"]) == len(base["snapshot-log"]) == 5_000


def test_the_file_of_the_base_enters_the_metadata_log() -> None:
    result = apply(table(), SET)
    assert result["metadata-log"] == [{"timestamp-ms": NOW, "metadata-file": BASE_FILE}]
    assert apply(result, SET, now=LATER + 1, previous="f2")["metadata-log"][1:] == [{"timestamp-ms": LATER, "metadata-file": "f2"}]
    assert apply(result, SET, previous=None)["metadata-log"] is result["metadata-log"]


@pytest.mark.parametrize(("limit", "kept"), [("3", 3), ("1", 1), ("0", 1), ("-7", 1), (None, 6)])
def test_the_metadata_log_is_limited(limit: str | None, kept: int) -> None:
    entries = [{"timestamp-ms": NOW - 9 + number, "metadata-file": f"f{number}"} for number in range(5)]
    updates = [SET] if limit is None else [{"action": "set-properties", "updates": {"write.metadata.previous-versions-max": limit}}]
    result = apply(table(**{"metadata-log": entries}), *updates)
    assert [entry["metadata-file"] for entry in result["metadata-log"]] == ["f0", "f1", "f2", "f3", "f4", BASE_FILE][-kept:]


def test_the_default_limit_of_the_metadata_log_is_100() -> None:
    entries = [{"timestamp-ms": NOW, "metadata-file": f"f{number}"} for number in range(100)]
    log = apply(table(**{"metadata-log": entries}), SET)["metadata-log"]
    assert (len(log), log[0]["metadata-file"], log[-1]["metadata-file"]) == (100, "f1", BASE_FILE)


def test_a_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="must be an integer"):
        apply(table(), {"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "many"}})


def test_clocks_may_differ_by_a_minute() -> None:
    base = table_with_snapshots(1)
    assert apply(base, SET, now=NOW + 1 - 60_000)["last-updated-ms"] == NOW + 1 - 60_000
    with pytest.raises(InvalidArgumentError, match=f"Invalid update timestamp {NOW - 60_000}: before last snapshot log entry"):
        apply(base, SET, now=NOW - 60_000)
    with pytest.raises(InvalidArgumentError, match="before the latest metadata log entry timestamp"):
        apply(table(), SET, now=NOW - 60_001)


def test_a_snapshot_from_a_clock_far_ahead_is_refused() -> None:
    assert apply(table(), *append(1, 1, at=LATER + 60_000))["last-updated-ms"] == LATER
    with pytest.raises(InvalidArgumentError, match="Invalid update timestamp"):
        apply(table(), *append(1, 1, at=LATER + 60_001))
    with pytest.raises(InvalidArgumentError, match="Expected sorted snapshot log entries"):
        apply(table_with_snapshots(1), *append(2, 2, 1, at=NOW - 60_001))


def test_commits_of_one_group_share_one_file_and_keep_every_snapshot() -> None:
    state, previous = table(), BASE_FILE
    for number in range(1, 4):
        state = TableMetadataBuilder(state).apply_all(append(number, number, number - 1 or None)).build(LATER, previous)
        previous = None
    assert [entry["snapshot-id"] for entry in state["snapshot-log"]] == [1, 2, 3]
    assert [entry["metadata-file"] for entry in state["metadata-log"]] == [BASE_FILE]


def v1_of_an_early_writer() -> Json:
    return {
        "format-version": 1,
        "location": "s3://b/old",
        "last-updated-ms": NOW,
        "last-column-id": 3,
        "schema": {"type": "struct", "fields": schema()["fields"]},
        "partition-spec": [{"name": "at_day", "transform": "day", "source-id": 3}],
        "properties": {},
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 7, "timestamp-ms": NOW, "manifests": ["m"]}],
    }


def test_metadata_of_early_writers_is_read_and_completed() -> None:
    result = apply(v1_of_an_early_writer(), SET)
    assert (result["current-schema-id"], [item["schema-id"] for item in result["schemas"]]) == (0, [0])
    assert result["partition-specs"][0]["fields"][0]["field-id"] == 1000
    assert (result["default-spec-id"], result["last-partition-id"]) == (0, 1000)
    assert result["sort-orders"] == [{"order-id": 0, "fields": []}]
    assert result["refs"] == {"main": {"snapshot-id": 7, "type": "branch"}}
    requirements = [
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
    ]
    for check in parse_table_requirements(requirements):
        check(v1_of_an_early_writer())


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"format-version": 2},
        table() | {"schemas": None},
        table() | {"partition-specs": "x"},
        table() | {"last-sequence-number": None},
        table() | {"refs": []},
    ],
)
def test_a_base_that_is_no_table_metadata_is_refused(broken: Json) -> None:
    with pytest.raises(InvalidArgumentError):
        TableMetadataBuilder(broken)


def test_references_of_a_bad_base_are_noticed_when_history_changes() -> None:
    base = table_with_snapshots(2)
    dangling: dict[str, Any] = base | {"refs": base["refs"] | {"x": {"snapshot-id": 55, "type": "tag"}}}
    with pytest.raises(InvalidArgumentError, match="Snapshot for reference x does not exist"):
        apply(dangling, add_snapshot(3, 3, 2))
    mismatched = base | {"current-snapshot-id": 1}
    with pytest.raises(InvalidArgumentError, match=r"Current snapshot ID does not match main branch \(1 != 2\)"):
        apply(mismatched, add_snapshot(3, 3, 2))
    without = base | {"current-snapshot-id": None}
    with pytest.raises(InvalidArgumentError, match="Current snapshot is not set, but main branch exists"):
        apply(without, add_snapshot(3, 3, 2))
    lost = base | {"current-snapshot-id": 66, "refs": {}}
    with pytest.raises(InvalidArgumentError, match="Cannot find current version"):
        apply(lost, add_snapshot(3, 3, 2))


def test_a_builder_from_nothing_needs_ids() -> None:
    with pytest.raises(ValueError, match="ids are needed"):
        TableMetadataBuilder(None)
