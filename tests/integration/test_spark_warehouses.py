"""Warehouses as handles in Spark: one version of everything, one transaction as a whole catalog, a catalog that is yet to be made."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.conftest import Engine, Lake
from tests.support.servers import WAREHOUSE, Place, running_server

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_pinned_versions(lake: Lake) -> None:
    """The catalog as it was, by version, by time and as of now; nobody can write to it."""
    engine, run, ns = lake.engine, lake.engine.rows, lake.namespace
    run(f"CREATE TABLE {lake.scope}.one AS SELECT 1 AS id")
    version = int(_latest(lake))
    moment = time.time_ns() // 1_000_000
    run(f"INSERT INTO {lake.scope}.one VALUES (2)")
    run(f"CREATE TABLE {lake.scope}.two AS SELECT 1 AS id")
    states = [f"v{version}", str(moment), datetime.fromtimestamp(moment / 1000, UTC).isoformat().replace("+00:00", "Z")]
    past = [engine.attach(lake.server, f"{WAREHOUSE}@{state}") for state in states]
    latest = engine.attach(lake.server, f"{WAREHOUSE}@latest")
    assert run(f"SELECT id FROM {latest}.{ns}.one ORDER BY id") == [(1,), (2,)]
    run(f"DROP TABLE {lake.scope}.two")
    run(f"DELETE FROM {lake.scope}.one WHERE id = 1")
    for catalog in past:
        assert run(f"SELECT id FROM {catalog}.{ns}.one") == [(1,)], catalog
        assert run(f"SHOW TABLES IN {catalog}.{ns}") == [(ns, "one", False)]
        assert run(f"SELECT count(*) FROM {catalog}.{ns}.one.snapshots") == [(1,)]
    assert run(f"SELECT id FROM {latest}.{ns}.one ORDER BY id") == [(1,), (2,)], "pinned when the session first asked"
    assert run(f"SELECT id FROM {latest}.{ns}.two") == [(1,)]
    assert run(f"SELECT id FROM {lake.scope}.one") == [(2,)]

    refused = f"Version {version} is in the past and cannot be written"
    for statement in (
        f"INSERT INTO {past[0]}.{ns}.one VALUES (3)",
        f"CREATE TABLE {past[0]}.{ns}.three (x INT) USING iceberg",
        f"ALTER TABLE {past[0]}.{ns}.one ADD COLUMN x INT",
        f"ALTER TABLE {past[0]}.{ns}.one RENAME TO {ns}.three",
        f"DROP TABLE {past[0]}.{ns}.one",
        f"CREATE VIEW {past[0]}.{ns}.v AS SELECT 1 AS x",
        f"CREATE NAMESPACE {past[0]}.more",
        f"ALTER NAMESPACE {past[0]}.{ns} SET PROPERTIES ('a'='b')",
    ):
        assert refused in engine.refusal(statement), statement


def test_a_transaction_as_a_warehouse(lake: Lake) -> None:
    """SQL that knows nothing of transactions: its table names stay, its whole session is in one."""
    engine, run, ns = lake.engine, lake.engine.rows, lake.namespace
    run(f"CREATE TABLE {lake.scope}.one AS SELECT 1 AS id")
    dtxn = lake.begin(isolation_level="serializable")
    inside = engine.attach(lake.server, f"{WAREHOUSE}@dtxn_{dtxn.id}")
    run(f"USE {inside}.{ns}")
    run("INSERT INTO one VALUES (2)")
    run("CREATE TABLE two AS SELECT max(id) AS top FROM one")
    run("CREATE VIEW both AS SELECT id FROM one UNION ALL SELECT top FROM two")
    assert run("SELECT * FROM both ORDER BY id") == [(1,), (2,), (2,)]
    assert run(f"SELECT * FROM {dtxn.scope}.two") == [(2,)], "the same transaction under its other name"
    assert run(f"SHOW TABLES IN {lake.scope}") == [(ns, "one", False)]
    dtxn.commit()
    run(f"USE {lake.scope}")
    assert run("SELECT * FROM both ORDER BY id") == [(1,), (2,), (2,)]
    assert f"Transaction {dtxn.id} is committed" in engine.refusal(f"SELECT * FROM {inside}.{ns}.one")


def test_warehouses_that_are_not_there(local_lake: Lake) -> None:
    engine = local_lake.engine
    for state, message in {
        "v999999": "Version 999999 does not exist",
        "dtxn_never": "Namespace does not exist: sys.dtxns.dtxn_never",
        "2001-01-01": "No version is as old as",
        "yesterday": f"Warehouse does not exist: {WAREHOUSE}@yesterday",
    }.items():
        catalog = engine.attach(local_lake.server, f"{WAREHOUSE}@{state}")
        assert message in engine.refusal(f"SHOW NAMESPACES IN {catalog}")


def test_create_namespace_sys_makes_the_catalog(engine: Engine, tmp_path: Path) -> None:
    with running_server(Place(str(tmp_path / "catalog")), tmp_path / "server.log", flags=["--no-init"]) as server:
        catalog = engine.attach(server)
        assert "holds no catalog yet" in engine.refusal(f"CREATE NAMESPACE {catalog}.a")
        engine.rows(f"CREATE NAMESPACE {catalog}.sys")
        engine.rows(f"CREATE NAMESPACE {catalog}.a")
        assert engine.rows(f"SHOW NAMESPACES IN {catalog}") == [("a",)]


def _latest(lake: Lake) -> str:
    """The latest version's number: a transaction that begins now is based on it."""
    probe = lake.begin()
    version = probe.properties["base-version"]
    probe.roll_back()
    return version
