"""Rows on Spark that pass through every way of writing, and format 3, in the catalog and in transactions."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Site

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("site", "mode"), [("latest", "merge-on-read"), ("transaction by name", "copy-on-write")], indirect=["site"])
def test_row_level_commands(site: Site, mode: str) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    modes = ", ".join(f"'write.{command}.mode'='{mode}'" for command in ("delete", "update", "merge"))
    run(f"CREATE TABLE {t} TBLPROPERTIES ({modes}) AS SELECT id, concat('w', id) AS word FROM range(6)")
    run(f"DELETE FROM {t} WHERE id = 0")
    run(f"UPDATE {t} SET word = 'one' WHERE id = 1")
    run(
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (2L, 'two'), (3L, NULL), (9L, 'nine') AS s (id, word)) s ON {t}.id = s.id "
        "WHEN MATCHED AND s.word IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET word = s.word "
        "WHEN NOT MATCHED THEN INSERT * "
        f"WHEN NOT MATCHED BY SOURCE AND {t}.id = 5 THEN UPDATE SET word = 'orphan'"
    )
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"SELECT * FROM {t} ORDER BY id") == [(1, "one"), (2, "two"), (4, "w4"), (5, "orphan"), (9, "nine")]
        deleting = run(f"SELECT count(*) > 0 FROM {t}.delete_files")
        assert deleting == [(mode == "merge-on-read",)]


def test_overwrites(site: Site) -> None:
    run, here = site.here.engine.rows, site.here.scope
    conf = site.here.engine.spark.conf
    run(f"CREATE TABLE {here}.t PARTITIONED BY (kind) AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (id, kind)")
    try:
        conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        run(f"INSERT OVERWRITE {here}.t VALUES (10, 'a'), (30, 'c')")
        assert run(f"SELECT id FROM {here}.t ORDER BY id") == [(2,), (10,), (30,)]
    finally:
        conf.unset("spark.sql.sources.partitionOverwriteMode")
    run(f"INSERT OVERWRITE {here}.t PARTITION (kind = 'b') SELECT 20")
    run(f"INSERT INTO {here}.t BY NAME SELECT 'd' AS kind, 40 AS id")
    run(f"CREATE TABLE {here}.whole AS SELECT 1 AS id")
    run(f"INSERT OVERWRITE {here}.whole VALUES (7)")
    run(f"CREATE TABLE {here}.emptied AS SELECT 1 AS id")
    run(f"TRUNCATE TABLE {here}.emptied")
    for place in site.states():
        assert run(f"SELECT id, kind FROM {place.scope}.t ORDER BY id") == [(10, "a"), (20, "b"), (30, "c"), (40, "d")]
        assert run(f"SELECT id FROM {place.scope}.whole") == [(7,)]
        assert run(f"SELECT id FROM {place.scope}.emptied") == []


def test_tables_from_queries(site: Site) -> None:
    """CTAS, RTAS and CREATE OR REPLACE: a replaced table keeps its identity, its history and its other properties."""
    run, refusal, t = site.here.engine.rows, site.here.engine.refusal, f"{site.here.scope}.t"
    assert "NOT_FOUND" in refusal(f"REPLACE TABLE {t} USING iceberg AS SELECT 1 AS x")
    run(f"CREATE TABLE {t} USING iceberg PARTITIONED BY (bucket(2, id)) TBLPROPERTIES ('a'='1', 'b'='2') AS SELECT id FROM range(4)")
    before = site.here.metadata("t")
    run(f"REPLACE TABLE {t} USING iceberg TBLPROPERTIES ('b'='3') AS SELECT CAST(id AS STRING) AS word FROM {t} WHERE id > 1")
    run(f"CREATE OR REPLACE TABLE {t} USING iceberg PARTITIONED BY (word) AS SELECT concat('w', word) AS word FROM {t}")
    run(f"CREATE OR REPLACE TABLE {site.here.scope}.new USING iceberg AS SELECT 1 AS x")
    assert "DIVIDE_BY_ZERO" in refusal(f"CREATE TABLE {site.here.scope}.broken USING iceberg AS SELECT 1 / (id - 1) AS x FROM range(3)")
    for place in site.states():
        after = place.metadata("t")
        assert run(f"SELECT word FROM {place.scope}.t ORDER BY word") == [("w2",), ("w3",)]
        assert (after["table-uuid"], len(after["snapshots"])) == (before["table-uuid"], 3)
        assert (after["properties"]["a"], after["properties"]["b"]) == ("1", "3")
        first = before["current-snapshot-id"]
        assert run(f"SELECT id FROM {place.scope}.t VERSION AS OF {first} ORDER BY id") == [(0,), (1,), (2,), (3,)]
        assert {row[1] for row in run(f"SHOW TABLES IN {place.scope}")} == {"t", "new"}, "a query that fails leaves no table"


def test_row_lineage(site: Site) -> None:
    """Format 3: rows keep their ids when they are rewritten, and know the commit that last changed them."""
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(
        f"CREATE TABLE {t} (id BIGINT, word STRING) USING iceberg TBLPROPERTIES ('format-version'='3', 'write.update.mode'='copy-on-write')"
    )
    run(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 'old' FROM range(3)")
    run(f"INSERT INTO {t} VALUES (3, 'old')")
    run(f"UPDATE {t} SET word = 'new' WHERE id = 1")
    run(f"CALL {site.here.catalog}.system.rewrite_data_files(table => '{site.here.namespace}.t', options => map('rewrite-all', 'true'))")
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"SELECT id, _row_id, _last_updated_sequence_number FROM {t} ORDER BY id") == [
            (0, 0, 1),
            (1, 1, 3),
            (2, 2, 1),
            (3, 3, 2),
        ]
        metadata = place.metadata("t")
        assert metadata["format-version"] == 3
        ranges = [(snapshot["first-row-id"], snapshot["added-rows"]) for snapshot in metadata["snapshots"]]
        assert ranges[:2] == [(0, 3), (3, 1)] and metadata["next-row-id"] == ranges[-1][0] + ranges[-1][1]


def test_deletion_vectors_and_variants(site: Site) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(
        f"CREATE TABLE {t} (id BIGINT, body VARIANT) USING iceberg "
        "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"
    )
    run(f"""INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, parse_json(concat('{{"n": ', id, ', "list": [1, "two"]}}')) FROM range(4)""")
    run(f"DELETE FROM {t} WHERE id = 0")
    run(f"""UPDATE {t} SET body = parse_json('"gone"') WHERE id = 1""")
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"SELECT id, variant_get(body, '$.n', 'int'), to_json(body) FROM {t} ORDER BY id") == [
            (1, None, '"gone"'),
            (2, 2, '{"list":[1,"two"],"n":2}'),
            (3, 3, '{"list":[1,"two"],"n":3}'),
        ]
        assert run(f"SELECT file_format, record_count FROM {t}.delete_files") == [("PUFFIN", 2)], "one deletion vector for the file"
        fields = place.metadata("t")["schemas"][-1]["fields"]
        assert [(field["name"], field["type"]) for field in fields] == [("id", "long"), ("body", "variant")]


def test_default_values(site: Site) -> None:
    """Written by other clients, read by Spark: a column that old files lack has its initial default."""
    run, here = site.here.engine.rows, site.here
    t = f"{here.scope}.t"
    run(f"CREATE TABLE {t} (id BIGINT) USING iceberg TBLPROPERTIES ('format-version'='3')")
    run(f"INSERT INTO {t} VALUES (1)")
    level = {"id": 2, "name": "level", "required": False, "type": "int", "initial-default": 7, "write-default": 8}
    schema = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}, level]}
    here.commit("t", {"action": "add-schema", "schema": schema}, {"action": "set-current-schema", "schema-id": -1})
    run(f"INSERT INTO {t} VALUES (2, 9)")
    for place in site.states():
        assert run(f"SELECT id, level FROM {place.scope}.t ORDER BY id") == [(1, 7), (2, 9)]
        assert run(f"SELECT id FROM {place.scope}.t WHERE level = 7") == [(1,)]
