"""Updates of snapshots, references and statistics, and the snapshot log."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import ConflictError, InvalidArgumentError, RequirementFailedError
from catalog_format.iceberg.metadata import TableMetadataBuilder
from tests.unit.iceberg.examples import (
    LATER,
    NOW,
    Json,
    add_snapshot,
    append,
    apply,
    set_ref,
    table,
    table_with_snapshots,
)


def remove(*snapshot_ids: int) -> Json:
    return {"action": "remove-snapshots", "snapshot-ids": list(snapshot_ids)}


def statistics(snapshot_id: int, path: str = "s") -> Json:
    return {
        "snapshot-id": snapshot_id,
        "statistics-path": path,
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [{"type": "t", "snapshot-id": 1, "sequence-number": 1, "fields": [1]}],
    }


def partition_statistics(snapshot_id: int, path: str = "p") -> Json:
    return {"snapshot-id": snapshot_id, "statistics-path": path, "file-size-in-bytes": 1}


def log(metadata: Json) -> list[int]:
    return [entry["snapshot-id"] for entry in metadata["snapshot-log"]]


def test_an_append_moves_main_the_log_and_the_sequence_number() -> None:
    result = apply(table(), *append(10, 1, at=NOW + 500), now=LATER)
    assert result["current-snapshot-id"] == 10
    assert result["refs"] == {"main": {"snapshot-id": 10, "type": "branch"}}
    assert result["snapshot-log"] == [{"timestamp-ms": NOW + 500, "snapshot-id": 10}]
    assert result["last-sequence-number"] == 1
    assert result["last-updated-ms"] == LATER


def test_a_stale_sequence_number_is_a_conflict_and_not_a_failed_requirement() -> None:
    base = table_with_snapshots(2)
    with pytest.raises(ConflictError) as stale:
        apply(base, add_snapshot(3, 2, 1))
    assert str(stale.value) == "Cannot add snapshot with sequence number 2 older than last sequence number 2"
    assert not isinstance(stale.value, RequirementFailedError)


def test_without_a_parent_the_sequence_number_may_be_the_last_but_not_fall_behind() -> None:
    base = table_with_snapshots(2)
    assert apply(base, add_snapshot(3, 2))["last-sequence-number"] == 2
    with pytest.raises(ConflictError, match="sequence number 2 greater than last sequence number 1"):
        apply(base, add_snapshot(3, 1))


def test_v1_has_no_sequence_numbers() -> None:
    result = apply(table(1), add_snapshot(1), add_snapshot(2, None, 1), set_ref("main", 2))
    assert "last-sequence-number" not in result
    with pytest.raises(InvalidArgumentError, match="Sequence number must be 0 in v1: 3"):
        apply(table(1), add_snapshot(1, 3))
    with pytest.raises(InvalidArgumentError, match="sequence number 3 greater than last sequence number 0"):
        apply(table(1), add_snapshot(1, 3), add_snapshot(2))


def test_a_snapshot_id_is_used_once() -> None:
    with pytest.raises(InvalidArgumentError, match="Snapshot already exists for id: 1"):
        apply(table_with_snapshots(1), add_snapshot(1, 2, 1))


def test_v3_snapshots_carry_row_ids_that_the_table_has_not_given_out() -> None:
    base = apply(table(3), add_snapshot(1, 1, **{"first-row-id": 0, "added-rows": 10}))
    assert base["next-row-id"] == 10
    assert apply(base, add_snapshot(2, 2, 1, **{"first-row-id": 15, "added-rows": 2}))["next-row-id"] == 17
    with pytest.raises(ConflictError, match="first-row-id is behind table next-row-id: 9 < 10"):
        apply(base, add_snapshot(2, 2, 1, **{"first-row-id": 9, "added-rows": 2}))
    with pytest.raises(InvalidArgumentError, match="first-row-id is null"):
        apply(base, add_snapshot(2, 2, 1))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"first-row-id": -1, "added-rows": 1}, "cannot be negative"),
        ({"first-row-id": 1, "added-rows": -1}, "cannot be negative"),
        ({"first-row-id": 1}, "required when first-row-id is set"),
        ({"timestamp-ms": None}, "Cannot parse missing long: timestamp-ms"),
        ({"summary": {"operation": 1}}, "Cannot parse to a string value: operation"),
        ({"summary": "append"}, "Cannot parse string map"),
        ({"manifest-list": None}, "manifests"),
        ({"snapshot-id": "1"}, "Cannot parse to a long value"),
        ({"sequence-number": "1"}, "Cannot parse to a long value"),
    ],
)
def test_malformed_snapshots_are_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(table(2), add_snapshot(1, 1, **members))


def test_nulls_that_readers_stumble_over_are_left_out_and_unknown_members_kept() -> None:
    result = apply(table(), add_snapshot(1, 1, **{"parent-snapshot-id": None, "new-in-v9": [1]}))
    assert "parent-snapshot-id" not in result["snapshots"][0]
    assert result["snapshots"][0]["new-in-v9"] == [1]


def test_snapshots_that_were_current_only_inside_a_commit_leave_no_trace_in_the_log() -> None:
    base = table_with_snapshots(1)
    result = apply(base, *append(2, 2, 1), *append(3, 3, 2))
    assert log(result) == [1, 3]
    assert [item["snapshot-id"] for item in result["snapshots"]] == [1, 2, 3]


def test_a_rollback_is_logged_at_the_time_of_the_commit() -> None:
    result = apply(table_with_snapshots(3), set_ref("main", 1), now=LATER)
    assert result["snapshot-log"][-1] == {"timestamp-ms": LATER, "snapshot-id": 1}
    assert result["current-snapshot-id"] == 1


def test_a_gap_in_the_log_takes_the_history_before_it_away() -> None:
    assert log(apply(table_with_snapshots(4), remove(2))) == [3, 4]
    assert log(apply(table_with_snapshots(4), remove(1, 2, 99))) == [3, 4]


def test_a_log_that_does_not_end_at_the_current_snapshot_is_noticed() -> None:
    base = table_with_snapshots(3) | {"snapshot-log": [{"timestamp-ms": NOW, "snapshot-id": 2}]}
    with pytest.raises(InvalidArgumentError, match="latest entry is not the current snapshot"):
        apply(base, remove(1))


def test_removing_snapshots_removes_what_leads_to_them() -> None:
    base = apply(
        table_with_snapshots(3),
        set_ref("old", 1, "tag"),
        set_ref("kept", 2, "tag"),
        {"action": "set-statistics", "statistics": statistics(1)},
        {"action": "set-statistics", "statistics": statistics(2)},
        {"action": "set-partition-statistics", "partition-statistics": partition_statistics(1)},
    )
    result = apply(base, remove(1))
    assert set(result["refs"]) == {"main", "kept"}
    assert [item["snapshot-id"] for item in result["statistics"]] == [2]
    assert result["partition-statistics"] == []
    gone = apply(result, remove(3))
    assert gone["current-snapshot-id"] == -1
    assert set(gone["refs"]) == {"kept"}


def test_removing_unknown_snapshots_changes_nothing() -> None:
    base = table_with_snapshots(2)
    builder = TableMetadataBuilder(base).apply(remove(77))
    assert not builder.has_changes
    assert builder.build(LATER) is base


def test_references_keep_their_retention_and_their_unknown_members() -> None:
    members = {"min-snapshots-to-keep": 3, "max-snapshot-age-ms": 5, "max-ref-age-ms": 7, "new-in-v9": True}
    result = apply(table_with_snapshots(2), set_ref("dev", 1, "BRANCH", **members))
    assert result["refs"]["dev"] == {"snapshot-id": 1, "type": "branch"} | members
    assert log(result) == [1, 2]
    without = apply(result, set_ref("dev", 1, "branch", **{"max-ref-age-ms": None}))
    assert without["refs"]["dev"] == {"snapshot-id": 1, "type": "branch"}


def test_setting_a_reference_to_what_it_is_changes_nothing() -> None:
    assert not TableMetadataBuilder(table_with_snapshots(2)).apply(set_ref("main", 2)).has_changes


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (set_ref("main", 9), "Cannot set main to unknown snapshot: 9"),
        (set_ref("main", 1, "tag"), "Cannot set main to a tag, it must be a branch"),
        (set_ref("t", 1, "label"), "Invalid snapshot ref type: label"),
        (set_ref("t", 1, "tag", **{"min-snapshots-to-keep": 1}), "Tags do not support setting minSnapshotsToKeep"),
        (set_ref("t", 1, "tag", **{"max-snapshot-age-ms": 1}), "Tags do not support setting maxSnapshotAgeMs"),
        (set_ref("b", 1, **{"min-snapshots-to-keep": 0}), "Min snapshots to keep must be greater than 0"),
        (set_ref("b", 1, **{"max-snapshot-age-ms": 0}), "Max snapshot age must be greater than 0 ms"),
        (set_ref("b", 1, **{"max-ref-age-ms": 0}), "Max reference age must be greater than 0"),
        ({"action": "set-snapshot-ref", "snapshot-id": 1, "type": "tag"}, "Cannot parse missing string: ref-name"),
        ({"action": "remove-snapshot-ref"}, "Cannot parse missing string: ref-name"),
        ({"action": "remove-snapshots"}, "snapshot-ids"),
        ({"action": "add-snapshot"}, "Cannot parse missing field: snapshot"),
    ],
)
def test_references_that_are_refused(update: Json, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(table_with_snapshots(2), update)


def test_removing_main_leaves_no_current_snapshot() -> None:
    result = apply(table_with_snapshots(2), {"action": "remove-snapshot-ref", "ref-name": "main"})
    assert (result["current-snapshot-id"], result["refs"]) == (-1, {})
    v3 = apply(table_with_snapshots(2, 3), {"action": "remove-snapshot-ref", "ref-name": "main"})
    assert v3["current-snapshot-id"] is None
    assert not TableMetadataBuilder(result).apply({"action": "remove-snapshot-ref", "ref-name": "main"}).has_changes


def test_replacing_a_table_starts_main_again() -> None:
    updates = [{"action": "remove-snapshot-ref", "ref-name": "main"}, add_snapshot(9, 3), set_ref("main", 9)]
    result = apply(table_with_snapshots(2), *updates)
    assert result["current-snapshot-id"] == 9
    assert log(result) == [1, 2, 9]


def test_null_properties_of_a_blob_are_not_stored_since_java_cannot_read_them() -> None:
    file = statistics(1)
    file["blob-metadata"][0]["properties"] = None
    result = apply(table_with_snapshots(1), {"action": "set-statistics", "statistics": file})
    assert "properties" not in result["statistics"][0]["blob-metadata"][0]
    assert "properties" in file["blob-metadata"][0]


def test_statistics_are_replaced_by_snapshot_and_removed() -> None:
    base = apply(table_with_snapshots(2), {"action": "set-statistics", "statistics": statistics(1)})
    base = apply(base, {"action": "set-partition-statistics", "partition-statistics": partition_statistics(1)})
    twice = apply(
        base,
        {"action": "set-statistics", "snapshot-id": 1, "statistics": statistics(1, "new")},
        {"action": "set-partition-statistics", "partition-statistics": partition_statistics(1, "new")},
    )
    assert [item["statistics-path"] for item in twice["statistics"] + twice["partition-statistics"]] == ["new", "new"]
    none = apply(
        twice,
        {"action": "remove-statistics", "snapshot-id": 1},
        {"action": "remove-partition-statistics", "snapshot-id": 1},
    )
    assert none["statistics"] + none["partition-statistics"] == []
    for action in ("remove-statistics", "remove-partition-statistics"):
        assert not TableMetadataBuilder(none).apply({"action": action, "snapshot-id": 1}).has_changes
        with pytest.raises(InvalidArgumentError, match="snapshot-id"):
            apply(none, {"action": action})


@pytest.mark.parametrize(
    "update",
    [
        {"action": "set-statistics"},
        {"action": "set-statistics", "statistics": statistics(1) | {"blob-metadata": None}},
        {"action": "set-statistics", "statistics": statistics(1) | {"blob-metadata": [{}]}},
        {"action": "set-statistics", "statistics": statistics(1) | {"statistics-path": 4}},
        {"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 1}},
    ],
)
def test_malformed_statistics_are_refused(update: Json) -> None:
    with pytest.raises(InvalidArgumentError):
        apply(table_with_snapshots(1), update)
