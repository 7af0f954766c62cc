"""The exception that Iceberg's Java client ends with, for every class of error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.conftest import Engine
from tests.support.refusals import CLASSES, COMMIT, EXPECTED, LOAD, MESSAGE, refusing_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def java(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Iceberg's own REST client in Spark's JVM, which tries once more where it is asked to wait; and the JVM itself."""
    jvm = engine.spark.sparkContext._jvm
    assert jvm is not None
    with refusing_server(tmp_path_factory.mktemp("refusing")) as url:
        catalog = jvm.org.apache.iceberg.rest.RESTCatalog()
        properties = jvm.java.util.HashMap()
        for key, value in {"uri": url, "rest.client.max-retries": "1", "warehouse": "lake"}.items():
            properties.put(key, value)
        catalog.initialize("refusing", properties)
        try:
            yield jvm, catalog
        finally:
            catalog.close()


def thrown(action: Callable[[], object]) -> tuple[str, str]:
    """Simple name and message of the Java exception that an action ends with."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    with pytest.raises((Py4JJavaError, CapturedException)) as refusal:
        action()
    error: Any = refusal.value
    # PySpark has exceptions of its own for some of Java's.
    exception = error._origin if isinstance(error, CapturedException) else error.java_exception
    return exception.getClass().getSimpleName(), exception.getMessage()


@pytest.mark.parametrize("name", CLASSES)
def test_what_java_makes_of_it(name: str, java: Any) -> None:
    jvm, catalog = java

    def table(kind: str) -> Any:
        return catalog.loadTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"ns.{kind}{name}"))

    loading, said = thrown(lambda: table(LOAD))
    assert MESSAGE in said
    update = table(COMMIT).updateProperties().set("a", "1")
    committing, said = thrown(update.commit)
    assert MESSAGE in said
    assert (loading, committing) == EXPECTED[name].java
