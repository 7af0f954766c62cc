"""Branches, tags, time travel and metadata tables of a table on Spark, in the catalog and in transactions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.integration.conftest import Site

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_DAY = 24 * 60 * 60 * 1000


def test_branches_and_tags(site: Site) -> None:
    run, refusal, t = site.here.engine.rows, site.here.engine.refusal, f"{site.here.scope}.t"
    run(f"CREATE TABLE {t} AS SELECT 1L AS id")
    run(f"INSERT INTO {t} VALUES (2)")
    first, second = site.here.snapshots("t")
    for change in (
        f"CREATE BRANCH audit AS OF VERSION {first} RETAIN 30 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS",
        "CREATE BRANCH IF NOT EXISTS audit",
        "CREATE BRANCH short",
        f"CREATE TAG best AS OF VERSION {first} RETAIN 365 DAYS",
        "CREATE OR REPLACE TAG best",
        f"CREATE TAG `the first` AS OF VERSION {first}",
        f"REPLACE TAG best AS OF VERSION {second} RETAIN 7 DAYS",
        "CREATE OR REPLACE BRANCH other",
        f"REPLACE BRANCH other AS OF VERSION {first} RETAIN 1 DAYS",
        "DROP BRANCH short",
        "DROP BRANCH IF EXISTS short",
        "CREATE TAG wrong",
        "DROP TAG wrong",
    ):
        run(f"ALTER TABLE {t} {change}")
    assert "already exists" in refusal(f"ALTER TABLE {t} CREATE BRANCH audit")
    assert "does not exist" in refusal(f"ALTER TABLE {t} DROP TAG wrong")
    assert "Ref best is a tag not a branch" in refusal(f"ALTER TABLE {t} DROP BRANCH best")
    run(f"INSERT INTO {t}.branch_audit VALUES (10), (11)")
    run(f"UPDATE {t}.branch_audit SET id = 12 WHERE id = 11")
    run(f"DELETE FROM {t}.branch_audit WHERE id = 1")
    run(f"MERGE INTO {t}.branch_other o USING (SELECT 20L AS id) s ON o.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert "Cannot write to table with time travel" in refusal(f"INSERT INTO {t}.tag_best VALUES (3)")
    for place in site.states():
        t = f"{place.scope}.t"
        refs = place.metadata("t")["refs"]
        assert set(refs) == {"main", "audit", "other", "best", "the first"}
        assert {key: refs["audit"][key] for key in refs["audit"] if key != "snapshot-id"} == {
            "type": "branch",
            "max-ref-age-ms": 30 * _DAY,
            "min-snapshots-to-keep": 3,
            "max-snapshot-age-ms": 2 * _DAY,
        }
        assert refs["best"] == {"snapshot-id": second, "type": "tag", "max-ref-age-ms": 7 * _DAY}
        assert refs["the first"] == {"snapshot-id": first, "type": "tag"}
        shown = run(f"SELECT name, type, max_reference_age_in_ms, min_snapshots_to_keep FROM {t}.refs ORDER BY name")
        assert [row[:2] for row in shown] == [
            ("audit", "BRANCH"),
            ("best", "TAG"),
            ("main", "BRANCH"),
            ("other", "BRANCH"),
            ("the first", "TAG"),
        ]
        assert run(f"SELECT id FROM {t}.branch_audit ORDER BY id") == [(10,), (12,)]
        assert run(f"SELECT id FROM {t} VERSION AS OF 'other' ORDER BY id") == [(1,), (20,)]
        assert run(f"SELECT id FROM {t}.tag_best ORDER BY id") == run(f"SELECT id FROM {t} ORDER BY id") == [(1,), (2,)]
        assert run(f"SELECT id FROM {t} VERSION AS OF 'the first'") == [(1,)]


def test_time_travel(site: Site) -> None:
    """By snapshot, by time and by name; a snapshot is read with the schema it was made with, a branch with the table's."""
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(f"CREATE TABLE {t} AS SELECT 1L AS id")
    run(f"ALTER TABLE {t} CREATE TAG first")
    run(f"ALTER TABLE {t} CREATE BRANCH early")
    run(f"ALTER TABLE {t} ADD COLUMN word STRING")
    run(f"INSERT INTO {t} VALUES (2, 'two')")
    for place in site.states():
        t = f"{place.scope}.t"
        ((first, at_first), (second, _)) = run(f"SELECT snapshot_id, committed_at FROM {t}.snapshots ORDER BY committed_at")
        moment = at_first + timedelta(milliseconds=1)
        for state in (
            f"VERSION AS OF {first}",
            "VERSION AS OF 'first'",
            f"FOR SYSTEM_VERSION AS OF {first}",
            f"TIMESTAMP AS OF '{moment}'",
        ):
            assert run(f"SELECT * FROM {t} {state}") == [(1,)], state
        assert run(f"SELECT * FROM {t}.snapshot_id_{first}") == [(1,)]
        assert run(f"SELECT * FROM {t}.at_timestamp_{int(moment.timestamp() * 1000)}") == [(1,)]
        assert run(f"SELECT * FROM {t} VERSION AS OF 'early'") == [(1, None)]
        assert run(f"SELECT * FROM {t} VERSION AS OF {second} ORDER BY id") == [(1, None), (2, "two")]
        assert "Cannot find matching snapshot ID or reference name" in place.engine.refusal(f"SELECT * FROM {t} VERSION AS OF 'never'")


@pytest.mark.parametrize("site", ["transaction as warehouse"], indirect=True)
def test_metadata_tables(site: Site) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(
        f"CREATE TABLE {t} (id BIGINT, kind STRING) USING iceberg PARTITIONED BY (kind) "
        "TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'format-version'='2')"
    )
    run(f"INSERT INTO {t} SELECT id, 'a' FROM range(5)")
    run(f"INSERT INTO {t} VALUES (9, 'b')")
    run(f"DELETE FROM {t} WHERE id = 3")
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"SELECT operation FROM {t}.snapshots ORDER BY committed_at") == [("append",), ("append",), ("delete",)]
        assert run(f"SELECT count(*), bool_and(is_current_ancestor) FROM {t}.history") == [(3, True)]
        assert run(f"SELECT content, sum(record_count) FROM {t}.files GROUP BY content ORDER BY content") == [(0, 6), (1, 1)]
        assert run(f"SELECT count(*) FROM {t}.data_files") == [(2,)] and len(run(f"SELECT DISTINCT file_path FROM {t}.all_data_files")) == 2
        assert run(f"SELECT count(*) FROM {t}.delete_files") == [(1,)] and len(run(f"SELECT pos FROM {t}.position_deletes")) == 1
        assert run(f"SELECT partition.kind, record_count, position_delete_record_count FROM {t}.partitions ORDER BY 1") == [
            ("a", 5, 1),
            ("b", 1, 0),
        ]
        assert run(f"SELECT count(*) FROM {t}.manifests") == [(3,)] and run(f"SELECT count(*) FROM {t}.all_manifests") == [(6,)]
        assert run(f"SELECT status, count(*) FROM {t}.entries GROUP BY status") == [(1, 3)]
        assert run(f"SELECT count(DISTINCT data_file.file_path) FROM {t}.all_entries") == [(3,)]
        log = run(f"SELECT file, latest_sequence_number FROM {t}.metadata_log_entries ORDER BY timestamp")
        assert [number for _, number in log] == [None, 1, 2, 3] and len({file for file, _ in log}) == 4
        assert run(f"SELECT count(DISTINCT _file), max(_pos), count(DISTINCT _spec_id), count(DISTINCT _partition.kind) FROM {t}") == [
            (2, 4, 1, 2)
        ]
