"""Iceberg's procedures (`CALL … system.…`) on Spark, in the catalog and in transactions: what they return, and what the table is then."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.conftest import Lake, Site, everywhere
from tests.support.s3_server import S3Server

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def call(lake: Lake, procedure: str, table: str, *arguments: str) -> list[tuple[object, ...]]:
    """CALL, with the table's full name as the argument `table`."""
    listed = ", ".join([f"table => '{lake.namespace}.{table}'", *arguments])
    return lake.engine.rows(f"CALL {lake.catalog}.system.{procedure}({listed})")


def ids(lake: Lake, table: str) -> list[int]:
    return [row[0] for row in lake.engine.rows(f"SELECT id FROM {lake.scope}.{table} ORDER BY id")]


def three_inserts(lake: Lake) -> list[int]:
    """The table `t` with 1, 2 and 3 in one snapshot each, and those snapshots."""
    lake.engine.rows(f"CREATE TABLE {lake.scope}.t AS SELECT 1L AS id")
    for number in (2, 3):
        lake.engine.rows(f"INSERT INTO {lake.scope}.t VALUES ({number})")
    return lake.snapshots("t")


@everywhere
def test_snapshots_are_moved(site: Site) -> None:
    here, run = site.here, site.here.engine.rows
    first, second, third = three_inserts(here)
    assert [row[0] for row in call(here, "ancestors_of", "t")] == [third, second, first]
    assert call(here, "rollback_to_snapshot", "t", f"snapshot_id => {second}") == [(third, second)]
    assert ids(here, "t") == [1, 2]
    ((at_first,),) = run(f"SELECT committed_at FROM {here.scope}.t.snapshots WHERE snapshot_id = {first}")
    moment = f"TIMESTAMP '{at_first + timedelta(milliseconds=1)}'"
    assert call(here, "rollback_to_timestamp", "t", f"timestamp => {moment}") == [(second, first)]
    # An append can be taken over from where it was made to where it was not.
    assert call(here, "cherrypick_snapshot", "t", f"snapshot_id => {third}") == [(third, here.snapshots("t")[-1])]
    assert ids(here, "t") == [1, 3]
    assert call(here, "set_current_snapshot", "t", f"snapshot_id => {second}")[0][1] == second
    run(f"ALTER TABLE {here.scope}.t CREATE TAG best AS OF VERSION {third}")
    assert call(here, "set_current_snapshot", "t", "ref => 'best'") == [(second, third)]
    run(f"ALTER TABLE {here.scope}.t CREATE BRANCH audit")
    run(f"INSERT INTO {here.scope}.t.branch_audit VALUES (4)")
    ((name, before, after),) = call(here, "fast_forward", "t", "branch => 'main'", "to => 'audit'")
    assert (name, before, after) == ("main", third, here.snapshots("t")[-1])
    for place in site.states():
        assert ids(place, "t") == [1, 2, 3, 4]
        assert [row[0] for row in call(place, "ancestors_of", "t")] == [after, third, second, first]
        history = run(f"SELECT snapshot_id, is_current_ancestor FROM {place.scope}.t.history ORDER BY made_current_at")
        assert [row[0] for row in history][:5] == [first, second, third, second, first]
        assert {row[0] for row in history if row[1]} == {first, second, third, after}


