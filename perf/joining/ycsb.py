"""A load like YCSB's workloads A and B: reads and updates of tables of which few are in great demand, two to four in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo

from perf.bench import Bench, Result
from perf.joining.loading import create, held
from perf.joining.mixes import Mix, measured
from perf.joining.sessions import Session, Tables

TABLES = 8
SLOTS = 8
"""Partitions of each."""
READ_SHARES = {"A": 0.5, "B": 0.95}
_ROWS = 20
_SKEW = 0.99
"""YCSB's constant of its Zipf distribution."""
_WEIGHTS = [1 / place**_SKEW for place in range(1, TABLES + 1)]
_SCHEMA = pa.schema([("slot", pa.int64()), ("updates", pa.int64()), ("field", pa.string())])


def run(bench: Bench) -> Result:
    """Both workloads."""
    rows: list[dict[str, Any]] = []
    for name, share in READ_SHARES.items():
        rows += measured(bench, Mix(f"YCSB {name}", load, partial(transaction, read_share=share), broken))
    return {"rows": rows, "tables": TABLES, "slots": SLOTS, "read_shares": READ_SHARES}


def load(catalog: Catalog) -> None:
    slots = [slot for slot in range(SLOTS) for _ in range(_ROWS)]
    rows = pa.table({"slot": slots, "updates": [0] * len(slots), "field": ["x" * 100] * len(slots)}, _SCHEMA)
    for number in range(TABLES):
        create(catalog, _name(number), rows, "slot")


def transaction(session: Session, _number: int, *, read_share: float) -> None:
    """A client's task. What is not read is appended to or updated, half and half."""
    random = session.random
    operations = [_operation(random, read_share) for _ in range(random.randint(2, 4))]

    def work(tables: Tables) -> None:
        for operation, table, slot in operations:
            if operation == "read":
                tables.read(table, EqualTo("slot", slot))
            elif operation == "append":
                tables.append(table, pa.table({"slot": [slot], "updates": [0], "field": ["y" * 100]}, _SCHEMA), f"append {table}")
            else:
                tables.update(table, EqualTo("slot", slot), _updated, f"update {table}")

    session.run("read" if all(operation == "read" for operation, _, _ in operations) else "write", work)


def broken(catalog: Catalog, effects: Mapping[str, int]) -> Counter[str]:
    """Tables whose rows are not those that were acknowledged."""
    found: Counter[str] = Counter()
    for number in range(TABLES):
        table = _name(number)
        rows = held(catalog, table)
        found["appends"] += len(rows) != SLOTS * _ROWS + effects.get(f"append {table}", 0)
        found["updates"] += (pc.sum(rows.column("updates")).as_py() or 0) != effects.get(f"update {table}", 0)
    return +found


def _operation(random: Random, read_share: float) -> tuple[str, str, int]:
    operation = "read" if random.random() < read_share else random.choice(("append", "update"))
    [number] = random.choices(range(TABLES), _WEIGHTS)
    return operation, _name(number), random.randrange(SLOTS)


def _name(number: int) -> str:
    return f"usertable{number}"


def _updated(rows: pa.Table) -> pa.Table:
    """One update more in the first row."""
    counts = rows.column("updates").to_pylist()
    return rows.set_column(1, "updates", pa.array([counts[0] + 1, *counts[1:]], pa.int64()))
