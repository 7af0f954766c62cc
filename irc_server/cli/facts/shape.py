"""The nodes of a version's tree and how full they are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from catalog_format.catalog import StoredCatalog
from catalog_format.clock import iso
from catalog_format.errors import CorruptFileError
from catalog_format.node import Node, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree.spots import Spot, spots_of, top_spots


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node below the root. Level 0 is a leaf."""

    name: str
    level: int
    newest_stamp: int
    """At most this, says its pivot, is the version that last wrote below it."""
    rows: int
    bytes: int
    """What its rows count for against the limits."""
    file_bytes: int
    fill_percent: int
    """Of the limit, rows or bytes, that it is nearer to."""
    problem: str | None
    """Why it could not be read; the counts are 0 then."""
    children: tuple[NodeFacts, ...]


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """All nodes of one level together."""

    level: int
    nodes: int
    rows: int
    bytes: int
    fill_percent: int
    """On average."""


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """A version's tree. The root holds the pivot table, the write buffer and the actions."""

    url: str
    version: int
    created_at: str
    root_hash: str
    file_bytes: int
    pivot_rows: int
    pivot_bytes: int
    buffer_rows: int
    buffer_bytes: int
    buffer_tombstones: int
    buffer_fill_percent: int
    action_rows: int
    limits: TreeLimits
    levels: tuple[LevelFacts, ...]
    """From the top down."""
    children: tuple[NodeFacts, ...]

    @property
    def problems(self) -> list[str]:
        return [node.problem for node in _flat(self.children) if node.problem is not None]


async def tree_facts(catalog: StoredCatalog, root: Root) -> TreeFacts:
    """Reads every node. A damaged one is told in its place, without what lies below it."""
    limits = root.header.catalog.limits
    level, spots = top_spots(root, b"", None)
    children = await _below(catalog, spots, level, limits)
    nodes = _flat(children)
    return TreeFacts(
        url=catalog.url,
        version=root.version,
        created_at=iso(root.header.created_at_ms),
        root_hash=root.hash,
        file_bytes=root.size_bytes,
        pivot_rows=root.pivots.count,
        pivot_bytes=root.pivots.bytes_held,
        buffer_rows=root.buffer.count,
        buffer_bytes=root.buffer.bytes_held,
        buffer_tombstones=sum(row.value is None for row in root.buffer),
        buffer_fill_percent=_percent(root.buffer.count, limits.buffer_rows, root.buffer.bytes_held, limits.buffer_bytes),
        action_rows=root.actions.count,
        limits=limits,
        levels=tuple(_level([node for node in nodes if node.level == each]) for each in range(level, -1, -1)),
        children=children,
    )


async def _below(catalog: StoredCatalog, spots: Sequence[Spot], level: int, limits: TreeLimits) -> tuple[NodeFacts, ...]:
    read = await asyncio.gather(*(_read(catalog, spot.name, level) for spot in spots))
    found = []
    for spot, node in zip(spots, read, strict=True):
        if isinstance(node, str):
            found.append(NodeFacts(spot.name, level, spot.stamp, 0, 0, 0, 0, node, ()))
            continue
        children = await _below(catalog, spots_of(node.rows, spot.low, spot.high), level - 1, limits) if level > 0 else ()
        fill = _percent(node.rows.count, limits.node_rows, node.rows.bytes_held, limits.node_bytes)
        found.append(NodeFacts(spot.name, level, spot.stamp, node.rows.count, node.rows.bytes_held, node.size_bytes, fill, None, children))
    return tuple(found)


async def _read(catalog: StoredCatalog, name: str, level: int) -> Node | str:
    """The node, or what is wrong with it."""
    try:
        node = await catalog.nodes.node(name)
    except CorruptFileError as error:
        return error.message
    # To descend by a wrong level could go round for ever.
    return node if node.level == level else f"Node {name} states level {node.level} where {level} belongs"


def _percent(rows: int, most_rows: int, held: int, most_bytes: int) -> int:
    return round(100 * max(rows / most_rows, held / most_bytes))


def _level(nodes: Sequence[NodeFacts]) -> LevelFacts:
    sound = [node for node in nodes if node.problem is None]
    fill = round(sum(node.fill_percent for node in sound) / len(sound)) if sound else 0
    level = nodes[0].level if nodes else 0
    return LevelFacts(level, len(nodes), sum(node.rows for node in nodes), sum(node.bytes for node in nodes), fill)


def _flat(nodes: Sequence[NodeFacts]) -> list[NodeFacts]:
    return [found for node in nodes for found in (node, *_flat(node.children))]
