"""`SHOW` and `DESCRIBE` of every kind on Spark, and views, in the catalog and in transactions."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Site, everywhere

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@everywhere
def test_show_and_describe(site: Site) -> None:
    run, here = site.here.engine.rows, site.here.scope
    run(
        f"CREATE TABLE {here}.orders (id BIGINT NOT NULL COMMENT 'key', day DATE) USING iceberg PARTITIONED BY (days(day)) "
        "COMMENT 'what was ordered' TBLPROPERTIES ('purpose'='test')"
    )
    run(f"CREATE TABLE {here}.other (x INT) USING iceberg")
    run(f"CREATE NAMESPACE {here}.deep WITH PROPERTIES ('team'='red')")
    run(f"CREATE NAMESPACE {here}.deep.deeper")
    run(f"INSERT INTO {here}.orders VALUES (1, DATE'2026-01-01')")
    run(f"CREATE VIEW {here}.v AS SELECT 1 AS x")
    for place in site.states():
        ns, scope = place.namespace, place.scope
        assert run(f"SHOW TABLES IN {scope}") == [(ns, "orders", False), (ns, "other", False)]
        assert run(f"SHOW TABLES IN {scope} LIKE 'ord*'") == [(ns, "orders", False)]
        assert run(f"SHOW VIEWS IN {scope}") == [(ns, "v", False)]
        assert run(f"SHOW NAMESPACES IN {scope}") == [(f"{ns}.deep",)]
        assert run(f"SHOW NAMESPACES IN {scope}.deep") == [(f"{ns}.deep.deeper",)]
        assert run(f"SHOW COLUMNS IN {scope}.orders") == [("id",), ("day",)]
        properties = dict(run(f"SHOW TBLPROPERTIES {scope}.orders"))
        assert properties["purpose"] == "test" and properties["current-snapshot-id"] == str(place.snapshots("orders")[0])
        ((created,),) = run(f"SHOW CREATE TABLE {scope}.orders")
        for part in (
            f"CREATE TABLE {scope}.orders",
            "id BIGINT NOT NULL COMMENT 'key'",
            "PARTITIONED BY (days(day))",
            "COMMENT 'what was ordered'",
            "'purpose' = 'test'",
            "USING iceberg",
        ):
            assert part in created, part
        described = {row[0]: row[1] for row in run(f"DESCRIBE TABLE EXTENDED {scope}.orders")}
        assert (described["Name"], described["Comment"], described["Provider"]) == (f"{scope}.orders", "what was ordered", "iceberg")
        assert run(f"DESCRIBE {scope}.orders id") == [("col_name", "id"), ("data_type", "bigint"), ("comment", "key")]
        assert place.engine.properties_of(f"{scope}.deep")["team"] == "red"
        run(f"USE {scope}")
        assert [row[1] for row in run("SHOW TABLES")] == ["orders", "other"]
        assert run("SELECT current_catalog(), current_schema()") == [(place.catalog, ns)]
        run("USE spark_catalog.default")


def test_views(site: Site) -> None:
    """Create, replace, alter, show, describe and drop; the versions of a view's definition are all kept."""
    run, refusal, here = site.here.engine.rows, site.here.engine.refusal, site.here.scope
    run(f"CREATE TABLE {here}.t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (id, word)")
    run(f"CREATE VIEW {here}.v (number COMMENT 'the id') COMMENT 'numbers' TBLPROPERTIES ('a'='1', 'b'='2') AS SELECT id FROM {here}.t")
    run(f"CREATE VIEW IF NOT EXISTS {here}.v AS SELECT 1 AS x")
    assert run(f"SELECT number FROM {here}.v ORDER BY number") == [(1,), (2,)]
    assert "already exists" in refusal(f"CREATE VIEW {here}.v AS SELECT 1 AS x")
    run(f"CREATE OR REPLACE VIEW {here}.v (number COMMENT 'ten times') TBLPROPERTIES ('a'='1', 'b'='2') AS SELECT id * 10 FROM {here}.t")
    run(f"ALTER VIEW {here}.v SET TBLPROPERTIES ('b'='3', 'c'='4')")
    run(f"ALTER VIEW {here}.v UNSET TBLPROPERTIES ('a')")
    run(f"ALTER VIEW {here}.v RENAME TO {here}.w")
    run(f"CREATE VIEW {here}.on_view AS SELECT max(number) AS top FROM {here}.w")
    run(f"CREATE VIEW {here}.dropped AS SELECT 1 AS x")
    run(f"DROP VIEW {here}.dropped")
    run(f"DROP VIEW IF EXISTS {here}.dropped")
    assert "VIEW_NOT_FOUND" in refusal(f"DROP VIEW {here}.dropped")
    assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(f"INSERT INTO {here}.w VALUES (1)")
    for place in site.states():
        scope = place.scope
        assert run(f"SHOW VIEWS IN {scope}") == [(place.namespace, "on_view", False), (place.namespace, "w", False)]
        assert run(f"SHOW VIEWS IN {scope} LIKE 'on*'") == [(place.namespace, "on_view", False)]
        properties = dict(run(f"SHOW TBLPROPERTIES {scope}.w"))
        assert (properties["b"], properties["c"], "a" in properties) == ("3", "4", False)
        assert run(f"DESCRIBE {scope}.w") == [("number", "int", "ten times")]
        ((created,),) = run(f"SHOW CREATE TABLE {scope}.w")
        assert f"CREATE VIEW {scope}.w" in created and "SELECT id * 10" in created
        metadata = place.metadata("w", kind="views")
        assert [version["version-id"] for version in metadata["versions"]] == [1, 2] and metadata["current-version-id"] == 2
        assert [entry["version-id"] for entry in metadata["version-log"]] == [1, 2]
    if site.transaction is None:
        assert run(f"SELECT number FROM {here}.w ORDER BY number") == [(10,), (20,)]
        assert run(f"SELECT top FROM {here}.on_view") == [(20,)]
