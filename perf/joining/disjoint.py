"""Eight clients update a table, each its own partition: nothing that they change is the same, but for the table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import EqualTo

from perf.bench import Bench, Result
from perf.joining.catalogs import REFERENCE, TREELINE, UNJOINED, RunningCatalog, running
from perf.joining.clients import run_clients
from perf.joining.loading import create
from perf.joining.sessions import InTransactions, Session, TableByTable, Tables

CLIENTS = 8
UPDATES = 10
"""Of each client, as in `appenders`."""
_ROWS = 100
_TABLE = "counters"
_SCHEMA = pa.schema([("part", pa.int64()), ("id", pa.int64()), ("value", pa.int64())])


def run(bench: Bench) -> Result:
    """Plain commits that clients repeat, and transactions, with and without joining."""
    rows: list[dict[str, Any]] = []
    for name, session, how in (
        (REFERENCE, TableByTable, "plain commits, repeated by the client"),
        (TREELINE, TableByTable, "plain commits, repeated by the client"),
        (UNJOINED, InTransactions, "transactions, repeated by the client"),
        (TREELINE, InTransactions, "transactions, joined by the catalog"),
    ):
        with running(bench, name, f"disjoint{len(rows)}") as catalog:
            rows.append(_measured(bench, catalog, session, how))
    return {"rows": rows, "updates": UPDATES}


def _measured(bench: Bench, catalog: RunningCatalog, session: type[Session], how: str) -> dict[str, Any]:
    parts = [part for part in range(CLIENTS) for _ in range(_ROWS)]
    start = pa.table({"part": parts, "id": list(range(len(parts))), "value": [0] * len(parts)}, _SCHEMA)
    client = catalog.address.connect()
    table = create(client, _TABLE, start, "part")
    done = run_clients(bench, catalog, session, update, CLIENTS, bench.seconds(20, 3), most=UPDATES)
    held = table.refresh().scan().to_arrow()
    for part in range(CLIENTS):
        values = held.filter(pc.field("part") == part).column("value").to_pylist()
        told = done.effects.get(str(part), 0)
        if values != [told] * _ROWS:
            raise RuntimeError(
                f"{catalog.name}: client {part} was told of {told} updates; its rows say {sorted(set(values))}, {len(values)}"
            )
    row: dict[str, Any] = {"how": how, **done.row}
    bench.say(
        f"  {catalog.name}, {how}: {row['per_s']:.1f} updates/s, {row['abort_rate']:.0%} of {row['attempts']} commits refused, "
        f"p50 {row['work_p50_ms'] or 0:.0f} ms, p95 {row['work_p95_ms'] or 0:.0f} ms"
    )
    return row


def update(session: Session, number: int) -> None:
    """A client's task: one more in each row of its partition."""

    def work(tables: Tables) -> None:
        tables.update(_TABLE, EqualTo("part", number), one_more, str(number))

    session.run("update", work)


def one_more(rows: pa.Table) -> pa.Table:
    return rows.set_column(2, "value", pc.add(rows.column("value"), 1))