def test_write_audit_publish(site: Site) -> None:
    """Rows that wait in a snapshot (`spark.wap.id`) or in a branch (`spark.wap.branch`) until they are published."""
    here, run = site.here, site.here.engine.rows
    conf = here.engine.spark.conf
    run(f"CREATE TABLE {here.scope}.t TBLPROPERTIES ('write.wap.enabled'='true') AS SELECT 1L AS id")
    try:
        conf.set("spark.wap.id", "load-1")
        run(f"INSERT INTO {here.scope}.t VALUES (2)")
        conf.unset("spark.wap.id")
        assert ids(here, "t") == [1], "staged only"
        ((staged, summary),) = run(
            f"SELECT snapshot_id, summary['wap.id'] FROM {here.scope}.t.snapshots WHERE summary['wap.id'] IS NOT NULL"
        )
        assert summary == "load-1"
        run(f"INSERT INTO {here.scope}.t VALUES (3)")
        assert call(here, "publish_changes", "t", "wap_id => 'load-1'") == [(staged, here.snapshots("t")[-1])]
        assert ids(here, "t") == [1, 2, 3]
        assert "load-1" in here.engine.refusal(f"CALL {here.catalog}.system.publish_changes('{here.namespace}.t', 'load-1')")

        run(f"ALTER TABLE {here.scope}.t CREATE BRANCH audit")
        conf.set("spark.wap.branch", "audit")
        run(f"INSERT INTO {here.scope}.t VALUES (4)")
        run(f"DELETE FROM {here.scope}.t WHERE id = 1")
        assert ids(here, "t") == [2, 3, 4], "the session works on the branch"
        conf.unset("spark.wap.branch")
        assert ids(here, "t") == [1, 2, 3]
    finally:
        conf.unset("spark.wap.id")
        conf.unset("spark.wap.branch")
    call(here, "fast_forward", "t", "branch => 'main'", "to => 'audit'")
    for place in site.states():
        assert ids(place, "t") == [2, 3, 4]
        refs = dict(run(f"SELECT name, snapshot_id FROM {place.scope}.t.refs"))
        assert refs["main"] == refs["audit"]


def test_maintenance(site: Site) -> None:
    """Files are joined, manifests are joined, old snapshots go; the rows stay. While a transaction is open no file may go."""
    here, run = site.here, site.here.engine.rows
    run(
        f"CREATE TABLE {here.scope}.t (id BIGINT, word STRING) USING iceberg TBLPROPERTIES "
        "('write.delete.mode'='merge-on-read', 'commit.manifest-merge.enabled'='false')"
    )
    for start in (0, 10, 20):
        run(f"INSERT INTO {here.scope}.t SELECT /*+ COALESCE(1) */ id, concat('w', id) FROM range({start}, {start + 10})")
    run(f"DELETE FROM {here.scope}.t WHERE id = 5")
    run(f"DELETE FROM {here.scope}.t WHERE id = 15")
    assert run(f"SELECT content, count(*) FROM {here.scope}.t.files GROUP BY content ORDER BY content") == [(0, 3), (1, 2)]

    assert call(here, "rewrite_position_delete_files", "t", "options => map('rewrite-all', 'true')")[0][:2] == (2, 2)
    ((rewritten, added, _, failed, *_),) = call(here, "rewrite_data_files", "t", "options => map('rewrite-all', 'true')")
    assert (rewritten, added, failed) == (3, 1, 0)
    ((joined, manifests),) = call(here, "rewrite_manifests", "t")
    assert joined > manifests >= 1
    assert call(here, "compute_table_stats", "t", "columns => array('id')")[0][0].endswith(".stats")
    for place in site.states():
        assert ids(place, "t") == [number for number in range(30) if number not in {5, 15}]
        assert run(f"SELECT count(*), sum(record_count) FROM {place.scope}.t.data_files") == [(1, 28)]

    # In the catalog only: in a transaction files must not go, since it may be rolled back.
    before = len(place.snapshots("t"))
    tomorrow = f"older_than => TIMESTAMP '{datetime.now(UTC) + timedelta(days=1):%F %T}'"
    ((data, positions, equality, _, lists, _),) = call(place, "expire_snapshots", "t", tomorrow, "retain_last => 1")
    assert (data, equality, lists) == (3, 0, before - 1) and positions >= 2
    assert len(place.snapshots("t")) == 1
    assert run(f"SELECT count(*) FROM {place.scope}.t") == [(28,)]


def test_statistics_and_orphans(local_lake: Lake) -> None:
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.t PARTITIONED BY (even) AS SELECT id, id % 2 = 0 AS even FROM range(10)")
    ((statistics,),) = call(here, "compute_table_stats", "t")
    ((by_partition,),) = call(here, "compute_partition_stats", "t")
    assert statistics.endswith(".stats") and "partition-stats" in by_partition
    metadata = here.metadata("t")
    assert [file["statistics-path"] for file in metadata["statistics"]] == [statistics]
    assert {blob["properties"]["ndv"] for blob in metadata["statistics"][0]["blob-metadata"]} == {"10", "2"}
    assert [file["statistics-path"] for file in metadata["partition-statistics"]] == [by_partition]

    orphan = Path(metadata["location"].removeprefix("file://")) / "data" / "orphan.parquet"
    orphan.write_bytes(b"nobody knows me")
    long_ago = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    os.utime(orphan, (long_ago, long_ago))
    assert [Path(row[0].removeprefix("file:")) for row in call(here, "remove_orphan_files", "t", "dry_run => true")] == [orphan]
    assert orphan.exists()


