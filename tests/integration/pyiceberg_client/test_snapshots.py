"""Branches, tags, rollbacks and the expiry of a table's snapshots through PyIceberg; in the catalog and in transactions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile

from tests.integration.pyiceberg_client.conftest import Site, ids_of, numbers

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


def three_appends(site: Site) -> tuple[Table, list[int]]:
    """A table and its three snapshots: {1}, {1, 2}, {1, 2, 3}."""
    table = site.create("t", numbers(1))
    table.append(numbers(2))
    table.append(numbers(3))
    return table, [entry.snapshot_id for entry in table.history()]


def test_branches_and_tags(site: Site) -> None:
    table, (first, second, _) = three_appends(site)
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(first, "first", max_ref_age_ms=86_400_000)
        snapshots.create_branch(second, "kept", max_ref_age_ms=3_600_000, max_snapshot_age_ms=60_000, min_snapshots_to_keep=2)
        snapshots.create_branch(second, "audit").create_branch(first, "short").create_tag(second, "wrong")
    table.append(numbers(10), branch="audit")
    table.delete("id == 1", branch="audit")
    table.overwrite(numbers(11), overwrite_filter="id == 10", branch="audit")
    with table.manage_snapshots() as snapshots:
        snapshots.remove_branch("short").remove_tag("wrong")
    for place in site.states():
        table = place.load("t")
        assert set(table.refs()) == {"main", "first", "kept", "audit"}
        tag, branch = table.refs()["first"], table.refs()["kept"]
        assert (tag.snapshot_ref_type, tag.snapshot_id, tag.max_ref_age_ms) == (SnapshotRefType.TAG, first, 86_400_000)
        assert (branch.snapshot_ref_type, branch.max_ref_age_ms, branch.max_snapshot_age_ms, branch.min_snapshots_to_keep) == (
            SnapshotRefType.BRANCH,
            3_600_000,
            60_000,
            2,
        )
        assert sorted(table.scan().use_ref("audit").to_arrow()["id"].to_pylist()) == [2, 11]
        assert table.scan().use_ref("first").to_arrow()["id"].to_pylist() == [1]
        assert ids_of(table) == [1, 2, 3]
        with place.again(**{"snapshot-loading-mode": "refs"}) as lean:
            only = lean.load("t")
            assert {snapshot.snapshot_id for snapshot in only.snapshots()} == {ref.snapshot_id for ref in table.refs().values()}
            assert ids_of(only) == [1, 2, 3]


def test_a_branch_that_moved_meanwhile(site: Site) -> None:
    table, (first, second, _) = three_appends(site)
    table.manage_snapshots().create_branch(first, "audit").commit()
    stale = site.load("t")
    table.append(numbers(4), branch="audit")
    with pytest.raises(CommitFailedException, match="Requirement failed: branch audit has changed"):
        stale.manage_snapshots().remove_branch("audit").commit()
    with pytest.raises(CommitFailedException, match="Requirement failed"):
        stale.manage_snapshots().create_tag(second, "audit").commit()
    for place in site.states():
        assert sorted(place.load("t").scan().use_ref("audit").to_arrow()["id"].to_pylist()) == [1, 4]


def test_rollbacks(site: Site) -> None:
    table, (first, second, third) = three_appends(site)
    table.manage_snapshots().create_tag(third, "best").commit()
    table.manage_snapshots().rollback_to_snapshot(second).commit()
    assert ids_of(site.load("t")) == [1, 2]
    with pytest.raises(ValueError, match="not an ancestor"):
        table.manage_snapshots().rollback_to_snapshot(third)
    at_first = table.snapshot_by_id(first)
    assert at_first is not None
    table.manage_snapshots().rollback_to_timestamp(at_first.timestamp_ms + 1).commit()
    assert ids_of(site.load("t")) == [1]
    table.manage_snapshots().set_current_snapshot(ref_name="best").commit()
    table.manage_snapshots().set_current_snapshot(snapshot_id=second).commit()
    table.append(numbers(4))
    for place in site.states():
        table = place.load("t")
        assert ids_of(table) == [1, 2, 4]
        current = table.current_snapshot()
        assert current is not None and current.parent_snapshot_id == second
        assert [entry.snapshot_id for entry in table.history()] == [first, second, third, second, first, third, second, current.snapshot_id]
        assert ids_of(table, snapshot_id=third) == [1, 2, 3]
        as_of = table.snapshot_as_of_timestamp(current.timestamp_ms)
        assert as_of == current


def test_snapshots_expire(site: Site) -> None:
    table, (first, second, third) = three_appends(site)
    table.manage_snapshots().create_tag(first, "kept").commit()
    with pytest.raises(ValueError, match="protected"):
        table.maintenance.expire_snapshots().by_id(third)
    with table.maintenance.expire_snapshots() as expiry:
        expiry.older_than(datetime.now(UTC) + timedelta(days=1))
    for place in site.states():
        table = place.load("t")
        assert {snapshot.snapshot_id for snapshot in table.snapshots()} == {first, third}
        assert table.snapshot_by_id(second) is None
        assert ids_of(table) == [1, 2, 3] and ids_of(table, snapshot_id=first) == [1]


def test_statistics(site: Site) -> None:
    table, (first, second, _) = three_appends(site)
    blob = BlobMetadata(type="apache-datasketches-theta-v1", snapshot_id=first, sequence_number=1, fields=[1], properties={"ndv": "1"})

    def statistics(snapshot: int) -> StatisticsFile:
        path = f"{table.location()}/metadata/{snapshot}.stats"
        return StatisticsFile(
            snapshot_id=snapshot, statistics_path=path, file_size_in_bytes=413, file_footer_size_in_bytes=42, blob_metadata=[blob]
        )

    with table.update_statistics() as update:
        update.set_statistics(statistics(first)).set_statistics(statistics(second))
    table.update_statistics().remove_statistics(second).commit()
    for place in site.states():
        (kept,) = place.load("t").metadata.statistics
        assert kept == statistics(first) and kept.blob_metadata[0].properties == {"ndv": "1"}
