"""Builds a SparkSession from the `.conf` files of this folder (or any other) and a few overrides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spark_conf import properties
from spark_conf.jars import fetch_jars
from spark_conf.java import find_java
from spark_conf.runtimes import fitting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_CONFS = ("local", "treeline-folder")


def session_settings(
    confs: Sequence[str | Path] = DEFAULT_CONFS,
    *,
    uri: str | None = None,
    warehouse: str | None = None,
    catalog: str = properties.CATALOG,
    master: str | None = None,
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The settings of a session: the files in order, then the overrides, then `extra`. Nothing is fetched."""
    settings = properties.override(properties.load(confs), uri=uri, warehouse=warehouse, catalog=catalog, master=master)
    return properties.join([settings, extra or {}])


def build_session(
    confs: Sequence[str | Path] = DEFAULT_CONFS,
    *,
    app: str = "treeline",
    uri: str | None = None,
    warehouse: str | None = None,
    catalog: str = properties.CATALOG,
    master: str | None = None,
    extra: Mapping[str, str] | None = None,
    jars: Path | None = None,
) -> "SparkSession":
    """Start Spark, or raise in one line what is missing for it.

    The settings files name Iceberg's runtime for the newest line of Spark; the one for the installed PySpark is taken.
    `spark.jars.packages` is fetched here, once and into one folder, instead of by Spark at every start into
    the home folder. One Python process has one JVM: stop a session before building one with other jars or memory,
    and better do so in another process.
    """
    find_java()
    settings = session_settings(confs, uri=uri, warehouse=warehouse, catalog=catalog, master=master, extra=extra)
    import pyspark

    packages = [package.strip() for package in settings.pop("spark.jars.packages", "").split(",") if package.strip()]
    if packages:
        fetched = ",".join(str(path) for path in fetch_jars(fitting(packages, pyspark.__version__), jars))
        settings = properties.join([settings, {"spark.jars": fetched}])
    quiet = f"-Dlog4j2.configurationFile={(properties.FOLDER / 'log4j2.properties').as_uri()}"
    settings["spark.driver.extraJavaOptions"] = f"{quiet} {settings.get('spark.driver.extraJavaOptions', '')}".strip()

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