def test_files_and_tables_of_others_are_taken_over(site: Site, tmp_path: Path) -> None:
    here, run = site.here, site.here.engine.rows
    first, second, _ = three_inserts(here)
    here.engine.spark.range(7, 9).coalesce(1).write.parquet(str(tmp_path / "files"))
    ((added, _),) = call(here, "add_files", "t", f"source_table => '`parquet`.`{tmp_path / 'files'}`'")
    assert added == 1
    files = run(f"SELECT latest_snapshot_id, file FROM {here.scope}.t.metadata_log_entries ORDER BY timestamp")
    (location,) = {file for snapshot, file in files if snapshot == second}
    assert call(here, "register_table", "earlier", f"metadata_file => '{location}'") == [(second, 2, 2)]
    run(f"INSERT INTO {here.scope}.earlier VALUES (5)")
    for place in site.states():
        assert ids(place, "t") == [1, 2, 3, 7, 8]
        assert ids(place, "earlier") == [1, 2, 5]
        assert run(f"SELECT id FROM {place.scope}.earlier VERSION AS OF {first}") == [(1,)]


def test_changes_between_snapshots(site: Site) -> None:
    here, run = site.here, site.here.engine.rows
    run(f"CREATE TABLE {here.scope}.t AS SELECT * FROM VALUES (1L, 'one'), (2L, 'two') AS t (id, word)")
    run(f"UPDATE {here.scope}.t SET word = 'TWO' WHERE id = 2")
    run(f"DELETE FROM {here.scope}.t WHERE id = 1")
    changes = run(f"SELECT _change_ordinal, _change_type, id FROM {here.scope}.t.changes")
    assert {row[1:] for row in changes if row[0] == 0} == {("INSERT", 1), ("INSERT", 2)}
    for place in site.states():
        start = place.snapshots("t")[0]
        ((view,),) = call(
            place, "create_changelog_view", "t", f"options => map('start-snapshot-id', '{start}')", "identifier_columns => array('id')"
        )
        changes = run(f"SELECT _change_ordinal, _change_type, id, word FROM {view} ORDER BY _change_ordinal, _change_type DESC")
        assert changes == [(0, "UPDATE_BEFORE", 2, "two"), (0, "UPDATE_AFTER", 2, "TWO"), (1, "DELETE", 1, "one")]
        run(f"DROP VIEW {view}")


@pytest.mark.s3
def test_a_table_is_staged_for_another_place(s3_lake: Lake, s3_server: S3Server) -> None:
    """On S3 only: in a local folder the procedure takes `file:/` and `file:///` for two places."""
    three_inserts(s3_lake)
    source = s3_lake.metadata("t")["location"]
    target = "s3://elsewhere/t"
    ((latest, listed, manifests, deletes),) = call(
        s3_lake, "rewrite_table_path", "t", f"source_prefix => '{source}'", f"target_prefix => '{target}'"
    )
    assert latest.endswith(".metadata.json") and (manifests, deletes) == (3, 0)
    bucket, _, folder = listed.removeprefix("s3://").partition("/")
    with s3_server.client() as client:
        parts = client.list_objects_v2(Bucket=bucket, Prefix=folder)["Contents"]
        listing = "".join(client.get_object(Bucket=bucket, Key=part["Key"])["Body"].read().decode() for part in parts)
    targets = [line.split(",")[1] for line in listing.splitlines()]
    assert {name.removeprefix(f"{target}/").split("/")[0] for name in targets} == {"data", "metadata"}
    assert sum(name.endswith(".parquet") for name in targets) == 3


def test_purge_deletes_nothing(local_lake: Lake) -> None:
    """Spark leaves a purged table's files to the catalog, whose earlier versions show them."""
    here, run = local_lake, local_lake.engine.rows
    three_inserts(here)
    earlier = here.begin()
    run(f"DROP TABLE {here.scope}.t PURGE")
    assert "TABLE_OR_VIEW_NOT_FOUND" in here.engine.refusal(f"SELECT * FROM {here.scope}.t")
    assert ids(earlier.by_name, "t") == [1, 2, 3]
    earlier.roll_back()
