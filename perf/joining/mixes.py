"""A mixed load of work on several tables: what all of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog

from perf.bench import Bench
from perf.joining.catalogs import REFERENCE, TREELINE, UNJOINED, running
from perf.joining.clients import Task, run_clients
from perf.joining.sessions import InTransactions, Serializable, Session, TableByTable

CLIENTS = 8
_WAYS: tuple[tuple[str, type[Session], str], ...] = (
    (REFERENCE, TableByTable, "table by table"),
    (UNJOINED, InTransactions, "transactions, `snapshot`"),
    (TREELINE, InTransactions, "transactions, `snapshot`"),
    (UNJOINED, Serializable, "transactions, `serializable`"),
    (TREELINE, Serializable, "transactions, `serializable`"),
)


@dataclass(frozen=True, slots=True)
class Mix:
    """A load: its tables, what a client does, and what must hold of the tables afterwards."""

    name: str
    load: Callable[[Catalog], None]
    task: Task
    broken: Callable[[Catalog, Mapping[str, int]], Counter[str]]
    """What does not hold, by rule, given the effects that were acknowledged."""


def measured(bench: Bench, mix: Mix) -> list[dict[str, Any]]:
    """A row for each way of doing the work. Raises `RuntimeError` if transactions left tables that do not fit together."""
    rows: list[dict[str, Any]] = []
    for name, session, how in _WAYS:
        with running(bench, name, f"{mix.name}{len(rows)}") as catalog:
            client = catalog.address.connect()
            mix.load(client)
            done = run_clients(bench, catalog, session, mix.task, CLIENTS, bench.seconds(12, 3))
            broken = mix.broken(client, done.effects)
        row: dict[str, Any] = {"mix": mix.name, "how": how, **done.row, "broken": dict(sorted(broken.items()))}
        row["backwards"] = catalog.ordered_backwards()
        if session.isolation is not None and (broken or row["seen"]):
            raise RuntimeError(f"{name}, {how}: {broken} {row['seen']}")
        rows.append(row)
        bench.say(
            f"  {mix.name}: {name}, {how}: {row['per_s']:.1f}/s, {row['abort_rate']:.0%} of {row['attempts']} commits refused, "
            f"p50 {row['work_p50_ms'] or 0:.0f} ms, p95 {row['work_p95_ms'] or 0:.0f} ms, ordered backwards {row['backwards']}, "
            f"gave up {row['gave_up']}, broken {row['broken']} {row['seen']}"
        )
    return rows
