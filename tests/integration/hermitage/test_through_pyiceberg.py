"""Hermitage through PyIceberg: each session a client of its own, on one of two servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.expressions import In
from pyiceberg.table import Table

from tests.integration.hermitage.expected import CELLS, EXPECTED, FILE_EACH, LEVELS, SEVERAL_TABLES
from tests.integration.hermitage.scripts import EVERY, SCRIPTS, START, NewValue, Rows, Script, Where
from tests.integration.hermitage.sessions import play, table_for, tables_for, tables_of
from tests.support.servers import WAREHOUSE, RunningServer

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("value", pa.int64())])


def as_arrow(rows: Rows) -> pa.Table:
    return pa.table({"id": list(rows), "value": list(rows.values())}, schema=SCHEMA)


def rows_in(table: Table) -> dict[int, int]:
    found = table.scan().to_arrow()
    return dict(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))


class PyIcebergSession:
    """A transaction by names below `sys.dtxns.dtxn_<id>`."""

    def __init__(self, catalog: Catalog, namespace: str, level: str, layout: str) -> None:
        self._catalog = catalog
        self._namespace = namespace
        self._level = level
        self._layout = layout
        self._transaction = ("sys", "dtxns", f"dtxn_{uuid.uuid4().hex}")

    def begin(self) -> None:
        self._catalog.create_namespace(self._transaction, {"isolation-level": self._level})

    def read(self, where: Where) -> Rows:
        found: dict[int, int] = {}
        for name in tables_for(where, self._layout):
            found |= rows_in(self._table(name))
        return {number: value for number, value in sorted(found.items()) if where.holds(number, value)}

    def update(self, where: Where, new: NewValue) -> None:
        for table, rows in self._matching(where):
            changed = {key: new.of(value) for key, value in rows.items() if where.holds(key, value)}
            # Other rows of the same files are written anew; files without such rows are left alone.
            table.overwrite(as_arrow(changed), overwrite_filter=In("id", changed.keys()))

    def insert(self, number: int, value: int) -> None:
        self._table(table_for(number, self._layout)).append(as_arrow({number: value}))

    def delete(self, where: Where) -> None:
        for table, _ in self._matching(where):
            table.delete(where.sql)

    def commit(self) -> str | None:
        try:
            self._catalog.update_namespace_properties(self._transaction, updates={"commit": "true"})
        except RESTError as error:
            return str(error)
        return None

    def roll_back(self) -> None:
        self._catalog.drop_namespace(self._transaction)

    def _matching(self, where: Where) -> Iterator[tuple[Table, Rows]]:
        """Tables with at least one row that meets the condition, and all their rows."""
        for name in tables_for(where, self._layout):
            table = self._table(name)
            rows = rows_in(table)
            if any(where.holds(number, value) for number, value in rows.items()):
                yield table, rows

    def _table(self, name: str) -> Table:
        return self._catalog.load_table((*self._transaction, self._namespace, name))


class PyIcebergDatabase:
    """A namespace of its own; its sessions T1, T2 and T3 go round the clients."""

    def __init__(self, clients: Sequence[Catalog], level: str, layout: str) -> None:
        self._clients = clients
        self._level = level
        self._layout = layout
        self._namespace = f"h_{uuid.uuid4().hex[:12]}"
        clients[0].create_namespace(self._namespace)
        for name in tables_of(layout):
            rows = {number: value for number, value in START.items() if table_for(number, layout) == name}
            table = clients[0].create_table((self._namespace, name), SCHEMA)
            for together in [{number: value} for number, value in rows.items()] if layout == FILE_EACH else [rows]:
                table.append(as_arrow(together))

    def session(self, name: str) -> PyIcebergSession:
        return PyIcebergSession(self._clients[int(name[1:]) - 1], self._namespace, self._level, self._layout)

    def rows(self) -> Rows:
        found: dict[int, int] = {}
        for name in tables_for(EVERY, self._layout):
            found |= rows_in(self._clients[-1].load_table((self._namespace, name)))
        return dict(sorted(found.items()))


@pytest.fixture(scope="module")
def clients(two_servers: list[RunningServer]) -> Iterator[list[Catalog]]:
    """Three, on the two servers by turns."""
    catalogs = [load_catalog(f"client{number}", type="rest", uri=two_servers[number % 2].url, warehouse=WAREHOUSE) for number in range(3)]
    yield catalogs
    for catalog in catalogs:
        catalog.close()


@pytest.mark.parametrize(("level", "layout"), CELLS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script(script: Script, level: str, layout: str, clients: list[Catalog]) -> None:
    observed, refusals = play(script, PyIcebergDatabase(clients, level, layout))
    expected = EXPECTED[script.name]
    assert observed == expected.observation(level, layout), refusals
    assert all(expected.rule(level, layout) in reason for reason in refusals.values()), refusals


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "script", [script for script in SCRIPTS if script.name in {"G1c", "G2-item", "G2-two-edges"}], ids=lambda one: one.name
)
def test_rows_in_files_of_their_own_are_as_rows_in_tables_of_their_own(script: Script, level: str, clients: list[Catalog]) -> None:
    observed, refusals = play(script, PyIcebergDatabase(clients, level, FILE_EACH))
    assert observed == EXPECTED[script.name].observation(level, SEVERAL_TABLES), refusals
    assert bool(refusals) == (level == "serializable") and all("both wrote it" in reason for reason in refusals.values()), refusals
