"""Hermitage through Spark SQL, the sessions' transactions side by side in one Spark session."""

from __future__ import annotations

import uuid

import pytest

from tests.integration.conftest import Engine
from tests.integration.hermitage.expected import CELLS, EXPECTED
from tests.integration.hermitage.scripts import EVERY, SCRIPTS, START, NewValue, Rows, Script, Where
from tests.integration.hermitage.sessions import play, table_for, tables_for, tables_of
from tests.support.servers import RunningServer

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]


class SparkSession:
    """A transaction by names below `sys.dtxns.dtxn_<id>` of a catalog."""

    def __init__(self, engine: Engine, catalog: str, namespace: str, level: str, layout: str) -> None:
        self._engine = engine
        self._level = level
        self._layout = layout
        self._transaction = f"{catalog}.sys.dtxns.dtxn_{uuid.uuid4().hex}"
        self._scope = f"{self._transaction}.{namespace}"

    def begin(self) -> None:
        self._engine.rows(f"CREATE NAMESPACE {self._transaction} WITH PROPERTIES ('isolation-level'='{self._level}')")

    def read(self, where: Where) -> Rows:
        return rows_of(self._engine, self._scope, where, self._layout)

    def update(self, where: Where, new: NewValue) -> None:
        for name in tables_for(where, self._layout):
            self._engine.rows(f"UPDATE {self._scope}.{name} SET value = {new.sql} WHERE {where.sql}")

    def insert(self, number: int, value: int) -> None:
        self._engine.rows(f"INSERT INTO {self._scope}.{table_for(number, self._layout)} VALUES ({number}, {value})")

    def delete(self, where: Where) -> None:
        for name in tables_for(where, self._layout):
            self._engine.rows(f"DELETE FROM {self._scope}.{name} WHERE {where.sql}")

    def commit(self) -> str | None:
        from pipeline.transactions import SPARK_ERRORS, one_line

        try:
            self._engine.rows(f"ALTER NAMESPACE {self._transaction} SET PROPERTIES ('commit'='true')")
        except SPARK_ERRORS as error:
            return one_line(error)
        return None

    def roll_back(self) -> None:
        self._engine.rows(f"DROP NAMESPACE {self._transaction}")


class SparkDatabase:
    """A namespace of its own; its sessions T1, T2 and T3 go round the servers."""

    def __init__(self, engine: Engine, servers: list[RunningServer], level: str, layout: str) -> None:
        self._engine = engine
        self._catalogs = [engine.catalog_of(server) for server in servers]
        self._level = level
        self._layout = layout
        self._namespace = f"h_{uuid.uuid4().hex[:12]}"
        scope = f"{self._catalogs[0]}.{self._namespace}"
        engine.rows(f"CREATE NAMESPACE {scope}")
        for name in tables_of(layout):
            rows = ", ".join(f"({number}, {value})" for number, value in START.items() if table_for(number, layout) == name)
            # In one data file, as PyIceberg writes them: updates of different files join.
            engine.rows(f"CREATE TABLE {scope}.{name} AS SELECT /*+ COALESCE(1) */ * FROM VALUES {rows} AS t (id, value)")

    def session(self, name: str) -> SparkSession:
        catalog = self._catalogs[int(name[1:]) % len(self._catalogs)]
        return SparkSession(self._engine, catalog, self._namespace, self._level, self._layout)

    def rows(self) -> Rows:
        return rows_of(self._engine, f"{self._catalogs[0]}.{self._namespace}", EVERY, self._layout)


def rows_of(engine: Engine, scope: str, where: Where, layout: str) -> Rows:
    tables = tables_for(where, layout)
    parts = " UNION ALL ".join(f"SELECT id, value FROM {scope}.{name} WHERE {where.sql}" for name in tables)
    return dict(sorted(engine.rows(parts)))


@pytest.mark.parametrize(("level", "layout"), CELLS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script(script: Script, level: str, layout: str, engine: Engine, two_servers: list[RunningServer]) -> None:
    observed, refusals = play(script, SparkDatabase(engine, two_servers, level, layout))
    expected = EXPECTED[script.name]
    assert observed == expected.observation(level, layout), refusals
    assert all(expected.rule(level, layout) in reason for reason in refusals.values()), refusals
