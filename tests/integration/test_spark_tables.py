"""Everyday SQL on Spark through a real server, on a local folder and on S3: tables, views, namespaces, time travel."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.integration.conftest import Lake

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_rows(lake: Lake) -> None:
    """INSERT, UPDATE, DELETE and MERGE on a partitioned table, and every state of it again through time travel."""
    run, t = lake.engine.rows, f"{lake.scope}.trips"
    run(f"CREATE TABLE {t} (id BIGINT NOT NULL, rider STRING, day DATE) USING iceberg PARTITIONED BY (days(day))")
    assert run(f"SELECT * FROM {t}") == []
    run(f"INSERT INTO {t} VALUES (1, 'ann', DATE'2026-01-01'), (2, 'ben', DATE'2026-01-02')")
    run(f"UPDATE {t} SET rider = 'anna' WHERE id = 1")
    run(f"DELETE FROM {t} WHERE day = DATE'2026-01-02'")
    run(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'Anna'), (3, 'cat') AS u (id, rider)) u ON {t}.id = u.id "
        "WHEN MATCHED THEN UPDATE SET rider = u.rider "
        "WHEN NOT MATCHED THEN INSERT (id, rider, day) VALUES (u.id, u.rider, DATE'2026-01-03')"
    )
    assert run(f"SELECT * FROM {t} ORDER BY id") == [(1, "Anna", date(2026, 1, 1)), (3, "cat", date(2026, 1, 3))]
    assert run(f"SELECT id FROM {t} WHERE day > DATE'2026-01-02'") == [(3,)]

    snapshots = run(f"SELECT snapshot_id, committed_at, operation FROM {t}.snapshots ORDER BY committed_at")
    assert [operation for _, _, operation in snapshots] == ["append", "overwrite", "delete", "overwrite"]
    states = [["1 ann", "2 ben"], ["1 anna", "2 ben"], ["1 anna"], ["1 Anna", "3 cat"]]
    for (snapshot, committed_at, _), state in zip(snapshots, states, strict=True):
        for moment in (f"VERSION AS OF {snapshot}", f"TIMESTAMP AS OF '{committed_at + timedelta(microseconds=999)}'"):
            assert run(f"SELECT concat(id, ' ', rider) FROM {t} {moment} ORDER BY id") == [(row,) for row in state], moment
    assert "Cannot find a snapshot older than" in lake.engine.refusal(f"SELECT * FROM {t} TIMESTAMP AS OF '2001-01-01 00:00:00'")

    assert run(f"SELECT count(*), sum(record_count) FROM {t}.files") == [(2, 2)]
    assert [row[0] for row in run(f"SELECT snapshot_id FROM {t}.history ORDER BY made_current_at")] == [row[0] for row in snapshots]
    root = lake.server.place.root
    files = [row[0] for row in run(f"SELECT file_path FROM {t}.files")]
    assert all(f"{root.removeprefix('s3:')}/data/{lake.namespace}/trips-" in path for path in files), files

    run(f"CALL {lake.catalog}.system.rollback_to_snapshot('{lake.namespace}.trips', {snapshots[0][0]})")
    assert run(f"SELECT rider FROM {t} ORDER BY id") == [("ann",), ("ben",)]


def test_columns_properties_and_partitions_change(lake: Lake) -> None:
    run, t = lake.engine.rows, f"{lake.scope}.evolving"
    run(f"CREATE TABLE {t} (id INT, name STRING) USING iceberg TBLPROPERTIES ('purpose'='test')")
    run(f"INSERT INTO {t} VALUES (1, 'one')")
    run(f"ALTER TABLE {t} ADD COLUMNS (price DOUBLE COMMENT 'in euros', place STRUCT<city: STRING>)")
    run(f"ALTER TABLE {t} RENAME COLUMN name TO title")
    run(f"ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT")
    run(f"ALTER TABLE {t} ADD COLUMN place.street STRING")
    run(f"ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)")
    run(f"INSERT INTO {t} VALUES (3000000000, 'big', 1.5, named_struct('city', 'Rome', 'street', 'Corso'))")
    assert run(f"SELECT id, title, price, place.street FROM {t} ORDER BY id") == [(1, "one", None, None), (3000000000, "big", 1.5, "Corso")]
    run(f"ALTER TABLE {t} DROP COLUMN price")
    run(f"ALTER TABLE {t} SET TBLPROPERTIES ('owner-team'='a', 'purpose'='demo')")
    run(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('owner-team')")
    described = [row[:2] for row in run(f"DESCRIBE TABLE {t}")]
    assert described[:3] == [("id", "bigint"), ("title", "string"), ("place", "struct<city:string,street:string>")]
    assert ("Part 0", "bucket(4, id)") in described
    properties = dict(run(f"SHOW TBLPROPERTIES {t}"))
    assert properties["purpose"] == "demo" and "owner-team" not in properties
    assert "PARTITIONED BY (bucket(4, id))" in run(f"SHOW CREATE TABLE {t}")[0][0]
    assert "already exists" in lake.engine.refusal(f"ALTER TABLE {t} ADD COLUMN title INT")


def test_tables_from_queries_are_replaced_renamed_and_dropped(lake: Lake) -> None:
    run, refusal, ns = lake.engine.rows, lake.engine.refusal, lake.scope
    run(f"CREATE TABLE {ns}.one PARTITIONED BY (even) AS SELECT id, id % 2 = 0 AS even FROM range(10)")
    run(f"CREATE OR REPLACE TABLE {ns}.one AS SELECT id * 10 AS tens FROM {ns}.one WHERE even")
    assert run(f"SELECT * FROM {ns}.one ORDER BY tens") == [(0,), (20,), (40,), (60,), (80,)]
    (before,) = run(f"SELECT snapshot_id FROM {ns}.one.snapshots ORDER BY committed_at LIMIT 1")
    assert run(f"SELECT count(*) FROM {ns}.one VERSION AS OF {before[0]}") == [(10,)], "replacing keeps the history"
    assert "already exists" in refusal(f"CREATE TABLE {ns}.one AS SELECT 1 AS x")
    run(f"CREATE TABLE IF NOT EXISTS {ns}.one (x INT) USING iceberg")

    run(f"CREATE NAMESPACE {ns}.deep")
    run(f"ALTER TABLE {ns}.one RENAME TO {lake.namespace}.deep.two")
    assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(f"SELECT * FROM {ns}.one")
    assert run(f"SELECT count(*) FROM {ns}.deep.two") == [(5,)]
    run(f"INSERT INTO {ns}.deep.two VALUES (100)")
    run(f"CREATE TABLE {ns}.other (x INT) USING iceberg")
    assert "already exists" in refusal(f"ALTER TABLE {ns}.other RENAME TO {lake.namespace}.deep.two")
    assert run(f"SHOW TABLES IN {ns}") == [(lake.namespace, "other", False)]
    assert run(f"SHOW TABLES IN {ns}.deep") == [(f"{lake.namespace}.deep", "two", False)]

    run(f"DROP TABLE {ns}.other")
    run(f"DROP TABLE {ns}.deep.two PURGE")
    run(f"DROP TABLE IF EXISTS {ns}.other")
    assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(f"DROP TABLE {ns}.other")
    # The name is free again, for something else.
    run(f"CREATE TABLE {ns}.other AS SELECT 'new' AS word")
    assert run(f"SELECT * FROM {ns}.other") == [("new",)]


def test_namespaces(lake: Lake) -> None:
    run, refusal, ns = lake.engine.rows, lake.engine.refusal, lake.scope
    run(f"CREATE NAMESPACE {ns}.sales COMMENT 'what was sold' WITH PROPERTIES ('team'='red')")
    run(f"CREATE NAMESPACE IF NOT EXISTS {ns}.sales")
    assert "already exists" in refusal(f"CREATE NAMESPACE {ns}.sales")
    run(f"CREATE NAMESPACE {ns}.sales.`with space.dot`")
    run(f"ALTER NAMESPACE {ns}.sales SET PROPERTIES ('team'='blue', 'level'='2')")
    described = dict(run(f"DESCRIBE NAMESPACE EXTENDED {ns}.sales"))
    assert described["Comment"] == "what was sold"
    assert described["Properties"] == "((level,2), (team,blue))"
    assert run(f"SHOW NAMESPACES IN {ns}") == [(f"{lake.namespace}.sales",)]
    assert run(f"SHOW NAMESPACES IN {ns}.sales") == [(f"{lake.namespace}.sales.`with space.dot`",)]
    assert (lake.namespace,) in run(f"SHOW NAMESPACES IN {lake.catalog}")
    assert ("sys",) not in run(f"SHOW NAMESPACES IN {lake.catalog}")
    run(f"CREATE TABLE {ns}.sales.`with space.dot`.`strange \u00e4 name` AS SELECT 1 AS `co lumn`")
    assert run(f"SELECT `co lumn` FROM {ns}.sales.`with space.dot`.`strange \u00e4 name`") == [(1,)]
    assert "not empty" in refusal(f"DROP NAMESPACE {ns}.sales")
    run(f"DROP TABLE {ns}.sales.`with space.dot`.`strange \u00e4 name`")
    run(f"DROP NAMESPACE {ns}.sales.`with space.dot`")
    run(f"DROP NAMESPACE {ns}.sales")
    assert "SCHEMA_NOT_FOUND" in refusal(f"DESCRIBE NAMESPACE {ns}.sales")


def test_views(lake: Lake) -> None:
    run, refusal, ns = lake.engine.rows, lake.engine.refusal, lake.scope
    run(f"CREATE TABLE {ns}.sales AS SELECT * FROM VALUES ('a', 1), ('b', 2) AS t (item, price)")
    run(f"CREATE VIEW {ns}.total (sum COMMENT 'of all prices') COMMENT 'money' AS SELECT sum(price) FROM {ns}.sales")
    assert run(f"SELECT * FROM {ns}.total") == [(3,)]
    run(f"INSERT INTO {ns}.sales VALUES ('c', 4)")
    assert run(f"SELECT sum FROM {ns}.total") == [(7,)]
    # Names without a namespace are those of where the view was made, wherever it is used.
    run(f"USE {ns}")
    run("CREATE VIEW dear AS SELECT item FROM sales WHERE price > 1")
    run(f"USE {lake.catalog}")
    assert run(f"SELECT * FROM {ns}.dear ORDER BY item") == [("b",), ("c",)]
    assert {row[1] for row in run(f"SHOW VIEWS IN {ns}")} == {"total", "dear"}
    run(f"CREATE OR REPLACE VIEW {ns}.total AS SELECT count(*) AS n, sum(price) AS sum FROM {ns}.sales")
    run(f"ALTER VIEW {ns}.total SET TBLPROPERTIES ('purpose'='test')")
    run(f"ALTER VIEW {ns}.total RENAME TO {ns}.totals")
    assert run(f"SELECT n, sum FROM {ns}.totals") == [(3, 7)]
    assert dict(run(f"SHOW TBLPROPERTIES {ns}.totals"))["purpose"] == "test"
    assert "already exists" in refusal(f"CREATE VIEW {ns}.sales AS SELECT 1 AS x")
    assert "already exists" in refusal(f"CREATE TABLE {ns}.totals (x INT) USING iceberg")
    run(f"DROP VIEW {ns}.totals")
    run(f"DROP VIEW {ns}.dear")
    assert run(f"SHOW VIEWS IN {ns}") == []


def test_branches_and_tags_of_a_table(lake: Lake) -> None:
    run, t = lake.engine.rows, f"{lake.scope}.branched"
    run(f"CREATE TABLE {t} AS SELECT 1 AS id")
    run(f"ALTER TABLE {t} CREATE TAG first")
    run(f"ALTER TABLE {t} CREATE BRANCH audit")
    run(f"INSERT INTO {t}.branch_audit VALUES (2)")
    run(f"INSERT INTO {t} VALUES (3)")
    assert run(f"SELECT id FROM {t} ORDER BY id") == [(1,), (3,)]
    assert run(f"SELECT id FROM {t}.branch_audit ORDER BY id") == [(1,), (2,)]
    assert run(f"SELECT id FROM {t} VERSION AS OF 'first'") == [(1,)]
    assert run(f"SELECT name, type FROM {t}.refs ORDER BY name") == [("audit", "BRANCH"), ("first", "TAG"), ("main", "BRANCH")]
    run(f"ALTER TABLE {t} DROP TAG first")
    run(f"ALTER TABLE {t} DROP BRANCH audit")
    assert run(f"SELECT name FROM {t}.refs") == [("main",)]
