"""What a join reads, writes and computes, on a table of ten manifests and on one of ten thousand."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from catalog_format.storage.counting import Call
from perf.bench import Bench, Result
from perf.joining.embedded import Client, embedded
from perf.joining.many_manifests import FILES, make, rows

MANIFESTS = (10, 10_000)
_NAMESPACE = "perf"
_LISTS = "snap-"
_ELSEWHERE = 1_000_000
_TURNS = 3
Change = Callable[[Table, int], None]


def append(table: Table, part: int) -> None:
    """Into a partition that nobody deletes from."""
    table.append(rows(_ELSEWHERE + part))


def delete(table: Table, part: int) -> None:
    table.delete(EqualTo("part", part))


def delete_neighbour(table: Table, part: int) -> None:
    """The other file of the manifest."""
    table.delete(EqualTo("part", part + 1))


_JOINS: tuple[tuple[str, Change, Change | None, int], ...] = (
    ("an append, nobody else", append, None, 0),
    ("an append with an append", append, append, 0),
    ("a delete of one file with an append", delete, append, 0),
    ("two deletes in one manifest", delete, delete_neighbour, 1),
)
"""Name, own change, the rival's, and which manifests are deleted from: each is for one turn only."""


def run(bench: Bench) -> Result:
    """Each join on each table, in the commit of a transaction, by a process that has read none of the table's files."""
    found = []
    with asyncio.Runner() as runner:
        for manifests in (MANIFESTS[0], bench.count(MANIFESTS[1], 1_000)):
            folder = bench.below(f"join_cost{manifests}")
            with embedded(runner, folder) as catalog:
                catalog.run(catalog.main.scope.create_namespace((_NAMESPACE,), {}))
                make(catalog, (_NAMESPACE, "t"), manifests)
            bench.say(f"  a table of {manifests} manifests is made")
            for name, own, rival, place in _JOINS:
                turns = [_turn(runner, folder, name, place * _TURNS + turn, own, rival) for turn in range(bench.count(_TURNS, 1))]
                middle = {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
                found.append({"manifests": manifests, "join": name, **middle})
                bench.say(
                    f"    {name}: {middle['lists']:.0f} lists ({middle['list_bytes'] / 1024:,.0f} KiB) and {middle['read']:.0f} manifests "
                    f"({middle['read_bytes']:,.0f} B) read, {middle['written']:.0f} files written, {middle['cpu_ms']:.0f} ms of CPU"
                )
    return {"rows": found, "files": FILES}


def _turn(runner: asyncio.Runner, folder: Path, name: str, manifest: int, own: Change, rival: Change | None) -> dict[str, float]:
    """One commit of a transaction that made the own change, after the rival's plain commit."""
    part, transaction = manifest * FILES, f"{name.replace(' ', '-').replace(',', '')}-{manifest}"
    with embedded(runner, folder) as catalog:
        inside = catalog.begin(transaction)
        own(_table(inside), part)
        if rival is not None:
            rival(_table(catalog.main), part)
    with embedded(runner, folder) as cold:
        cold.main.load_table((_NAMESPACE, "t"))
        with cold.store.measure() as calls:
            began = time.process_time()
            cold.commit(transaction)
            cpu_s = time.process_time() - began
        head = cold.main.load_table((_NAMESPACE, "t")).current_snapshot()
        if head is None or (rival is not None and head.parent_snapshot_id is None):
            raise RuntimeError(f"{transaction} is not on top of its rival")
    lists, others = _avro(calls.of("get"), True), _avro(calls.of("get"), False)
    written = [call for call in calls.of("put_if_absent") if call.path.endswith(".avro")]
    return {
        "lists": len(lists),
        "list_bytes": sum(call.received_bytes for call in lists),
        "read": len(others),
        "read_bytes": sum(call.received_bytes for call in others),
        "written": len(written),
        "written_bytes": sum(call.sent_bytes for call in written),
        "requests": len(calls),
        "cpu_ms": cpu_s * 1000,
    }


def _table(client: Client) -> Table:
    return client.load_table((_NAMESPACE, "t"))


def _avro(calls: list[Call], lists: bool) -> list[Call]:
    """Requests for manifest lists, or for manifests."""
    files = [call for call in calls if call.path.endswith(".avro")]
    return [call for call in files if call.path.rpartition("/")[2].startswith(_LISTS) == lists]
