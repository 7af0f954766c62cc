"""Sixteen clients append to one table: plain commits that the catalog joins, or that their clients repeat."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from perf.bench import Bench, Result
from perf.joining.catalogs import REFERENCE, TREELINE, RunningCatalog, running
from perf.joining.clients import run_clients
from perf.joining.loading import create
from perf.joining.sessions import Session, TableByTable, Tables

CLIENTS = 16
APPENDS = 12
"""Of each client: PyIceberg's own cost grows with the number of snapshots, so all tables are to grow alike."""
ROWS = 10
_TABLE = "events"
_SCHEMA = pa.schema([("client", pa.int64()), ("number", pa.int64()), ("note", pa.string())])
_JOINING = {"treeline.rebase-appends": "true"}
_PATIENT = {"commit.retry.num-retries": "24", "commit.retry.min-wait-ms": "20", "commit.retry.max-wait-ms": "500"}


def run(bench: Bench) -> Result:
    """Each catalog with PyIceberg's own settings and with a more patient client; then the table whose appends join."""
    rows: list[dict[str, Any]] = []
    for name, how, properties in (
        (REFERENCE, "repeated by the client", {}),
        (TREELINE, "repeated by the client", {}),
        (REFERENCE, "repeated by a patient client", _PATIENT),
        (TREELINE, "repeated by a patient client", _PATIENT),
        (TREELINE, "joined by the catalog", _JOINING),
    ):
        with running(bench, name, f"appenders{len(rows)}") as catalog:
            rows.append(_measured(bench, catalog, how, properties))
    return {"rows": rows, "rows_an_append": ROWS, "appends": APPENDS}


def _measured(bench: Bench, catalog: RunningCatalog, how: str, properties: dict[str, str]) -> dict[str, Any]:
    client = catalog.address.connect()
    table = create(client, _TABLE, _SCHEMA.empty_table(), properties=properties)
    done = run_clients(bench, catalog, TableByTable, append, CLIENTS, bench.seconds(15, 3), most=APPENDS)
    row: dict[str, Any] = {"how": how, **done.row}
    table.refresh()
    held, snapshots = table.scan().count(), len(table.metadata.snapshots)
    told = done.effects.get("append", 0)
    if held != told * ROWS or snapshots != told:
        raise RuntimeError(f"{catalog.name}: {told} appends were acknowledged; the table has {held} rows in {snapshots} snapshots")
    row["acknowledged"] = told
    bench.say(
        f"  {catalog.name}, {how}: {row['per_s']:.1f} appends/s, {row['abort_rate']:.0%} of {row['attempts']} commits refused, "
        f"p50 {row['work_p50_ms'] or 0:.0f} ms, p95 {row['work_p95_ms'] or 0:.0f} ms"
    )
    return row


def append(session: Session, number: int) -> None:
    """A client's task."""

    def work(tables: Tables) -> None:
        tables.append(_TABLE, rows, "append")

    count = len(session.tally.done)
    rows = pa.table({"client": [number] * ROWS, "number": list(range(count, count + ROWS)), "note": ["an event"] * ROWS}, _SCHEMA)
    session.run("append", work)
