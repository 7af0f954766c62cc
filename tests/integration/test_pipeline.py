"""The pipeline on Spark against a real server: what `make demo` does, on three days of which the second is damaged.

Every session runs in a process of its own, so that its JVM is not shared with other tests. What the demo
says about itself is not trusted: a new server is started on the folder that it left, and asked in SQL.
"""

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.processes import server
from pipeline.source import EXPECTED_ROWS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

CHECKOUT = Path(__file__).resolve().parents[2]
TABLES = ("flights", "weather", "daily_delays", "audit_log")
GOOD_DAYS = ["2013-03-01", "2013-03-03"]
BAD_DAY = "2013-03-02"


@dataclass(frozen=True)
class Finished:
    """The demo's summary, and a server on the folder that it left behind."""

    summary: dict[str, Any]
    uri: str


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    output = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "pipeline.demo", "--days", "3", "--bad-day", "2", "--output", str(output), "--json"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (root,) = output.glob("catalog-*")
    with server(root, output / "second-server.log") as uri:
        yield Finished(json.loads(done.stdout), uri)


@pytest.fixture(scope="module")
def found(finished: Finished) -> dict[str, Any]:
    return apart(_look_around, finished.uri)


def test_the_good_days_are_committed_and_the_bad_one_is_not(finished: Finished) -> None:
    outcomes = {day["name"]: day["outcome"] for day in finished.summary["days"]}
    assert outcomes == {"2013-03-01": "committed", BAD_DAY: "rolled back", "2013-03-03": "committed"}
    (bad,) = [day for day in finished.summary["days"] if day["name"] == BAD_DAY]
    assert bad["problems"] == ["1 flight(s) more than once", "1 delay(s) outside -120 to 1800 minutes"]
    assert bad["version"] is None


def test_each_transaction_makes_one_version(finished: Finished) -> None:
    """Nobody else wrote: what a transaction made is what the next one begins on."""
    committed = [step for step in finished.summary["preparation"] + finished.summary["days"] if step["outcome"] == "committed"]
    assert [step["version"] for step in committed] == list(range(committed[0]["version"], committed[0]["version"] + len(committed)))
    assert [step["base_version"] for step in committed[1:]] == [step["version"] for step in committed[:-1]]


def test_the_failed_day_left_no_trace(found: dict[str, Any]) -> None:
    assert found["days"] == dict.fromkeys(TABLES, GOOD_DAYS)
    assert found["snapshots"] == {table: len(GOOD_DAYS) for table in TABLES}
    assert found["open transactions"] == []


def test_the_tables_hold_what_was_delivered(found: dict[str, Any]) -> None:
    assert found["reference"] == {table: EXPECTED_ROWS[table] for table in ("airlines", "airports", "planes")}
    assert found["counted"] == {"flights": 958 + 913, "weather": 72 + 72, "daily_delays": 15 + 15, "audit_log": 8}
    assert found["counted"] == found["audited"]


def test_the_reader_never_saw_skew_inside_a_transaction(finished: Finished) -> None:
    reader = finished.summary["reader"]
    assert reader["transaction"]["looks"] >= 1
    assert reader["transaction"]["skewed"] == 0
    assert reader["plain"]["looks"] >= 1, "plain reads may differ or not, but they were made"


def test_the_pictures_are_there(finished: Finished) -> None:
    for name in ("delays", "catalog"):
        assert Path(finished.summary["files"][name]).read_bytes().startswith(b"\x89PNG")


def test_a_conflict_is_refused_and_the_whole_work_done_again(finished: Finished) -> None:
    assert apart(_conflict, finished.uri) == {"attempts": 2, "flights": 3, "without retry": "refused"}


def test_an_error_in_the_block_rolls_back(finished: Finished) -> None:
    assert apart(_error_inside, finished.uri) == {"raised": "on purpose", "carriers": 16, "status": "rolled-back"}


def apart(work: Callable[[str], dict[str, Any]], uri: str) -> dict[str, Any]:
    """Run it in a new process, which has a JVM of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, uri).result()


def _look_around(uri: str) -> dict[str, Any]:
    from pipeline import jobs
    from spark_conf.session import build_session

    spark = build_session(uri=uri)
    scope = "treeline.nyc"
    try:
        return {
            "days": {
                table: [str(row.day) for row in spark.sql(f"SELECT DISTINCT day FROM {scope}.{table} ORDER BY day").collect()]
                for table in TABLES
            },
            "snapshots": {table: len(ids) for table, ids in jobs.snapshots(spark, scope).items()},
            "open transactions": [row[0] for row in spark.sql("SHOW NAMESPACES IN treeline.sys.dtxns").collect()],
            "reference": jobs.counts(spark, scope, ("airlines", "airports", "planes")),
            "counted": jobs.counts(spark, scope, TABLES),
            "audited": jobs.audit(spark, scope),
        }
    finally:
        spark.stop()


def _conflict(uri: str) -> dict[str, Any]:
    """Two read-modify-writes of one row: the first try of ours is overtaken by another transaction, the second is not."""
    from pipeline.transactions import Transaction, TransactionRefused, in_transaction, transaction
    from spark_conf.session import build_session

    spark = build_session(uri=uri)
    try:
        spark.sql("CREATE NAMESPACE IF NOT EXISTS treeline.race")
        spark.sql("CREATE OR REPLACE TABLE treeline.race.counter USING iceberg AS SELECT 0 AS flights")
        tries: list[str] = []

        def increment(current: Transaction) -> None:
            spark.sql(f"UPDATE {current.scope}.race.counter SET flights = flights + 1")

        def overtaken(current: Transaction) -> None:
            increment(current)
            tries.append(current.id)
            if len(tries) == 1:
                with transaction(spark, "treeline") as other:
                    increment(other)

        attempts = in_transaction(spark, "treeline", overtaken).attempts
        tries.clear()
        try:
            in_transaction(spark, "treeline", overtaken, attempts=1)
            alone = "committed"
        except TransactionRefused:
            alone = "refused"
        return {
            "attempts": attempts,
            "flights": spark.sql("SELECT flights FROM treeline.race.counter").collect()[0].flights,
            "without retry": alone,
        }
    finally:
        spark.stop()


def _error_inside(uri: str) -> dict[str, Any]:
    from pipeline.transactions import transaction
    from spark_conf.session import build_session

    spark = build_session(uri=uri)
    raised, status = "", ""
    try:
        try:
            with transaction(spark, "treeline") as current:
                spark.sql(f"DELETE FROM {current.scope}.nyc.airlines WHERE carrier = 'UA'")
                raise LookupError("on purpose")
        except LookupError as error:
            raised, status = str(error), current.properties()["status"]
        carriers = spark.sql("SELECT count(*) AS n FROM treeline.nyc.airlines").collect()[0].n
        return {"raised": raised, "carriers": carriers, "status": status}
    finally:
        spark.stop()
