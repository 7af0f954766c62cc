"""Applying a change set to a version's tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog_format.node import Entry, Root
from catalog_format.node_codec import EncodedNode
from catalog_format.objects import TreeLimits
from catalog_format.tree.draft import Draft, Part, part_of
from catalog_format.tree.edit import edit, split
from catalog_format.tree.flush import by_leaf, flushed, is_buffer_over
from catalog_format.tree.pack import is_root_over, is_root_small
from catalog_format.tree.source import NodeSource


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """The tree's share of a new root, and the nodes to upload before it is published."""

    level: int
    pivots: list[Entry]
    buffer: list[Entry]
    nodes: list[EncodedNode]


async def apply(
    root: Root,
    changes: Mapping[bytes, bytes | None],
    stamp: int,
    limits: TreeLimits,
    source: NodeSource,
    attempt_id: str,
) -> TreeUpdate:
    """The tree of `root` with `changes` (None deletes; the key may be absent) written as version `stamp`.

    Changes go into the write buffer; when it passes its limit, part of it is flushed into leaves. A change set larger than the
    buffer goes to the leaves directly. Reads only nodes on the paths it rewrites, and their neighbours where those may merge.
    Raises `CorruptFileError`.
    """
    written = {key: Entry(key, value, stamp) for key, value in changes.items()}
    merged = {entry.key: entry for entry in root.buffer} | written
    if not root.pivots:
        # Nothing lies below that a tombstone would have to hide.
        merged = {key: entry for key, entry in merged.items() if entry.value is not None}
    buffer = sorted(merged.values(), key=lambda entry: entry.key)
    pivots = list(root.pivots)
    if not is_buffer_over(buffer, limits):
        return TreeUpdate(root.header.level, pivots, buffer, [])
    leaving = await _leaving(root, buffer, stamp, limits, source)
    draft = Draft(limits, source, attempt_id)
    if pivots:
        parts = await edit(pivots, root.header.level - 1, leaving, draft)
    else:
        # Deletions left no trace while there were no leaves, so the first ones bear the commit's own stamp.
        parts = split([Part(b"", stamp, None, leaving)], 0, draft)
    level, pivots = await _settled(parts, root.header.level - 1 if pivots else 0, draft)
    gone = {entry.key for entry in leaving}
    # Once no leaf is left, tombstones hide nothing.
    buffer = [entry for entry in buffer if entry.key not in gone and (pivots or entry.value is not None)]
    return TreeUpdate(level, pivots, buffer, draft.nodes)


async def _leaving(root: Root, buffer: Sequence[Entry], stamp: int, limits: TreeLimits, source: NodeSource) -> list[Entry]:
    """The entries of an overfull buffer that go to the leaves, sorted."""
    groups = await by_leaf(root, buffer, source)
    if not is_buffer_over([entry for entry in buffer if entry.stamp == stamp], limits):
        return flushed(groups, stamp, limits)
    direct = [group for group in groups if any(entry.stamp == stamp for entry in group)]
    rest = [group for group in groups if all(entry.stamp < stamp for entry in group)]
    leaving = [entry for group in direct for entry in group]
    if is_buffer_over([entry for group in rest for entry in group], limits):
        leaving += flushed(rest, stamp, limits)
    return sorted(leaving, key=lambda entry: entry.key)


async def _settled(parts: list[Part], level: int, draft: Draft) -> tuple[int, list[Entry]]:
    """Level and pivot table of a root with these children (nodes of `level`): as low as it can be, the table kept small."""
    while level > 0 and len(parts) == 1:
        only = Part(parts[0].key, parts[0].stamp, parts[0].name, parts[0].rows)
        rows = await draft.open(only)
        if not is_root_small(rows, draft.limits):
            parts = [only]
            break
        parts, level = [part_of(row) for row in rows], level - 1
    if not parts:
        return 0, []
    pivots = [draft.seal(part, level) for part in parts]
    while is_root_over(pivots, draft.limits):
        level += 1
        inner = Part(b"", max(pivot.stamp for pivot in pivots), None, pivots)
        pivots = [draft.seal(part, level) for part in split([inner], level, draft)]
    return level + 1, pivots
