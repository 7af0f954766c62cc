"""A load like TPC-C's, scaled down: new orders, payments, order status, deliveries and stock levels on seven tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import And, BooleanExpression, EqualTo

from perf.bench import Bench, Result
from perf.joining.loading import create, held
from perf.joining.mixes import Mix, measured
from perf.joining.sessions import Session, Tables

WAREHOUSES: Final = 2
DISTRICTS: Final = 10
"""Of each warehouse."""
CUSTOMERS: Final = 10
"""Of each district."""
SHELVES: Final = 10
"""Partitions of each warehouse's stock, each with as many items."""
LINES: Final = 3
"""Of each order, from one shelf."""


def _schema(names: str) -> pa.Schema:
    return pa.schema([(name, pa.int64()) for name in names.split()])


_SCHEMAS: Final = {
    "district": _schema("district next_order ytd"),
    "customer": _schema("district customer balance payments deliveries"),
    "stock": _schema("shelf item quantity ordered"),
    "orders": _schema("district order customer lines"),
    "new_order": _schema("district order"),
    "order_line": _schema("district order number item quantity"),
    "history": _schema("district customer amount"),
}
"""Each is partitioned by its first column; districts and shelves are counted through all warehouses."""


def run(bench: Bench) -> Result:
    """Each way of doing the work."""
    return {"rows": measured(bench, Mix("TPC-C", load, transaction, broken)), "warehouses": WAREHOUSES, "districts": DISTRICTS}


def load(catalog: Catalog) -> None:
    districts, shelves = range(WAREHOUSES * DISTRICTS), range(WAREHOUSES * SHELVES)
    start: dict[str, Sequence[tuple[int, ...]]] = {
        "district": [(district, 0, 0) for district in districts],
        "customer": [(district, customer, 0, 0, 0) for district in districts for customer in range(CUSTOMERS)],
        "stock": [(shelf, item, 100, 0) for shelf in shelves for item in range(SHELVES)],
    }
    for name, schema in _SCHEMAS.items():
        create(catalog, name, _rows(name, start.get(name, [])), schema.names[0])


def transaction(session: Session, number: int) -> None:
    """A client's task: at its home warehouse, in TPC-C's shares."""
    random = session.random
    [(name, prepared)] = random.choices(list(_TRANSACTIONS.items()), [_SHARES[name] for name in _TRANSACTIONS])
    session.run(name, prepared(random, number % WAREHOUSES))


def new_order(random: Random, warehouse: int) -> Callable[[Tables], None]:
    district, shelf = _district(random, warehouse), warehouse * SHELVES + random.randrange(SHELVES)
    customer = random.randrange(CUSTOMERS)
    items = {item: random.randint(1, 5) for item in random.sample(range(SHELVES), LINES)}

    def work(tables: Tables) -> None:
        before = tables.update("district", EqualTo("district", district), lambda rows: _added(rows, "next_order", {0: 1}))
        order = before.column("next_order")[0].as_py()
        tables.update("stock", EqualTo("shelf", shelf), lambda rows: _ordered(rows, items))
        tables.append("orders", _rows("orders", [(district, order, customer, LINES)]))
        tables.append("new_order", _rows("new_order", [(district, order)]))
        lines = [(district, order, number, item, quantity) for number, (item, quantity) in enumerate(items.items())]
        tables.append("order_line", _rows("order_line", lines))

    return work


def payment(random: Random, warehouse: int) -> Callable[[Tables], None]:
    district, customer, amount = _district(random, warehouse), random.randrange(CUSTOMERS), random.randint(1, 500)

    def paid(rows: pa.Table) -> pa.Table:
        place = rows.column("customer").to_pylist().index(customer)
        return _added(_added(rows, "balance", {place: -amount}), "payments", {place: 1})

    def work(tables: Tables) -> None:
        tables.update("district", EqualTo("district", district), lambda rows: _added(rows, "ytd", {0: amount}))
        tables.update("customer", EqualTo("district", district), paid)
        tables.append("history", _rows("history", [(district, customer, amount)]))

    return work


def order_status(random: Random, warehouse: int) -> Callable[[Tables], None]:
    district, customer = _district(random, warehouse), random.randrange(CUSTOMERS)

    def work(tables: Tables) -> None:
        tables.read("customer", And(EqualTo("district", district), EqualTo("customer", customer)))
        orders = tables.read("orders", EqualTo("district", district))
        if len(orders):
            last = orders.slice(pc.index(orders.column("order"), pc.max(orders.column("order"))).as_py(), 1).to_pylist()[0]
            lines = tables.read("order_line", _order(district, last["order"]))
            tables.seen["orders without their lines"] += len(lines) != last["lines"]

    return work


