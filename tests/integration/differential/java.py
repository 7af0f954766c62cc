"""Iceberg's own Java builders, in a JVM that runs nothing but py4j: JSON in, JSON out.

What is asked of them, and in which order, is what Iceberg's reference server does (`CatalogHandlers`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_conf import jars, properties
from spark_conf.java import find_java
from tests.integration.differential.outcome import Json, Outcome, Verdict

_RUNTIME = "iceberg-spark-runtime"
_CONFLICTS = {"CommitFailedException", "RetryableValidationException"}

if TYPE_CHECKING:
    # Where there is no PySpark the module is imported too, by tests that are collected and not run.
    from py4j.java_gateway import JavaGateway


class Java:
    """The builders of tables and views."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._iceberg = gateway.jvm.org.apache.iceberg
        self._util = gateway.jvm.java.util
        self._string = gateway.jvm.java.lang.String

    @property
    def version(self) -> str:
        return str(self._iceberg.IcebergBuild.version())

    def commit_table(self, base: Json, location: str | None, requirements: list[Json], updates: list[Json]) -> Outcome:
        """The answer to a commit; `location` is the file that holds the base."""

        def run() -> Outcome:
            metadata = self._iceberg.TableMetadataParser.fromJson(location, json.dumps(base))
            request = self._request(requirements, updates)
            for requirement in request.requirements():
                requirement.validate(metadata)
            builder = self._iceberg.TableMetadata.buildFrom(metadata)
            for update in request.updates():
                update.applyTo(builder)
            built = builder.build()
            return self._table(built, Verdict.UNCHANGED if built.changes().isEmpty() else Verdict.DONE)

        return _outcome(run)

    def create_table_by_updates(self, updates: list[Json]) -> Outcome:
        """The answer to the commit of a staged create."""

        def run() -> Outcome:
            request = self._request([], updates)
            versions = [update["format-version"] for update in updates if update["action"].lower() == "upgrade-format-version"]
            builder = self._iceberg.TableMetadata.buildFromEmpty(*versions[:1])
            for update in request.updates():
                update.applyTo(builder)
            return self._table(builder.build(), Verdict.DONE)

        return _outcome(run)

    def new_table(self, schema: Json, spec: Json | None, order: Json | None, location: str, table_properties: dict[str, str]) -> Outcome:
        """The metadata of a new table."""

        def run() -> Outcome:
            parsed = self._iceberg.SchemaParser.fromJson(json.dumps(schema))
            bound_spec = self._iceberg.PartitionSpecParser.fromJson(parsed, json.dumps(spec or {"spec-id": 0, "fields": []}))
            bound_order = self._iceberg.SortOrderParser.fromJson(parsed, json.dumps(order or {"order-id": 0, "fields": []}))
            wanted = self._util.HashMap()
            for key, value in table_properties.items():
                wanted.put(key, value)
            return self._table(
                self._iceberg.TableMetadata.newTableMetadata(parsed, bound_spec, bound_order, location, wanted), Verdict.DONE
            )

        return _outcome(run)

    def read_table(self, metadata: Json) -> Outcome:
        """The metadata as Java writes it again once it has read it."""
        return _outcome(lambda: self._table(self._iceberg.TableMetadataParser.fromJson(json.dumps(metadata)), Verdict.UNCHANGED))

    def commit_view(self, base: Json, requirements: list[Json], updates: list[Json]) -> Outcome:
        """The answer to a commit of a view."""

        def run() -> Outcome:
            metadata = self._iceberg.view.ViewMetadataParser.fromJson(json.dumps(base))
            request = self._request(requirements, updates)
            for requirement in request.requirements():
                requirement.validate(metadata)
            builder = self._iceberg.view.ViewMetadata.buildFrom(metadata)
            for update in request.updates():
                update.applyTo(builder)
            built = builder.build()
            return self._view(built, Verdict.UNCHANGED if built.changes().isEmpty() else Verdict.DONE)

        return _outcome(run)

    def read_view(self, metadata: Json) -> Outcome:
        """The metadata as Java writes it again once it has read it."""

        def run() -> Outcome:
            parsed = self._iceberg.view.ViewMetadataParser.fromJson(json.dumps(metadata))
            written = _outcome(lambda: self._view(parsed, Verdict.UNCHANGED))
            # Representations other than SQL can be read but not written.
            return Outcome(Verdict.UNCHANGED) if "unsupported view representation" in written.reason else written

        return _outcome(run)

    def _request(self, requirements: list[Json], updates: list[Json]) -> Any:
        return self._iceberg.rest.requests.UpdateTableRequestParser.fromJson(json.dumps({"requirements": requirements, "updates": updates}))

    def _table(self, metadata: Any, verdict: Verdict) -> Outcome:
        return Outcome(verdict, json.loads(self._iceberg.TableMetadataParser.toJson(metadata)))

    def _view(self, metadata: Any, verdict: Verdict) -> Outcome:
        return Outcome(verdict, json.loads(self._iceberg.view.ViewMetadataParser.toJson(metadata)))


@contextmanager
def running_java() -> Iterator[Java]:
    """A JVM for as long as the block lasts. It ends with this process, too."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    [runtime] = [name for name in properties.load(["local"])["spark.jars.packages"].split(",") if _RUNTIME in name]
    [iceberg] = jars.fetch_jars([runtime])
    shipped = Path(pyspark.__file__).parent / "jars"
    [py4j] = shipped.glob("py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(py4j),
        classpath=f"{iceberg}:{shipped}/*",
        java_path=str(find_java()),
        # Iceberg warns about every odd snapshot, and there are many here.
        javaopts=["-Dlog4j2.level=OFF", "-Dlog4j2.rootLogger.level=OFF", "-Xmx512m"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield Java(gateway)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=30)


def _outcome(run: Callable[[], Outcome]) -> Outcome:
    from py4j.protocol import Py4JJavaError

    try:
        return run()
    except Py4JJavaError as error:
        thrown = error.java_exception
        name = thrown.getClass().getSimpleName()
        verdict = Verdict.CONFLICT if name in _CONFLICTS else Verdict.REFUSED
        return Outcome(verdict, reason=f"{name}: {thrown.getMessage()}")
