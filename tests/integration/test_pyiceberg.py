"""PyIceberg through real servers: everyday work, transactions under both of their names, many writers at once, and other engines."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NamespaceNotEmptyError,
    NoSuchTableError,
    NoSuchViewError,
    RESTError,
    TableAlreadyExistsError,
)
from pyiceberg.types import IntegerType, LongType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion

from tests.integration.conftest import Engine
from tests.support.servers import WAREHOUSE, RunningServer, running_server

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

APPENDERS = 4
APPENDS = 4


@pytest.fixture
def ns() -> str:
    """The name of a namespace of the test's own."""
    return f"ns_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def catalog(server: RunningServer, ns: str) -> Iterator[Catalog]:
    """The latest state, with the test's namespace in it."""
    catalog = connect(server)
    catalog.create_namespace(ns)
    yield catalog
    catalog.close()


def connect(server: RunningServer, state: str = "") -> Catalog:
    return load_catalog("treeline", **{"type": "rest", "uri": server.url, "warehouse": WAREHOUSE + state, **server.place.credentials})


def numbers(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "word": pa.array([f"word {number}" for number in ids], pa.string())})


def ids_in(catalog: Catalog, table: str, **options: Any) -> list[int]:
    return sorted(catalog.load_table(table).scan(**options).to_arrow().column("id").to_pylist())


def commit(catalog: Catalog, transaction: str) -> Mapping[str, str]:
    catalog.update_namespace_properties(transaction, updates={"commit": "true"})
    return catalog.load_namespace_properties(transaction)


