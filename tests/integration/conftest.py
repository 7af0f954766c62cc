"""What the integration tests share: a server for each store, and one Spark session for all of them.

A JVM takes half a minute and a gigabyte, so there is one session in a run. Servers, warehouses and past versions are
further catalogs in it: Spark reads a catalog's settings when the catalog is first named, not when the session starts.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from spark_conf import properties
from tests.support.s3_server import S3Server
from tests.support.servers import WAREHOUSE, Place, RunningServer, running_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Every package that any of the catalogs needs: a running JVM takes no more of them.
_CONFS = ("local", "treeline-folder", "treeline-s3")


@dataclass
class Engine:
    """The Spark session, and the catalogs attached to it."""

    spark: SparkSession
    _catalogs: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def attach(self, server: RunningServer, warehouse: str = WAREHOUSE, *, name: str = "") -> str:
        """A new catalog on this server's warehouse, through the settings file of its store; its name."""
        catalog = name or f"c{next(self._numbers)}"
        conf = "treeline-folder" if server.place.s3 is None else "treeline-s3"
        settings = properties.override(properties.load([conf]), uri=server.url, warehouse=warehouse, catalog=catalog)
        settings |= {f"spark.sql.catalog.{catalog}.{key}": value for key, value in server.place.credentials.items()}
        for key, value in settings.items():
            if key.startswith(f"spark.sql.catalog.{catalog}"):
                self.spark.conf.set(key, value)
        return catalog

    def catalog_of(self, server: RunningServer) -> str:
        """The catalog on a server's latest state, the same one for all tests."""
        if server.url not in self._catalogs:
            self._catalogs[server.url] = self.attach(server)
        return self._catalogs[server.url]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a statement answers, without its schema."""
        with warnings.catch_warnings():
            # PySpark leaves the socket that brings the rows to the garbage collector.
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)
            return [tuple(row) for row in self.spark.sql(statement).collect()]

    def refusal(self, statement: str) -> str:
        """The error that a statement must end with, in one line."""
        from pipeline.transactions import SPARK_ERRORS, one_line

        try:
            self.rows(statement)
        except SPARK_ERRORS as error:
            return one_line(error)
        raise AssertionError(f"this was not refused: {statement}")

    def properties_of(self, namespace: str) -> dict[str, str]:
        """The properties of a namespace, as DESCRIBE shows them."""
        from pipeline.transactions import parse_properties

        return parse_properties(dict(self.rows(f"DESCRIBE NAMESPACE EXTENDED {namespace}"))["Properties"])


@dataclass(frozen=True)
class Lake:
    """A namespace of its own for one test, in a catalog of the shared session."""

    engine: Engine
    server: RunningServer
    catalog: str
    namespace: str

    @property
    def scope(self) -> str:
        """What to put before a table's name."""
        return f"{self.catalog}.{self.namespace}"

    def snapshots(self, table: str) -> list[int]:
        """The ids of a table's snapshots, oldest first."""
        return [
            row[0] for row in self.engine.rows(f"SELECT snapshot_id FROM {self.scope}.{table}.snapshots ORDER BY committed_at, snapshot_id")
        ]

    def metadata(self, name: str, kind: str = "tables") -> dict[str, Any]:
        """The metadata of a table (or one of the `views`), as the server gives it to whoever loads it."""
        metadata: dict[str, Any] = httpx.get(self._url(kind, name)).raise_for_status().json()["metadata"]
        return metadata

    def commit(self, table: str, *updates: Mapping[str, Any]) -> None:
        """Updates of a table that SQL has no words for."""
        httpx.post(self._url("tables", table), json={"requirements": [], "updates": updates}).raise_for_status()

    def _url(self, kind: str, name: str) -> str:
        warehouse = self.engine.spark.conf.get(f"spark.sql.catalog.{self.catalog}.warehouse")
        namespace = self.namespace.replace(".", "%1F")
        return f"{self.server.url}/v1/{warehouse}/namespaces/{namespace}/{kind}/{name}"

    def begin(self, **properties: str) -> Transaction:
        """A transaction with an id of its own."""
        transaction = Transaction(self, uuid.uuid4().hex[:12])
        listed = ", ".join(f"'{key.replace('_', '-')}'='{value}'" for key, value in properties.items())
        self.engine.rows(f"CREATE NAMESPACE {transaction.name}" + (f" WITH PROPERTIES ({listed})" if listed else ""))
        return transaction


