"""PyIceberg and transactions: their two names, winners and losers, many writers at once, and other engines in the same one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError, RESTError

from tests.integration.conftest import Engine
from tests.integration.pyiceberg_client.conftest import connect, ids_of, numbers
from tests.support.servers import RunningServer, running_server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

APPENDERS = 4
APPENDS = 4


@pytest.fixture
def catalog(server: RunningServer, ns: str) -> Iterator[Catalog]:
    """The latest state, with the test's namespace in it."""
    catalog = connect(server)
    catalog.create_namespace(ns)
    yield catalog
    catalog.close()


def ids_in(catalog: Catalog, table: str, **options: Any) -> list[int]:
    return ids_of(catalog.load_table(table), **options)


def commit(catalog: Catalog, transaction: str) -> Mapping[str, str]:
    catalog.update_namespace_properties(transaction, updates={"commit": "true"})
    return catalog.load_namespace_properties(transaction)


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
    catalog.create_table(f"{ns}.t", numbers().schema).append(numbers(0))
    names = {part: f"sys.dtxns.dtxn_{part}_{ns}" for part in ("winner", "loser", "regret")}
    for name in names.values():
        catalog.create_namespace(name)
        catalog.load_table(f"{name}.{ns}.t").overwrite(numbers(1), "id == 0")
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