def test_tables(catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", numbers().schema, properties={"purpose": "test"})
    with pytest.raises(TableAlreadyExistsError, match=f"Table already exists: {ns}.t"):
        catalog.create_table(f"{ns}.t", numbers().schema)
    table.append(numbers(1, 2, 3))
    table.overwrite(numbers(20), overwrite_filter="id == 2")
    table.delete("id == 3")
    assert ids_in(catalog, f"{ns}.t") == [1, 20]
    assert ids_in(catalog, f"{ns}.t", row_filter="id > 1", selected_fields=("id",)) == [20]
    with table.update_schema() as schema:
        schema.add_column("price", IntegerType())
        schema.rename_column("word", "title")
    with table.update_spec() as spec:
        spec.add_identity("price")
    with table.transaction() as several:
        several.set_properties(owner="me")
        several.append(pa.table({"id": pa.array([4], pa.int64()), "title": ["four"], "price": pa.array([7], pa.int32())}))
    table = catalog.load_table(f"{ns}.t")
    assert table.scan(row_filter="id == 4").to_arrow().to_pylist() == [{"id": 4, "title": "four", "price": 7}]
    assert (table.properties["purpose"], table.properties["owner"]) == ("test", "me")
    first = table.history()[0].snapshot_id
    assert ids_in(catalog, f"{ns}.t", snapshot_id=first) == [1, 2, 3]
    with table.manage_snapshots() as snapshots:
        snapshots.create_tag(first, "first").create_branch(first, "audit")
    table.append(pa.table({"id": pa.array([5], pa.int64()), "title": ["five"], "price": pa.array([7], pa.int32())}), branch="audit")
    assert set(catalog.load_table(f"{ns}.t").refs()) == {"main", "first", "audit"}
    assert ids_in(catalog, f"{ns}.t") == [1, 4, 20]
    again = catalog.register_table(f"{ns}.again", catalog.load_table(f"{ns}.t").metadata_location)
    assert again.metadata.current_snapshot_id == catalog.load_table(f"{ns}.t").metadata.current_snapshot_id
    catalog.rename_table(f"{ns}.again", f"{ns}.renamed")
    assert sorted(catalog.list_tables(ns)) == [(ns, "renamed"), (ns, "t")]
    catalog.drop_table(f"{ns}.renamed")
    with pytest.raises(NoSuchTableError, match=f"Table does not exist: {ns}.renamed"):
        catalog.load_table(f"{ns}.renamed")


def test_namespaces_and_views(catalog: Catalog, ns: str) -> None:
    catalog.create_namespace((ns, "deep"), {"team": "red"})
    catalog.create_namespace((ns, "deep", "deeper"))
    assert (ns,) in catalog.list_namespaces() and ("sys",) not in catalog.list_namespaces()
    assert catalog.list_namespaces(ns) == [(ns, "deep")]
    assert catalog.list_namespaces((ns, "deep")) == [(ns, "deep", "deeper")]
    catalog.update_namespace_properties((ns, "deep"), removals={"team"}, updates={"level": "2"})
    assert catalog.load_namespace_properties((ns, "deep")) == {"level": "2"}
    with pytest.raises(NamespaceNotEmptyError, match=f"{ns}.deep.deeper"):
        catalog.drop_namespace((ns, "deep"))
    catalog.create_table((ns, "deep", "deeper", "t"), numbers().schema).append(numbers(1))
    assert ids_in(catalog, f"{ns}.deep.deeper.t") == [1]

    sql = ViewRepresentation(SQLViewRepresentation(type="sql", sql="SELECT id FROM t", dialect="spark"))
    version = ViewVersion.model_validate({"schema-id": 0, "representations": [sql], "default-namespace": [ns, "deep", "deeper"]})
    catalog.create_view(f"{ns}.v", pa.schema([("id", pa.int64())]), version)
    view = catalog.load_view(f"{ns}.v")
    assert view.current_version().representations[0].root.sql == "SELECT id FROM t"
    assert view.schema().find_type("id") == LongType()
    assert catalog.list_views(ns) == [(ns, "v")] and catalog.view_exists(f"{ns}.v")
    with pytest.raises(TableAlreadyExistsError, match=f"View with same name already exists: {ns}.v"):
        catalog.create_table(f"{ns}.v", numbers().schema)
    catalog.drop_view(f"{ns}.v")
    with pytest.raises(NoSuchViewError):
        catalog.load_view(f"{ns}.v")


def test_a_transaction_under_both_of_its_names(catalog: Catalog, server: RunningServer, ns: str) -> None:
    catalog.create_table(f"{ns}.t", numbers().schema).append(numbers(1))
    dtxn = f"sys.dtxns.dtxn_{ns}"
    catalog.create_namespace(dtxn, {"isolation-level": "serializable", "purpose": "test"})
    assert ("sys", "dtxns", f"dtxn_{ns}") in catalog.list_namespaces("sys.dtxns")
    inside = connect(server, f"@dtxn_{ns}")

    catalog.load_table(f"{dtxn}.{ns}.t").append(numbers(2))
    assert ids_in(inside, f"{ns}.t") == [1, 2]
    inside.load_table(f"{ns}.t").delete("id == 1")
    inside.create_table(f"{ns}.new", numbers().schema).append(numbers(7))
    assert catalog.list_tables(f"{dtxn}.{ns}") == [(*dtxn.split("."), ns, "new"), (*dtxn.split("."), ns, "t")]
    assert ids_in(catalog, f"{dtxn}.{ns}.t") == [2]
    assert (catalog.list_tables(ns), ids_in(catalog, f"{ns}.t")) == ([(ns, "t")], [1]), "nothing outside before the commit"

    ended = commit(catalog, dtxn)
    assert (ended["status"], ended["purpose"]) == ("committed", "test")
    assert int(ended["version"]) == int(ended["base-version"]) + 1, "everything became one version"
    assert (ids_in(catalog, f"{ns}.t"), ids_in(catalog, f"{ns}.new")) == ([2], [7])
    before = connect(server, f"@v{ended['base-version']}")
    assert (before.list_tables(ns), ids_in(before, f"{ns}.t")) == ([(ns, "t")], [1])
    with pytest.raises(ForbiddenError, match="is in the past and cannot be written"):
        before.load_table(f"{ns}.t").append(numbers(3))
    with pytest.raises(NoSuchTableError, match=f"Transaction {ns} is committed"):
        inside.load_table(f"{ns}.t")
    inside.close()
    before.close()


def test_the_loser_hears_why_and_a_rollback_leaves_nothing(catalog: Catalog, ns: str) -> None:
    catalog.create_table(f"{ns}.t", numbers().schema)
    names = {part: f"sys.dtxns.dtxn_{part}_{ns}" for part in ("winner", "loser", "regret")}
    for name in names.values():
        catalog.create_namespace(name)
        catalog.load_table(f"{name}.{ns}.t").append(numbers(1))
    commit(catalog, names["winner"])
    because = rf"Transaction loser_{ns} \(base version \d+\) is refused because of table {ns}.t, which transaction winner_{ns} "
    for _ in range(2):
        with pytest.raises(RESTError, match=because):
            commit(catalog, names["loser"])
    assert catalog.load_namespace_properties(names["loser"])["status"] == "refused"
    catalog.drop_namespace(names["regret"])
    with pytest.raises(RESTError, match=f"Transaction regret_{ns} is rolled-back"):
        commit(catalog, names["regret"])
    assert ids_in(catalog, f"{ns}.t") == [1]


def test_two_engines_in_one_transaction_at_once(catalog: Catalog, server: RunningServer, ns: str, tmp_path: Path) -> None:
    """Each through a server of its own and under another name of the transaction, on a table of its own and on a common one."""
    for table in ("left", "right", "both"):
        catalog.create_table(f"{ns}.{table}", numbers().schema, properties=_patient())
    dtxn = f"sys.dtxns.dtxn_{ns}"
    catalog.create_namespace(dtxn)
    with running_server(server.place, tmp_path / "server.log") as second:
        elsewhere = connect(second, f"@dtxn_{ns}")

        def work(engine: Catalog, prefix: str, own: str, first: int) -> None:
            for number in range(first, first + APPENDS):
                engine.load_table(f"{prefix}{ns}.{own}").append(numbers(number))
                engine.load_table(f"{prefix}{ns}.both").append(numbers(number))

        _at_once(lambda: work(catalog, f"{dtxn}.", "left", 0), lambda: work(elsewhere, "", "right", 100))
        assert ids_in(catalog, f"{ns}.both") == []
        commit(elsewhere, dtxn)
        elsewhere.close()
    left, right = list(range(APPENDS)), list(range(100, 100 + APPENDS))
    assert (ids_in(catalog, f"{ns}.left"), ids_in(catalog, f"{ns}.right"), ids_in(catalog, f"{ns}.both")) == (left, right, left + right)


def test_concurrent_appends_lose_nothing(catalog: Catalog, server: RunningServer, ns: str) -> None:
    catalog.create_table(f"{ns}.t", numbers().schema, properties=_patient())

    def append(first: int) -> None:
        own = connect(server)
        table = own.load_table(f"{ns}.t")
        for number in range(first, first + APPENDS):
            table.append(numbers(number))
        own.close()

    _at_once(*(lambda first=100 * number: append(first) for number in range(APPENDERS)))
    assert ids_in(catalog, f"{ns}.t") == [100 * number + turn for number in range(APPENDERS) for turn in range(APPENDS)]
    snapshots = catalog.load_table(f"{ns}.t").metadata.snapshots
    assert len(snapshots) == APPENDERS * APPENDS
    assert sorted(snapshot.sequence_number or 0 for snapshot in snapshots) == list(range(1, len(snapshots) + 1))


@pytest.mark.spark
def test_one_transaction_from_hand_to_hand(catalog: Catalog, server: RunningServer, engine: Engine, ns: str) -> None:
    """Begun in Spark, continued in PyIceberg and in Spark at once, committed by curl."""
    spark = engine.catalog_of(server)
    dtxn = f"sys.dtxns.dtxn_{ns}"
    engine.rows(f"CREATE TABLE {spark}.{ns}.t AS SELECT 1L AS id, 'word 1' AS word")
    engine.rows(f"CREATE NAMESPACE {spark}.{dtxn} WITH PROPERTIES ('isolation-level'='serializable')")
    engine.rows(f"INSERT INTO {spark}.{dtxn}.{ns}.t VALUES (2, 'word 2')")

    inside = connect(server, f"@dtxn_{ns}")
    assert ids_in(inside, f"{ns}.t") == [1, 2]
    inside.create_table(f"{ns}.summary", numbers().schema)
    _at_once(
        lambda: inside.load_table(f"{ns}.summary").append(numbers(3)),
        lambda: engine.rows(f"UPDATE {spark}.{dtxn}.{ns}.t SET word = 'two' WHERE id = 2"),
    )
    joined = f"SELECT t.word, s.id FROM {spark}.{dtxn}.{ns}.t JOIN {spark}.{dtxn}.{ns}.summary s ON t.id + 1 = s.id"
    assert engine.rows(joined) == [("two", 3)]
    assert httpx.get(f"{server.api}/namespaces/{ns}/tables").json()["identifiers"] == [{"namespace": [ns], "name": "t"}]

    properties = f"{server.api}/namespaces/sys%1Fdtxns%1Fdtxn_{ns}/properties"
    body = '{"updates": {"commit": "true"}}'
    done = subprocess.run(
        ["curl", "--silent", "--fail-with-body", "--json", body, properties], capture_output=True, text=True, check=True, timeout=60
    )
    assert '"updated":["commit"]' in done.stdout
    assert engine.rows(f"SELECT word FROM {spark}.{ns}.t ORDER BY id") == [("word 1",), ("two",)]
    assert ids_in(catalog, f"{ns}.summary") == [3]
    inside.close()


def _patient() -> dict[str, str]:
    """Properties of a table on which many commit: a writer that always loses the race tries on."""
    return {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "200"}


def _at_once(*tasks: Callable[[], object]) -> None:
    """Run the tasks in threads that start together; raise what any of them raised."""
    together = Barrier(len(tasks))

    def run(task: Callable[[], object]) -> None:
        together.wait(60)
        task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(run, task) for task in tasks]:
            future.result()
