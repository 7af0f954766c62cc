"""Which Iceberg runtime goes with which line of Spark."""

import re
from collections.abc import Iterable

# Line of Spark -> the Scala that PySpark of that line is built with.
_SCALA = {"4.1": "2.13", "3.5": "2.12"}
_RUNTIME = re.compile(r"org\.apache\.iceberg:iceberg-spark-runtime-[\d.]+_[\d.]+:(?P<version>[\w.-]+)")


def fitting(packages: Iterable[str], spark_version: str) -> list[str]:
    """The packages (Maven coordinates), with Iceberg's runtime for this Spark (`3.5.9`) in place of one for another line."""
    line = ".".join(spark_version.split(".")[:2])
    chosen = []
    for package in packages:
        if (found := _RUNTIME.fullmatch(package)) is not None:
            if line not in _SCALA:
                raise ValueError(f"No Iceberg runtime is known here for Spark {spark_version}: install PySpark {' or '.join(_SCALA)}")
            package = f"org.apache.iceberg:iceberg-spark-runtime-{line}_{_SCALA[line]}:{found['version']}"
        chosen.append(package)
    return chosen
