"""A second session in a process of its own that reads all the while: are the tables as many rows as the audit log says?

It asks the same question in two ways, in turns: inside a read transaction, where every statement sees the same
version of the whole catalog, and plainly, one table after the other, where a commit may come between.

Told by its standard input: a line begins the reading, the end of the input ends it.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from pyspark.sql import SparkSession

from pipeline import jobs, tables
from pipeline.history import IN_TRANSACTION, PLAIN, READY, Observation
from pipeline.transactions import transaction
from spark_conf.session import build_session


def look(spark: SparkSession, catalog: str, namespace: str, way: str) -> Observation:
    """Count the tables one after the other, then read the audit log. The two ways run the same statements."""
    began = time.time()
    if way == IN_TRANSACTION:
        with transaction(spark, catalog, read_only=True) as current:
            counted, audited = _statements(spark, f"{current.scope}.{namespace}")
    else:
        counted, audited = _statements(spark, f"{catalog}.{namespace}")
    return Observation(way, began, time.time(), counted, audited)


def read_until(
    stop: threading.Event,
    spark: SparkSession,
    catalog: str,
    namespace: str,
    record: Callable[[Observation], None],
    first: Callable[[], None],
) -> None:
    """Look, in both ways in turns, until told to stop. `first` is called when each way has been used once."""
    for way in (IN_TRANSACTION, PLAIN):
        record(look(spark, catalog, namespace, way))
    first()
    while not stop.is_set():
        for way in (IN_TRANSACTION, PLAIN):
            record(look(spark, catalog, namespace, way))


def main(argv: list[str] | None = None) -> None:
    """The reader's process."""
    options = _arguments(argv)
    spark = build_session(
        options.conf,
        app="treeline reader",
        uri=options.uri,
        warehouse=options.warehouse,
        catalog=options.catalog,
        master=options.master,
        extra={"spark.driver.memory": "768m"},
    )
    stop = threading.Event()
    threading.Thread(target=_watch, args=(sys.stdin, stop), daemon=True).start() if sys.stdin.readline() else stop.set()
    with options.output.open("w", buffering=1) as handle:
        read_until(
            stop,
            spark,
            options.catalog,
            options.namespace,
            lambda seen: _write(handle, asdict(seen)),
            lambda: print(READY, flush=True),
        )
    spark.stop()


def _statements(spark: SparkSession, scope: str) -> tuple[dict[str, int], dict[str, int]]:
    return jobs.counts(spark, scope, tables.FOUR_TABLES), jobs.audit(spark, scope)


def _write(handle: IO[str], seen: dict[str, Any]) -> None:
    handle.write(json.dumps(seen) + "\n")


def _watch(told: IO[str], stop: threading.Event) -> None:
    told.read()
    stop.set()


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipeline.reader", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--conf", action="append", required=True, help="settings file, or the name of one in spark_conf (may repeat)")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--warehouse")
    parser.add_argument("--catalog", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--master")
    parser.add_argument("--output", type=Path, required=True, help="file for one JSON line per look")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
