"""Moving entries into leaves: rewrites the touched paths, bottom-up, in small steps; untouched nodes keep their names."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from catalog_format.node import Entry
from catalog_format.tree.draft import Draft, Part, part_of
from catalog_format.tree.pack import separator
from catalog_format.tree.source import load

_KEY = attrgetter("key")
# Rewriting a leaf takes about a millisecond; other tasks get their turn after so many.
_LEAVES_A_TURN = 8


def grouped(pivot_keys: Sequence[bytes], entries: Sequence[Entry]) -> list[tuple[int, Sequence[Entry]]]:
    """Sorted entries by the child that covers them: (index of the child, its entries), children without any left out."""
    groups: list[tuple[int, Sequence[Entry]]] = []
    start = 0
    for index in range(len(pivot_keys)):
        if start == len(entries):
            break
        last = index + 1 == len(pivot_keys)
        stop = len(entries) if last else bisect_left(entries, pivot_keys[index + 1], lo=start, key=_KEY)
        if stop > start:
            groups.append((index, entries[start:stop]))
            start = stop
    return groups


async def edit(pivots: Sequence[Entry], level: int, changes: Sequence[Entry], draft: Draft) -> list[Part]:
    """The children (nodes of `level`) that stand for those of `pivots` after `changes` (sorted, tombstones included)."""
    parts = [part_of(pivot) for pivot in pivots]
    groups = grouped([part.key for part in parts], changes)
    touched = [(parts[index], group) for index, group in groups]
    await load((part.name for part, _ in touched if part.name), draft.source)
    if level == 0:
        for count, (part, group) in enumerate(touched, start=1):
            await _edit_leaf(part, group, draft)
            if count % _LEAVES_A_TURN == 0:
                await asyncio.sleep(0)
    else:
        await asyncio.gather(*(_edit_inner(part, level, group, draft) for part, group in touched))
    for part, group in touched:
        part.stamp = max(part.stamp, *(change.stamp for change in group))
    parts = await _without_empty(parts, level, draft)
    return split(await _merged(parts, level, draft), level, draft)


async def _edit_leaf(part: Part, changes: Sequence[Entry], draft: Draft) -> None:
    rows = await draft.open(part)
    by_key = {row.key: row for row in rows}
    for change in changes:
        if change.value is None:
            by_key.pop(change.key, None)
        else:
            by_key[change.key] = change
    _replace(part, sorted(by_key.values(), key=_KEY))


async def _edit_inner(part: Part, level: int, changes: Sequence[Entry], draft: Draft) -> None:
    children = await edit(await draft.open(part), level - 1, changes, draft)
    _replace(part, [draft.seal(child, level - 1) for child in children])


def _replace(part: Part, rows: list[Entry]) -> None:
    # Deleting what a leaf lacks leaves its file as it is; only its pivot's stamp rises.
    if rows != part.rows:
        part.rows = rows
        part.name = None


async def _without_empty(parts: Sequence[Part], level: int, draft: Draft) -> list[Part]:
    """Drops emptied nodes; each one's range and stamp go to its left neighbour, or to the right one if there is none."""
    kept: list[Part] = []
    stamp = 0
    for part in parts:
        if part.rows is not None and not part.rows:
            stamp = max(stamp, part.stamp)
            continue
        if not kept and part.key != parts[0].key:
            await _inherit(part, level, draft, stamp, first_key=parts[0].key)
        elif kept and stamp:
            await _inherit(kept[-1], level, draft, stamp, last=True)
        stamp = 0
        kept.append(part)
    if kept and stamp:
        await _inherit(kept[-1], level, draft, stamp, last=True)
    return kept


async def _inherit(part: Part, level: int, draft: Draft, stamp: int, first_key: bytes | None = None, last: bool = False) -> None:
    """A part takes over a neighbour's range. So do its outermost descendants, or their stamps would deny what was deleted there."""
    part.stamp = max(part.stamp, stamp)
    if first_key is not None:
        part.key = first_key
    if level == 0:
        return
    rows = await draft.open(part)
    index = len(rows) - 1 if last else 0
    child = part_of(rows[index])
    await _inherit(child, level - 1, draft, stamp, first_key, last)
    _replace(part, [*rows[:index], draft.seal(child, level - 1), *rows[index + 1 :]])


async def _merged(parts: Sequence[Part], level: int, draft: Draft) -> list[Part]:
    """Joins each underfull node that was rewritten with a neighbour when both fit into one."""
    measure = draft.measure
    lonely = [index for index, part in enumerate(parts) if part.rows is not None and measure.is_under(part.rows, level)]
    around = [parts[near] for index in lonely for near in (index - 1, index + 1) if 0 <= near < len(parts)]
    await load((part.name for part in around if part.rows is None and part.name), draft.source)
    for part in around:
        await draft.open(part)
    merged: list[Part] = []
    for part in parts:
        before = merged[-1] if merged else None
        if (
            before is not None
            and before.rows is not None
            and part.rows is not None
            and (measure.is_under(before.rows, level) or measure.is_under(part.rows, level))
            and measure.fit_together(before.rows, part.rows)
        ):
            merged[-1] = Part(before.key, max(before.stamp, part.stamp), None, before.rows + part.rows)
        else:
            merged.append(part)
    return merged


def split(parts: Sequence[Part], level: int, draft: Draft) -> list[Part]:
    """Splits nodes that are over the limits."""
    result: list[Part] = []
    for part in parts:
        if part.rows is None or part.name is not None or not draft.measure.is_over(part.rows):
            result.append(part)
            continue
        key, previous = part.key, b""
        for rows in draft.measure.split(part.rows, level):
            if previous:
                key = separator(previous, rows[0].key) if level == 0 else rows[0].key
            # A pivot accounts for its range's deletions, so an inner node's stamp is just the largest of its own pivots'.
            stamp = part.stamp if level == 0 else max(row.stamp for row in rows)
            result.append(Part(key, stamp, None, rows))
            previous = rows[-1].key
    return result
