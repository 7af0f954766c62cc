"""SQL statements in a Spark session of a process of its own, whatever Spark the Python that runs it has installed.

`python -m tests.support.spark_script URI WAREHOUSE CATALOG` reads a JSON list of statements and prints a JSON list: of each, the
rows, or the error in one line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from spark_conf.session import build_session


def run(statements: list[str], uri: str, warehouse: str, catalog: str) -> list[dict[str, Any]]:
    """`{"rows": [...]}` or `{"error": "..."}` for each statement."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    spark = build_session(["local", "treeline-folder"], app="treeline tests", uri=uri, warehouse=warehouse, catalog=catalog)
    answers: list[dict[str, Any]] = []
    for statement in statements:
        try:
            answers.append({"rows": [list(row) for row in spark.sql(statement).collect()]})
        except (PySparkException, Py4JJavaError) as error:
            answers.append({"error": " ".join(str(error).split())})
    spark.stop()
    return answers


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin), *sys.argv[1:4]), sys.stdout, default=str)
