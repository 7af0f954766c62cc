"""What differs between two trees: names of equal nodes, then stamps, prove large parts of them equal unread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from catalog_format.node import Entry, Root
from catalog_format.tree.search import lookup_below
from catalog_format.tree.source import NodeSource
from catalog_format.tree.spots import MOST_AHEAD, Spot, entries_of, expand, is_range, lower, span, top_spots


class Difference(NamedTuple):
    """A key whose live entry differs between two versions; None where it is absent."""

    key: bytes
    old: Entry | None
    new: Entry | None


async def differences(
    old: Root, new: Root, low: bytes, high: bytes | None, source: NodeSource, proven: int | None = None
) -> AsyncGenerator[Difference, None]:
    """Keys in [low, high) whose live entries differ, in key order; the inner nodes are read first, leaves as they are asked for.

    `proven` is the version of `old` if stamps can be trusted to compare (old is earlier, on the same branch). Then `old` is left out
    of an answer where the stamp alone shows that the key changed.
    """
    old_leaves, new_leaves = await _differing_leaves(old, new, low, high, source, proven)
    buffered = await _differing_buffers(old, new, low, high, source, proven)
    hidden = {entry.key for root in (old, new) for entry in root.buffer.entries(*span(root.buffer, low, high))}
    waiting = iter(buffered)
    next_buffered = next(waiting, None)
    async with aclosing(_joined(old_leaves, new_leaves, source)) as pairs:
        async for pair in pairs:
            while next_buffered is not None and next_buffered.key < pair.key:
                yield next_buffered
                next_buffered = next(waiting, None)
            if pair.key not in hidden:
                yield pair
    while next_buffered is not None:
        yield next_buffered
        next_buffered = next(waiting, None)


async def _differing_leaves(
    old: Root, new: Root, low: bytes, high: bytes | None, source: NodeSource, proven: int | None
) -> tuple[list[Spot], list[Spot]]:
    """Leaves that only one of the trees names; together they hold every key that differs outside the buffers."""
    old_level, old_spots = top_spots(old, low, high)
    new_level, new_spots = top_spots(new, low, high)
    while True:
        if proven is not None and new_level >= 0:
            new_spots = [spot for spot in new_spots if spot.stamp > proven]
            # Before shared nodes are dropped: a leaf may have taken over the range of an old one that emptied. An inner node that
            # does so is written anew.
            old_spots = _clipped(old_spots, new_spots)
        if old_level == new_level:
            common = {spot.name for spot in old_spots} & {spot.name for spot in new_spots}
            old_spots = [spot for spot in old_spots if spot.name not in common]
            new_spots = [spot for spot in new_spots if spot.name not in common]
        top = max(old_level, new_level)
        if top <= 0:
            return old_spots, new_spots
        if old_level == top:
            old_spots, old_level = await expand(old_spots, source), old_level - 1
        if new_level == top:
            new_spots, new_level = await expand(new_spots, source), new_level - 1


def _clipped(spots: Sequence[Spot], ranges: Sequence[Spot]) -> list[Spot]:
    """The parts of `spots` that lie in one of `ranges`; both are in key order and free of overlaps."""
    parts: list[Spot] = []
    first = 0
    for spot in spots:
        while first < len(ranges) and not is_range(spot.low, ranges[first].high):
            first += 1
        for place in ranges[first:]:
            if not is_range(place.low, spot.high):
                break
            parts.append(spot._replace(low=max(spot.low, place.low), high=lower(spot.high, place.high)))
    return parts


async def _differing_buffers(
    old: Root, new: Root, low: bytes, high: bytes | None, source: NodeSource, proven: int | None
) -> list[Difference]:
    """Differences of the keys in [low, high) that one of the two write buffers holds, with what lies below where it shows through."""
    before = {entry.key: entry for entry in old.buffer.entries(*span(old.buffer, low, high))}
    after = {entry.key: entry for entry in new.buffer.entries(*span(new.buffer, low, high))}
    unlike = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]

    def surely_written(key: bytes) -> bool:
        return proven is not None and key in after and after[key].value is not None and after[key].stamp > proven

    below_old = await lookup_below(old, [key for key in unlike if key not in before and not surely_written(key)], source)
    below_new = await lookup_below(new, [key for key in unlike if key not in after], source)
    answers = (Difference(key, _live(before.get(key, below_old.get(key))), _live(after.get(key, below_new.get(key)))) for key in unlike)
    return [answer for answer in answers if answer.old != answer.new]


async def _joined(old_leaves: Sequence[Spot], new_leaves: Sequence[Spot], source: NodeSource) -> AsyncGenerator[Difference, None]:
    """Both sequences of leaves side by side, equal entries left out."""
    async with (
        aclosing(entries_of(old_leaves, 0, source, MOST_AHEAD)) as old_lists,
        aclosing(entries_of(new_leaves, 0, source, MOST_AHEAD)) as new_lists,
    ):
        olds, news = _Ahead(old_lists), _Ahead(new_lists)
        while True:
            old, new = await olds.peek(), await news.peek()
            if old is None and new is None:
                return
            if new is None or (old is not None and old.key < new.key):
                assert old is not None
                yield Difference(old.key, olds.take(), None)
            elif old is None or new.key < old.key:
                yield Difference(new.key, None, news.take())
            else:
                olds.take()
                news.take()
                if old != new:
                    yield Difference(new.key, old, new)


class _Ahead:
    """A stream of entries of which the next one can be seen before it is taken."""

    def __init__(self, lists: AsyncIterator[list[Entry]]) -> None:
        self._lists = lists
        self._entries: list[Entry] = []
        self._index = 0

    async def peek(self) -> Entry | None:
        while self._index == len(self._entries):
            entries = await anext(self._lists, None)
            if entries is None:
                return None
            self._entries, self._index = entries, 0
        return self._entries[self._index]

    def take(self) -> Entry:
        self._index += 1
        return self._entries[self._index - 1]


def _live(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.value is None else entry
