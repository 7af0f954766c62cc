"""Ranges: reading live entries in key order, and asking whether a range is empty or has changed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from catalog_format.node import NO_STAMP, Entry, Root
from catalog_format.tree.compare import differences
from catalog_format.tree.source import NodeSource
from catalog_format.tree.spots import MOST_AHEAD, entries_of, span, top_spots


async def scan(root: Root, low: bytes, high: bytes, source: NodeSource, after: bytes | None = None) -> AsyncGenerator[Entry, None]:
    """Live entries of keys in [low, high) in key order; with `after`, only those of greater keys.

    Reads only the nodes of that range, ahead of the caller. Raises `CorruptFileError`.
    """
    # No key lies between `after` and `after` with a zero byte appended.
    begin = low if after is None else max(low, after + b"\0")
    async with aclosing(_live(root, begin, high, source, MOST_AHEAD)) as entries:
        async for entry in entries:
            yield entry


async def is_empty(root: Root, low: bytes, high: bytes, source: NodeSource) -> bool:
    """Whether no live key is in [low, high). Reads one leaf unless deletions wait in the write buffer."""
    async with aclosing(_live(root, low, high, source, most_ahead=1)) as entries:
        async for _ in entries:
            return False
    return True


async def changed_since(root: Root, low: bytes, high: bytes, base_root: Root, source: NodeSource) -> bytes | None:
    """The first key in [low, high) whose live entry bears another stamp in `root` than in `base_root`, None if there is none.

    An absent key counts as bearing `NO_STAMP`. `base_root` is an earlier version on the same branch: subtrees whose pivot
    stamp is at most its version are not read, nor are nodes that both name.
    """
    async with aclosing(differences(base_root, root, low, high, source, proven=base_root.version)) as found:
        async for key, before, now in found:
            if (before.stamp if before else NO_STAMP) != (now.stamp if now else NO_STAMP):
                return key
    return None


async def _live(root: Root, low: bytes, high: bytes, source: NodeSource, most_ahead: int) -> AsyncGenerator[Entry, None]:
    """The write buffer merged over the leaves; its tombstones hide what is below."""
    buffer = root.buffer
    index, stop = span(buffer, low, high)
    level, spots = top_spots(root, low, high)
    async with aclosing(entries_of(spots, level, source, most_ahead)) as leaves:
        async for entries in leaves:
            for entry in entries:
                while index < stop and buffer.key(index) < entry.key:
                    newer = buffer.entry(index)
                    index += 1
                    if newer.value is not None:
                        yield newer
                if index < stop and buffer.key(index) == entry.key:
                    continue
                yield entry
    for newer in buffer.entries(index, stop):
        if newer.value is not None:
            yield newer
