"""One test body, three places: PyIceberg on the latest state, and in an open transaction under each of the transaction's two names."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from tests.support.servers import WAREHOUSE, RunningServer


def connect(server: RunningServer, state: str = "", **properties: str) -> Catalog:
    """A client of the server's catalog, or of one of its states (`@v3`, `@dtxn_1`)."""
    own = {"type": "rest", "uri": server.url, "warehouse": WAREHOUSE + state, **server.place.credentials, **properties}
    return load_catalog("treeline", **own)


@dataclass(frozen=True)
class Site:
    """A namespace of a test's own, as it is called where the test works, and how to see the outcome from outside."""

    server: RunningServer
    catalog: Catalog
    namespace: Identifier
    commit: Callable[[], Site] | None = None

    def name(self, *levels: str) -> Identifier:
        """The full name of an object in the namespace."""
        return (*self.namespace, *levels)

    def load(self, *levels: str) -> Table:
        return self.catalog.load_table(self.name(*levels))

    def create(self, table: str, rows: pa.Table, **options: object) -> Table:
        """A table that holds these rows."""
        created = self.catalog.create_table(self.name(table), rows.schema, **options)
        created.append(rows)
        return created

    @contextmanager
    def again(self, **properties: str) -> Iterator[Site]:
        """The same place through a client with other settings."""
        catalog = connect(self.server, self.catalog.properties["warehouse"].removeprefix(WAREHOUSE), **properties)
        yield Site(self.server, catalog, self.namespace)
        catalog.close()

    def states(self) -> Iterator[Site]:
        """Where the test worked; then, if that was a transaction, the catalog after its COMMIT."""
        yield self
        if self.commit is not None:
            yield self.commit()


@pytest.fixture
def ns() -> str:
    """The name of a namespace of the test's own."""
    return f"ns_{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=["latest", "transaction by name", "transaction as warehouse"])
def site(request: pytest.FixtureRequest, server: RunningServer, ns: str) -> Iterator[Site]:
    """An empty namespace in each place, on each kind of store. What a transaction holds must not show before its COMMIT."""
    outside = connect(server)
    outside.create_namespace(ns)
    latest = Site(server, outside, (ns,))
    if request.param == "latest":
        yield latest
        outside.close()
        return
    dtxn = ("sys", "dtxns", f"dtxn_{ns}")
    outside.create_namespace(dtxn)

    def commit() -> Site:
        assert outside.list_tables(ns) == outside.list_views(ns) == outside.list_namespaces(ns) == [], "seen before the commit"
        outside.update_namespace_properties(dtxn, updates={"commit": "true"})
        ended = outside.load_namespace_properties(dtxn)
        assert (ended["status"], int(ended["version"])) == ("committed", int(ended["base-version"]) + 1)
        return latest

    if request.param == "transaction by name":
        yield Site(server, outside, (*dtxn, ns), commit)
    else:
        inside = connect(server, f"@dtxn_{ns}")
        yield Site(server, inside, (ns,), commit)
        inside.close()
    outside.close()


def numbers(*ids: int) -> pa.Table:
    """Rows of `id: long, word: string`."""
    return pa.table({"id": pa.array(ids, pa.int64()), "word": pa.array([f"word {number}" for number in ids], pa.string())})


def ids_of(table: Table, **scan: object) -> list[int]:
    """The column `id` of a table, sorted."""
    return sorted(table.scan(**scan).to_arrow().column("id").to_pylist())
