"""PyIceberg's changes that join: appends of many, deletes beside them, and what does not join, with the file that decided it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, RESTError

from tests.integration.pyiceberg_client.conftest import connect, ids_of, numbers
from tests.support.servers import RunningServer

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

APPENDERS = 16
APPENDS = 3
# One try: whoever is told of a conflict has lost.
IMPATIENT = {"commit.retry.num-retries": "0"}


@pytest.fixture
def catalog(server: RunningServer, ns: str) -> Iterator[Catalog]:
    """The latest state, with the test's namespace in it."""
    catalog = connect(server)
    catalog.create_namespace(ns)
    yield catalog
    catalog.close()


def begin(catalog: Catalog, *names: str) -> list[str]:
    transactions = [f"sys.dtxns.dtxn_{name}" for name in names]
    for transaction in transactions:
        catalog.create_namespace(transaction)
    return transactions


def commit(catalog: Catalog, transaction: str) -> None:
    catalog.update_namespace_properties(transaction, updates={"commit": "true"})


@pytest.mark.parametrize("version", ["1", "2"])
def test_appends_of_two_transactions_join(catalog: Catalog, ns: str, version: str) -> None:
    table = catalog.create_table(f"{ns}.t", numbers().schema, properties={"format-version": version})
    table.append(numbers(1))
    first, second = begin(catalog, f"first_{ns}", f"second_{ns}")
    for transaction, ids in ((first, (2, 3)), (second, (4, 5))):
        for number in ids:
            catalog.load_table(f"{transaction}.{ns}.t").append(numbers(number))
    inside = {snapshot.snapshot_id for snapshot in catalog.load_table(f"{second}.{ns}.t").metadata.snapshots}
    commit(catalog, first)
    commit(catalog, second)

    table = catalog.load_table(f"{ns}.t")
    assert ids_of(table) == [1, 2, 3, 4, 5]
    snapshots = table.metadata.snapshots
    assert inside <= {snapshot.snapshot_id for snapshot in snapshots}, "a snapshot keeps its id"
    assert [snapshot.parent_snapshot_id for snapshot in snapshots] == [None, *(snapshot.snapshot_id for snapshot in snapshots[:-1])]
    assert [snapshot.sequence_number for snapshot in snapshots] == ([1, 2, 3, 4, 5] if version == "2" else [0] * 5)
    assert [snapshot.summary["total-records"] for snapshot in snapshots if snapshot.summary] == ["1", "2", "3", "4", "5"]
    assert [len(ids_of(table, snapshot_id=snapshot.snapshot_id)) for snapshot in snapshots] == [1, 2, 3, 4, 5]


def test_plain_appends_join_where_the_table_says_so(catalog: Catalog, server: RunningServer, ns: str) -> None:
    catalog.create_table(f"{ns}.t", numbers().schema, properties={"treeline.rebase-appends": "true", **IMPATIENT})
    together = Barrier(APPENDERS)

    def append(first: int) -> None:
        own = connect(server)
        table = own.load_table(f"{ns}.t")
        together.wait(60)
        for number in range(first, first + APPENDS):
            table.append(numbers(number))
        own.close()

    with ThreadPoolExecutor(APPENDERS) as pool:
        list(pool.map(append, range(0, 100 * APPENDERS, 100)))
    table = catalog.load_table(f"{ns}.t")
    assert ids_of(table) == [100 * number + turn for number in range(APPENDERS) for turn in range(APPENDS)]
    assert sorted(snapshot.sequence_number or 0 for snapshot in table.metadata.snapshots) == list(range(1, APPENDERS * APPENDS + 1))


def test_plain_appends_conflict_where_it_does_not(catalog: Catalog, ns: str) -> None:
    catalog.create_table(f"{ns}.t", numbers().schema, properties=IMPATIENT)
    late = catalog.load_table(f"{ns}.t")
    catalog.load_table(f"{ns}.t").append(numbers(1))
    with pytest.raises(CommitFailedException):
        late.append(numbers(2))
    assert ids_of(catalog.load_table(f"{ns}.t")) == [1]


def test_a_plain_delete_never_joins(catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", numbers().schema, properties={"treeline.rebase-appends": "true", **IMPATIENT})
    table.append(numbers(1))
    late = catalog.load_table(f"{ns}.t")
    catalog.load_table(f"{ns}.t").append(numbers(2))
    with pytest.raises(CommitFailedException, match="append"):
        late.delete("id == 1")
    assert ids_of(catalog.load_table(f"{ns}.t")) == [1, 2]


def test_changes_of_different_files_join_and_of_one_file_do_not(catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", numbers().schema)
    for number in (1, 2, 3):
        table.append(numbers(number))
    first, second, third = begin(catalog, f"first_{ns}", f"second_{ns}", f"third_{ns}")
    catalog.load_table(f"{first}.{ns}.t").delete("id == 1")
    catalog.load_table(f"{second}.{ns}.t").overwrite(numbers(20), "id == 2")
    catalog.load_table(f"{third}.{ns}.t").overwrite(numbers(10), "id == 1")
    [file] = [task.file.file_path for task in catalog.load_table(f"{ns}.t").scan("id == 1").plan_files()]
    commit(catalog, first)
    commit(catalog, second)
    assert ids_of(catalog.load_table(f"{ns}.t")) == [3, 20]
    with pytest.raises(RESTError, match=r"third_.* is refused because of table") as refused:
        commit(catalog, third)
    assert file in str(refused.value), "the file that decided it"
    assert ids_of(catalog.load_table(f"{ns}.t")) == [3, 20]
