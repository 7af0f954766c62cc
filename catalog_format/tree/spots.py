"""Spots: the subtrees that cover a key range, each with the part of the range that it answers for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from catalog_format.node import Entry, Root, Rows
from catalog_format.tree.search import child_name
from catalog_format.tree.source import NodeSource, load, load_in_order

MOST_AHEAD = 8
"""Nodes that a scan reads ahead."""


class Spot(NamedTuple):
    """The node `name`, as far as it answers for keys in [low, high); `high` None means to the end."""

    low: bytes
    high: bytes | None
    name: str
    stamp: int


def lower(one: bytes | None, other: bytes | None) -> bytes | None:
    """The lower of two upper ends; None is the highest."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def is_range(low: bytes, high: bytes | None) -> bool:
    """Whether [low, high) can hold a key."""
    return high is None or low < high


def span(rows: Rows, low: bytes, high: bytes | None) -> tuple[int, int]:
    """Indices [start, stop) of the rows whose key is in [low, high)."""
    start = rows.bisect_left(low)
    return start, max(start, rows.count if high is None else rows.bisect_left(high))


def spots_of(rows: Rows, low: bytes, high: bytes | None) -> list[Spot]:
    """The children of a pivot table that answer for keys in [low, high), clipped to it."""
    if not rows.count or not is_range(low, high):
        return []
    first = max(0, rows.bisect_right(low) - 1)
    last = rows.count if high is None else rows.bisect_left(high)
    spots = []
    for index in range(first, last):
        end = rows.key(index + 1) if index + 1 < rows.count else None
        spots.append(Spot(max(low, rows.key(index)), lower(high, end), child_name(rows, index), rows.stamp(index)))
    return spots


def top_spots(root: Root, low: bytes, high: bytes | None) -> tuple[int, list[Spot]]:
    """Level and spots of a root's children that answer for keys in [low, high). The level is -1 if there are none."""
    return root.header.level - 1, spots_of(root.pivots, low, high)


async def expand(spots: Sequence[Spot], source: NodeSource) -> list[Spot]:
    """The same ranges one level lower."""
    nodes = await load((spot.name for spot in spots), source)
    return [child for spot in spots for child in spots_of(nodes[spot.name].rows, spot.low, spot.high)]


async def entries_of(
    spots: Sequence[Spot], level: int, source: NodeSource, most_ahead: int = MOST_AHEAD
) -> AsyncGenerator[list[Entry], None]:
    """Entries of the leaves below `spots` (nodes of `level`) within the spots' ranges, in key order, a list for each leaf."""
    async with aclosing(load_in_order([spot.name for spot in spots], source, most_ahead)) as nodes:
        index = 0
        async for node in nodes:
            spot = spots[index]
            index += 1
            if level == 0:
                yield node.rows.entries(*span(node.rows, spot.low, spot.high))
                continue
            children = spots_of(node.rows, spot.low, spot.high)
            async with aclosing(entries_of(children, level - 1, source, most_ahead)) as leaves:
                async for entries in leaves:
                    yield entries
