"""The sections of RESULTS.md on joining."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perf.bench import Result
from perf.joining.catalogs import REFERENCE, TREELINE, UNJOINED
from perf.joining.sessions import ATTEMPTS, ROUNDS
from perf.markdown import measured, table

JOINING_HEAD = f"""# Joined, or done again

What a catalog does for clients that write the same tables at once. `python -m perf joining` measures these sections (`appenders`,
`disjoint`, `ycsb`, `tpcc` and `join_cost` one of them). Clients are PyIceberg, each a process of its own. Side by side, in one run, each
in a new folder on one disk:

- **{TREELINE}**: `treeline serve`;
- **{UNJOINED}**: the same server with the join replaced by a refusal, and no transaction ordered backwards
  (`perf/joining/unjoined_app.py`);
- **{REFERENCE}**: the servlet of Iceberg's own tests on Jetty, its JDBC catalog on SQLite (`perf/joining/reference_server.py`).

Whoever is refused does it again: PyIceberg repeats a commit {ATTEMPTS - 1} times by itself, after 100, 200, 400 and 800 ms; when that
was not enough, its caller loads the table and begins anew, {ROUNDS} times in all. A refused transaction is done again as a whole, in a
new one, after the same waits, {ATTEMPTS * ROUNDS} times in all. "Refused" is the share of 409 among all answers to commits (of
transactions: to COMMIT), PyIceberg's own repetitions included. Latencies are of a whole piece of work from its beginning until it
was acknowledged, with all repetitions; "commit" is the one request that succeeded.

**What limits** is the clients: PyIceberg copies a table's metadata several times for each commit, which is tens of milliseconds of CPU
and grows with the number of snapshots. Servers and clients share the machine's cores; "cores" says who used how much. So the figures
compare ways of working; they do not say how many commits a catalog could take. Measuring begins two seconds after the clients, which
is early for a JVM. After each row the tables are read and compared with what was acknowledged: a lost or doubled commit ends the run."""


def _appenders(result: Result) -> str:
    rows = [[row["catalog"], row["how"], *_figures(row), f"{row['raised']} / {row['gave_up']}", _cores(row)] for row in result["rows"]]
    header = ["catalog", "conflicts are", "appends/s", *_FIGURES, "raised / given up", "cores: server, clients"]
    first = result["rows"][0]
    return f"""## {first["clients"]} appenders of one table

Plain commits of {result["rows_an_append"]} rows each, until each client has appended {result["appends"]} times, or time is over. "Patient":
`commit.retry.num-retries` is 24, its waits begin with 20 ms and end with 500 ms. "Joined": the table has `treeline.rebase-appends=true`.
"Raised": how often PyIceberg's own repetitions were not enough. {measured(result)}

{table(header, rows)}"""


def _disjoint(result: Result) -> str:
    rows = [[row["catalog"], row["how"], *_figures(row), f"{row['raised']} / {row['gave_up']}", _cores(row)] for row in result["rows"]]
    header = ["catalog", "how", "updates/s", *_FIGURES, "raised / given up", "cores: server, clients"]
    first = result["rows"][0]
    return f"""## {first["clients"]} writers of one table, each in its own partition

An update reads the rows of a partition and overwrites them (two snapshots: a delete and an append), until each client has done
{result["updates"]}, or time is over. Transactions are at `snapshot`. {measured(result)}

{table(header, rows)}"""


def _ycsb(result: Result) -> str:
    shares = ", ".join(f"{name}: {share:.0%} reads" for name, share in result["read_shares"].items())
    return f"""## Two to four operations on eight tables, like YCSB

{result["tables"]} tables of {result["slots"]} partitions, chosen by YCSB's Zipf distribution. {shares}; the rest is half appends of a
row, half updates of a partition. {_MIXED}
{measured(result)}

{_mixes(result)}"""


def _tpcc(result: Result) -> str:
    return f"""## Orders and payments, like TPC-C

{result["warehouses"]} warehouses of {result["districts"]} districts, seven tables partitioned by district or shelf. A client has a
home warehouse. New orders (45%) update district and stock and append to three tables; payments (43%) update district and customer and
append to history; order status, delivery and stock level have 4% each.
{_MIXED}
"Do not fit": districts and warehouses that violate a consistency condition in the end (order numbers, lines, payments, balances,
deliveries, stock), and what readers met meanwhile: orders without their lines. {measured(result)}

{_mixes(result, fit=True)}"""


_MIXED = """The reference server has no transactions over several tables: there each
operation is a commit of its own. That is less than what the other rows do (others see work half done, and what is given up stays half
done), and each of these commits counts for itself among the refused ones."""


def _mixes(result: Result, fit: bool = False) -> str:
    rows = []
    for row in result["rows"]:
        backwards = "" if row["backwards"] is None else str(row["backwards"])
        cells = [row["mix"], row["catalog"], row["how"], *_figures(row), str(row["gave_up"]), backwards]
        rows.append([*cells, *([_unfit(row)] if fit else []), _cores(row)])
    header = ["mix", "catalog", "how", "done/s", *_FIGURES, "given up", "ordered backwards"]
    return table([*header, *(["do not fit"] if fit else []), "cores: server, clients"], rows)


def _unfit(row: Mapping[str, Any]) -> str:
    found = {**row["broken"], **{what: count for what, count in row["seen"].items() if count}}
    return ", ".join(f"{what}: {count}" for what, count in found.items()) or "none"


def _join_cost(result: Result) -> str:
    rows = [
        [
            f"{row['manifests']:,}",
            row["join"],
            f"{row['lists']:.0f}",
            f"{row['list_bytes'] / 1024:,.0f}",
            f"{row['read']:.0f}",
            f"{row['read_bytes'] / 1024:,.1f}",
            f"{row['written']:.0f} ({row['written_bytes'] / 1024:,.0f} KiB)",
            f"{row['cpu_ms']:.0f}",
        ]
        for row in result["rows"]
    ]
    header = [
        "manifests",
        "COMMIT of",
        "manifest lists read",
        "KiB",
        "manifests read",
        "KiB",
        "files written",
        "CPU ms of the whole COMMIT",
    ]
    return f"""## What a join costs

COMMIT of a transaction that made the first change after somebody else committed the second; in this process, on a local folder, by a
catalog that has read none of the table's manifests before (the server that served the rival has them in its cache); medians of
three. A manifest names {result["files"]} files. What is read of manifests is those of the two changes, whatever the table's size. The
manifest lists are three (the base's, the rival's, the own) and one is written; their bytes, and the time to read and write them, do
grow with the number of manifests, as with every commit of a client. Who has no rival reads none of them. {measured(result)}

{table(header, rows)}"""


_FIGURES = ("refused", "attempts", "p50 / p95 ms", "commit p50 / p95 ms")


def _figures(row: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['per_s']:.1f}",
        f"{row['abort_rate']:.0%}",
        f"{row['attempts']:,}",
        f"{_ms(row['work_p50_ms'])} / {_ms(row['work_p95_ms'])}",
        f"{_ms(row['request_p50_ms'])} / {_ms(row['request_p95_ms'])}",
    ]


def _cores(row: Mapping[str, Any]) -> str:
    return f"{row['server_cores']:.2f}, {row['client_cores']:.2f}"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


JOINING_SECTIONS: dict[str, Callable[[Result], str]] = {
    "appenders": _appenders,
    "disjoint": _disjoint,
    "ycsb": _ycsb,
    "tpcc": _tpcc,
    "join_cost": _join_cost,
}
