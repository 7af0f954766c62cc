"""Iceberg's reference REST server in a JVM: the servlet and adapter of its own tests, over its JDBC catalog on SQLite.

They are put together as the project's `RESTCatalogServer` does it, which would listen on all addresses; this listens on loopback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_conf.jars import fetch_jars
from spark_conf.java import find_java
from tests.integration.rck.class_path import KIT_VERSION, kit_class_path

JETTY_VERSION = "12.1.12"
_SERVER = (
    f"org.eclipse.jetty.ee10:jetty-ee10-servlet:{JETTY_VERSION}",
    *(f"org.eclipse.jetty:jetty-{part}:{JETTY_VERSION}" for part in ("server", "http", "io", "util", "session", "security")),
    *(f"org.eclipse.jetty.compression:jetty-compression-{part}:{JETTY_VERSION}" for part in ("server", "common", "gzip")),
    "jakarta.servlet:jakarta.servlet-api:6.0.0",
    "org.xerial:sqlite-jdbc:3.53.2.1",
)
_NO_SESSIONS = 0


@dataclass(frozen=True, slots=True)
class ReferenceServer:
    """A running one."""

    uri: str
    pid: int
    version: str


@contextmanager
def reference_server(folder: Path) -> Iterator[ReferenceServer]:
    """A server whose tables lie in `folder`, for as long as the block lasts. Raises `JarsUnavailable` and `JavaNotFound`."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    [py4j] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    class_path = [*kit_class_path(s3=False), *fetch_jars(_SERVER)]
    port, token, process = launch_gateway(
        jarpath=str(py4j),
        classpath=os.pathsep.join(map(str, class_path)),
        java_path=str(find_java()),
        javaopts=["-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        server = _started(gateway.jvm, folder)
        try:
            yield ReferenceServer(f"http://127.0.0.1:{server.getConnectors()[0].getLocalPort()}", process.pid, KIT_VERSION)
        finally:
            server.stop()
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=30)


def _started(jvm: Any, folder: Path) -> Any:
    """Jetty with the catalog's servlet in it."""
    iceberg, jetty = jvm.org.apache.iceberg, jvm.org.eclipse.jetty
    properties = jvm.java.util.HashMap()
    for name, value in {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{folder / 'catalog.sqlite'}",
        "jdbc.user": "user",
        "jdbc.password": "password",
        "jdbc.schema-version": "V1",
        "warehouse": (folder / "tables").as_uri(),
    }.items():
        properties.put(name, value)
    catalog = iceberg.CatalogUtil.buildIcebergCatalog("rest_backend", properties, jvm.org.apache.hadoop.conf.Configuration())
    servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(catalog))
    context = jetty.ee10.servlet.ServletContextHandler(_NO_SESSIONS)
    context.addServlet(jetty.ee10.servlet.ServletHolder(servlet), "/*")
    compression = jetty.compression.server.CompressionHandler()
    compression.putCompression(jetty.compression.gzip.GzipCompression())
    context.insertHandler(compression)
    server = jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(context)
    server.start()
    return server