def delivery(random: Random, warehouse: int) -> Callable[[Tables], None]:
    district = _district(random, warehouse)

    def work(tables: Tables) -> None:
        waiting = tables.read("new_order", EqualTo("district", district)).column("order").to_pylist()
        if not waiting:
            return
        oldest = min(waiting)
        tables.delete("new_order", _order(district, oldest))
        order = tables.read("orders", _order(district, oldest)).to_pylist()
        tables.seen["orders not found"] += len(order) != 1
        for one in order:
            _delivered(tables, district, one["customer"])

    return work


def _delivered(tables: Tables, district: int, customer: int) -> None:
    tables.update("customer", EqualTo("district", district), lambda rows: _added(rows, "deliveries", {customer: 1}))


def stock_level(random: Random, warehouse: int) -> Callable[[Tables], None]:
    district, shelf = _district(random, warehouse), warehouse * SHELVES + random.randrange(SHELVES)

    def work(tables: Tables) -> None:
        tables.read("district", EqualTo("district", district))
        tables.read("order_line", EqualTo("district", district))
        tables.read("stock", EqualTo("shelf", shelf))

    return work


_TRANSACTIONS: Final = {
    "new order": new_order,
    "payment": payment,
    "order status": order_status,
    "delivery": delivery,
    "stock level": stock_level,
}
_SHARES: Final = {"new order": 45, "payment": 43, "order status": 4, "delivery": 4, "stock level": 4}


def broken(catalog: Catalog, _effects: Mapping[str, int]) -> Counter[str]:
    """Districts and warehouses whose rows in different tables do not fit together (after TPC-C's consistency conditions)."""
    tables = {name: held(catalog, name).to_pylist() for name in _SCHEMAS}
    found: Counter[str] = Counter()
    for district in range(WAREHOUSES * DISTRICTS):
        own = {name: [row for row in rows if row.get("district") == district] for name, rows in tables.items()}
        numbers = sorted(row["order"] for row in own["orders"])
        found["order numbers"] += numbers != list(range(own["district"][0]["next_order"]))
        lines = Counter(row["order"] for row in own["order_line"])
        found["order lines"] += lines != Counter({row["order"]: row["lines"] for row in own["orders"]})
        found["deliveries"] += sum(row["deliveries"] for row in own["customer"]) != len(numbers) - len(own["new_order"])
        found["payments"] += own["district"][0]["ytd"] != sum(row["amount"] for row in own["history"])
        found["balances"] += -sum(row["balance"] for row in own["customer"]) != sum(row["amount"] for row in own["history"])
    for warehouse in range(WAREHOUSES):
        shelves = range(warehouse * SHELVES, (warehouse + 1) * SHELVES)
        districts = range(warehouse * DISTRICTS, (warehouse + 1) * DISTRICTS)
        taken = sum(row["ordered"] for row in tables["stock"] if row["shelf"] in shelves)
        found["stock"] += taken != sum(row["quantity"] for row in tables["order_line"] if row["district"] in districts)
    return +found


def _district(random: Random, warehouse: int) -> int:
    return warehouse * DISTRICTS + random.randrange(DISTRICTS)


def _order(district: int, order: int) -> BooleanExpression:
    return And(EqualTo("district", district), EqualTo("order", order))


def _rows(table: str, rows: Sequence[tuple[int, ...]]) -> pa.Table:
    schema = _SCHEMAS[table]
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    return pa.table(dict(zip(schema.names, columns, strict=True)), schema)


def _added(rows: pa.Table, column: str, amounts: Mapping[int, int]) -> pa.Table:
    """Amounts added to a column, by the places of rows."""
    values = [value + amounts.get(place, 0) for place, value in enumerate(rows.column(column).to_pylist())]
    return rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, pa.int64()))


def _ordered(rows: pa.Table, items: Mapping[int, int]) -> pa.Table:
    """Stock after an order."""
    quantities = {place: items.get(item, 0) for place, item in enumerate(rows.column("item").to_pylist())}
    return _added(_added(rows, "quantity", {place: -count for place, count in quantities.items()}), "ordered", quantities)