@dataclass(frozen=True)
class Transaction:
    """A transaction as Spark names it."""

    lake: Lake
    id: str

    @property
    def name(self) -> str:
        return f"{self.lake.catalog}.sys.dtxns.dtxn_{self.id}"

    @property
    def scope(self) -> str:
        return f"{self.name}.{self.lake.namespace}"

    @property
    def by_name(self) -> Lake:
        """The lake as the transaction sees it, below the transaction's name."""
        return replace(self.lake, namespace=f"sys.dtxns.dtxn_{self.id}.{self.lake.namespace}")

    def as_warehouse(self) -> Lake:
        """The same as a catalog of its own, in which names stay as they are."""
        engine, server = self.lake.engine, self.lake.server
        return replace(self.lake, catalog=engine.attach(server, f"{WAREHOUSE}@dtxn_{self.id}"))

    @property
    def committing(self) -> str:
        return f"ALTER NAMESPACE {self.name} SET PROPERTIES ('commit'='true')"

    def commit(self) -> None:
        self.lake.engine.rows(self.committing)

    def roll_back(self) -> None:
        self.lake.engine.rows(f"DROP NAMESPACE {self.name}")

    @property
    def properties(self) -> Mapping[str, str]:
        return self.lake.engine.properties_of(self.name)


@pytest.fixture(scope="package")
def engine() -> Iterator[Engine]:
    from spark_conf.session import build_session

    # The files' catalog gets a name that nobody uses: a test that calls one `treeline` must not find settings of S3 in it.
    spark = build_session(_CONFS, app="treeline tests", catalog="unused")
    try:
        yield Engine(spark)
    finally:
        spark.stop()


@pytest.fixture(scope="session")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("local-server")
    with running_server(Place(str(folder / "catalog")), folder / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def s3_backed_server(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    bucket = f"catalog-{uuid.uuid4().hex}"
    s3_server.create_bucket(bucket)
    log = tmp_path_factory.mktemp("s3-backed-server") / "server.log"
    with running_server(Place(f"s3://{bucket}/some/prefix", s3_server), log) as server:
        yield server


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def server(request: pytest.FixtureRequest) -> RunningServer:
    """A server on each kind of store."""
    running: RunningServer = request.getfixturevalue("local_server" if request.param == "local" else "s3_backed_server")
    return running


@pytest.fixture
def lake(server: RunningServer, engine: Engine) -> Lake:
    """An empty namespace on each kind of store."""
    return _new_lake(engine, server)


@pytest.fixture
def local_lake(local_server: RunningServer, engine: Engine) -> Lake:
    """An empty namespace on a local folder."""
    return _new_lake(engine, local_server)


@pytest.fixture
def s3_lake(s3_backed_server: RunningServer, engine: Engine) -> Lake:
    """An empty namespace on S3."""
    return _new_lake(engine, s3_backed_server)


@dataclass(frozen=True)
class Site:
    """Where a test works, and what to look at afterwards: the same, and the catalog after COMMIT if that was a transaction."""

    here: Lake
    transaction: Transaction | None = None

    def states(self) -> Iterator[Lake]:
        yield self.here
        if self.transaction is not None:
            outside, run = self.transaction.lake, self.here.engine.rows
            seen = run(f"SHOW TABLES IN {outside.scope}") + run(f"SHOW VIEWS IN {outside.scope}")
            assert seen == [], "seen before the commit"
            self.transaction.commit()
            yield outside


_PLACES = ("latest", "transaction by name", "transaction as warehouse")
everywhere = pytest.mark.parametrize("site", _PLACES, indirect=True)


@pytest.fixture(params=_PLACES[:2])
def site(request: pytest.FixtureRequest, local_lake: Lake) -> Site:
    """An empty namespace on a local folder, in the catalog and in an open transaction; `everywhere`: under each of its names."""
    if request.param == "latest":
        return Site(local_lake)
    transaction = local_lake.begin()
    inside = transaction.by_name if request.param == "transaction by name" else transaction.as_warehouse()
    return Site(inside, transaction)


def _new_lake(engine: Engine, server: RunningServer) -> Lake:
    lake = Lake(engine, server, engine.catalog_of(server), f"ns_{uuid.uuid4().hex[:8]}")
    engine.rows(f"CREATE NAMESPACE {lake.scope}")
    # Where an earlier test went with USE may be a transaction that has ended.
    engine.rows("USE spark_catalog.default")
    return lake
