"""Point lookups: the write buffer first, then one node a level."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, Literal

from catalog_format.node import NO_STAMP, Entry, Root, Rows
from catalog_format.tree.source import NodeSource, load


class Miss(Enum):
    """The answer of a lookup that would have to wait for a node."""

    MISS = "miss"


MISS: Final = Miss.MISS


def child_name(rows: Rows, index: int) -> str:
    """Name of a pivot table's child."""
    name = rows.value(index)
    assert name is not None, "a pivot names its child"
    return name.decode()


def lookup_cached(root: Root, key: bytes, source: NodeSource) -> Entry | Literal[Miss.MISS] | None:
    """The live entry of `key`, None if it is absent or deleted, `MISS` if a node on the path is not cached."""
    index = root.buffer.find(key)
    if index is not None:
        return _live(root.buffer.entry(index))
    rows = root.pivots
    for _ in range(root.header.level):
        node = source.cached(child_name(rows, rows.bisect_right(key) - 1))
        if node is None:
            return MISS
        rows = node.rows
    return _in_leaf(root, rows, key)


async def lookup(root: Root, key: bytes, source: NodeSource) -> Entry | None:
    """The live entry of `key`, None if it is absent or deleted. Waits only if a node on the path is not cached."""
    at_hand = lookup_cached(root, key, source)
    if at_hand is not MISS:
        return at_hand
    rows = root.pivots
    for _ in range(root.header.level):
        name = child_name(rows, rows.bisect_right(key) - 1)
        rows = (source.cached(name) or await source.node(name)).rows
    return _in_leaf(root, rows, key)


async def stamp_of(root: Root, key: bytes, source: NodeSource) -> int:
    """The version that last wrote `key`; `NO_STAMP` if it is absent or deleted."""
    entry = await lookup(root, key, source)
    return NO_STAMP if entry is None else entry.stamp


async def lookup_below(root: Root, keys: Iterable[bytes], source: NodeSource) -> dict[bytes, Entry]:
    """What the leaves hold of `keys`, whatever the write buffer says of them; each level's nodes are read together."""
    found: dict[bytes, Entry] = {}
    sections: list[tuple[Rows, list[bytes]]] = [(root.pivots, list(keys))] if root.header.level else []
    for _ in range(root.header.level):
        groups: dict[str, list[bytes]] = {}
        for rows, wanted in sections:
            for key in wanted:
                groups.setdefault(child_name(rows, rows.bisect_right(key) - 1), []).append(key)
        nodes = await load(groups, source)
        sections = [(nodes[name].rows, group) for name, group in groups.items()]
    for rows, wanted in sections:
        for key in wanted:
            index = rows.find(key)
            if index is not None:
                found[key] = rows.entry(index)
    return found


def _in_leaf(root: Root, rows: Rows, key: bytes) -> Entry | None:
    if root.header.level == 0:
        return None
    index = rows.find(key)
    return None if index is None else rows.entry(index)


def _live(entry: Entry) -> Entry | None:
    return None if entry.value is None else entry
