"""What holds of every tree: checked by the tests after each step, and by `treeline check` on real catalogs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Set
from contextlib import aclosing
from itertools import pairwise

from catalog_format.errors import CorruptFileError
from catalog_format.node import Node, Root, Rows
from catalog_format.objects import TreeLimits
from catalog_format.tree.flush import is_buffer_over
from catalog_format.tree.pack import LEAST_CHILDREN, is_root_over
from catalog_format.tree.source import NodeSource, load
from catalog_format.tree.spots import Spot, expand, spots_of, top_spots

# Nodes held in memory at once.
_NODES_A_TURN = 256
_SHOWN_BYTES = 40


async def verify(root: Root, source: NodeSource, verified: set[Spot] | None = None) -> list[str]:
    """Problems found in a version's tree, in words; empty if there are none. Reads every node; damaged ones are problems too.

    Subtrees in `verified`, each at its place, are left out and new ones added, so that many versions in ascending order
    cost what they do not share.
    """
    problems = list(_root_problems(root))
    seen: set[str] = set()
    level, spots = top_spots(root, b"", None)
    async with aclosing(_visited(spots, level, source, problems, verified)) as visited:
        async for spot, node, expected in visited:
            where = f"Node {spot.name} (level {expected})"
            if spot.name in seen:
                problems.append(f"{where} is named twice")
            seen.add(spot.name)
            problems += [f"{where} {problem}" for problem in _node_problems(node, spot, expected, root)]
    return problems


async def reachable(root: Root, source: NodeSource, known: Set[str] = frozenset()) -> set[str]:
    """Names of the nodes below `root`; leaves are not read.

    Subtrees whose top is in `known` are left out, so that many versions cost what they do not share. Raises `CorruptFileError`.
    """
    names: set[str] = set()
    level, spots = top_spots(root, b"", None)
    while True:
        spots = [spot for spot in spots if spot.name not in known]
        names |= {spot.name for spot in spots}
        if level <= 0:
            return names
        spots = await expand(spots, source)
        level -= 1


async def _visited(
    spots: list[Spot], level: int, source: NodeSource, problems: list[str], verified: set[Spot] | None
) -> AsyncGenerator[tuple[Spot, Node, int], None]:
    """Every node that can be read and is not in `verified`, parents first, with its place and the level that it should have."""
    if verified is not None:
        spots = [spot for spot in spots if spot not in verified]
        verified.update(spots)
    for start in range(0, len(spots), _NODES_A_TURN):
        turn = spots[start : start + _NODES_A_TURN]
        nodes = await _readable(turn, source, problems)
        for spot in turn:
            node = nodes.get(spot.name)
            if node is None:
                continue
            yield spot, node, level
            # A wrong level is reported once; to descend by it could go round for ever.
            if level > 0 and node.level == level:
                async with aclosing(_visited(spots_of(node.rows, spot.low, spot.high), level - 1, source, problems, verified)) as below:
                    async for item in below:
                        yield item


async def _readable(spots: list[Spot], source: NodeSource, problems: list[str]) -> dict[str, Node]:
    try:
        return await load((spot.name for spot in spots), source)
    except CorruptFileError:
        # At least one is damaged: one by one, to name all of them.
        nodes: dict[str, Node] = {}
        for spot in spots:
            try:
                nodes[spot.name] = await source.node(spot.name)
            except CorruptFileError as error:
                problems.append(error.message)
        return nodes


def _root_problems(root: Root) -> list[str]:
    limits = root.header.catalog.limits
    where = f"Root of version {root.version}"
    problems = []
    if bool(root.pivots) != bool(root.header.level):
        problems.append(f"{where} has {root.pivots.count} pivots at level {root.header.level}")
    if root.pivots and root.pivots.key(0) != b"":
        problems.append(f"{where} has a first pivot {_shown(root.pivots.key(0))} that is not the empty key")
    if is_root_over(root.pivots.entries(), limits):
        problems.append(f"{where} has a pivot table of {root.pivots.count} rows and {root.pivots.bytes_held} bytes: too large")
    if is_buffer_over(root.buffer.entries(), limits):
        problems.append(f"{where} has a write buffer of {root.buffer.count} rows and {root.buffer.bytes_held} bytes: too large")
    if not root.pivots and any(entry.value is None for entry in root.buffer):
        problems.append(f"{where} holds tombstones that hide nothing")
    for name, rows in (("pivots", root.pivots), ("write buffer", root.buffer)):
        problems += [f"{where}, {name}: {problem}" for problem in _row_problems(rows, root.version)]
    return problems


def _node_problems(node: Node, place: Spot, level: int, root: Root) -> list[str]:
    rows = node.rows
    if not rows:
        return ["is empty"]
    problems = _row_problems(rows, root.version)
    if node.level != level:
        problems.append(f"states level {node.level}")
    if level > 0 and rows.key(0) != place.low:
        problems.append(f"begins with pivot {_shown(rows.key(0))}, its parent says {_shown(place.low)}")
    if rows.key(0) < place.low or (place.high is not None and rows.key(rows.count - 1) >= place.high):
        end = "the end" if place.high is None else _shown(place.high)
        problems.append(f"holds keys outside of its range, {_shown(place.low)} to {end}")
    if any(row.value is None for row in rows):
        problems.append("holds a tombstone")
    largest = max(row.stamp for row in rows)
    if largest > place.stamp:
        problems.append(f"holds stamp {largest}, its pivot says {place.stamp} at most")
    return problems + _size_problems(rows, level, root.header.catalog.limits)


def _row_problems(rows: Rows, version: int) -> list[str]:
    problems = [
        f"keys are not ascending: {_shown(before.key)} stands before {_shown(after.key)}"
        for before, after in pairwise(rows)
        if before.key >= after.key
    ]
    problems += [f"{_shown(row.key)} has stamp {row.stamp}, the version is {version}" for row in rows if not 0 < row.stamp <= version]
    return problems


def _size_problems(rows: Rows, level: int, limits: TreeLimits) -> list[str]:
    # Rows that cannot be spread over two nodes may exceed the limits.
    indivisible = 1 if level == 0 else 2 * LEAST_CHILDREN - 1
    if rows.count <= indivisible or (rows.count <= limits.node_rows and rows.bytes_held <= limits.node_bytes):
        return []
    return [f"has {rows.count} rows and {rows.bytes_held} bytes; limits are {limits.node_rows} and {limits.node_bytes}"]


def _shown(key: bytes) -> str:
    return repr(key[:_SHOWN_BYTES])
