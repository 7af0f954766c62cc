"""Which entries leave the write buffer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from catalog_format.node import Entry, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree.edit import grouped
from catalog_format.tree.pack import bytes_of
from catalog_format.tree.search import child_name
from catalog_format.tree.source import NodeSource


def is_buffer_over(buffer: Sequence[Entry], limits: TreeLimits) -> bool:
    """Whether a write buffer has passed its limit."""
    return len(buffer) > limits.buffer_rows or bytes_of(buffer) > limits.buffer_bytes


async def by_leaf(root: Root, entries: Sequence[Entry], source: NodeSource) -> list[Sequence[Entry]]:
    """Sorted entries grouped by the leaf that covers them; no leaf is read. Without leaves all form one group."""
    pivots = [(root.pivots.key(index), child_name(root.pivots, index)) for index in range(root.pivots.count)]
    return await _by_leaf(pivots, root.header.level, entries, source)


def flushed(groups: Sequence[Sequence[Entry]], stamp: int, limits: TreeLimits) -> list[Entry]:
    """The entries, sorted, that a write buffer made of `groups` gives up, so that about half of its limit remains.

    Leaves are chosen by the summed age (in versions) of what waits for them: a leaf with many or old entries goes first, an entry
    that is written again and again keeps its leaf back. All entries of a chosen leaf go, hot ones too, since the leaf is written
    anyway; only those of the commit itself (`stamp`) stay, so that a lost attempt's nodes can serve again. After the separation of
    hot and cold versions in LeanStore (Alhomssi and Leis, "Scalable and Robust Snapshot Isolation for High-Performance Storage
    Engines", VLDB 2023).
    """
    older = [[entry for entry in group if entry.stamp < stamp] for group in groups]
    rows = sum(len(group) for group in groups)
    held = sum(bytes_of(group) for group in groups)
    leaving: list[Entry] = []
    # Ties go to the lower keys: `sorted` is stable and the groups are in key order.
    for group in sorted((group for group in older if group), key=lambda group: sum(entry.stamp - stamp for entry in group)):
        if rows * 2 <= limits.buffer_rows and held * 2 <= limits.buffer_bytes:
            break
        leaving += group
        rows -= len(group)
        held -= bytes_of(group)
    return sorted(leaving, key=lambda entry: entry.key)


async def _by_leaf(pivots: Sequence[tuple[bytes, str]], level: int, entries: Sequence[Entry], source: NodeSource) -> list[Sequence[Entry]]:
    if not pivots:
        return [entries] if entries else []
    groups = grouped([key for key, _ in pivots], entries)
    if level == 1:
        return [group for _, group in groups]

    async def descend(name: str, group: Sequence[Entry]) -> list[Sequence[Entry]]:
        rows = (source.cached(name) or await source.node(name)).rows
        return await _by_leaf([(rows.key(index), child_name(rows, index)) for index in range(rows.count)], level - 1, group, source)

    found = await asyncio.gather(*(descend(pivots[index][1], group) for index, group in groups))
    return [group for below in found for group in below]
