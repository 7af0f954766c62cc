"""How many rows make a node: measuring, splitting evenly, and telling when two nodes fit into one. Pure over lists of entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catalog_format.node import Entry
from catalog_format.objects import TreeLimits

# A split leaves room to grow: 4/5 of the limit at most, evenly spread.
_FILL_PARTS, _WHOLE_PARTS = 4, 5
_UNDERFULL_FRACTION = 4
# The root's pivot table is rewritten by every commit, so it is kept this much smaller than a node.
_ROOT_FRACTION = 4
LEAST_CHILDREN = 2
"""Children that an inner node gets at least when one is split, or levels would not narrow."""
MOST_ROOT_PIVOTS = 2 * LEAST_CHILDREN - 1
"""Pivots that a root may hold whatever their size: fewer cannot be spread over two inner nodes."""


def bytes_of(rows: Sequence[Entry]) -> int:
    """Bytes that the rows count for."""
    return sum(row.size for row in rows)


class Measure(NamedTuple):
    """Limits of one kind of node, and weights that join rows and bytes: `capacity` is what a full node weighs."""

    node_bytes: int
    node_rows: int

    @property
    def capacity(self) -> int:
        return self.node_bytes * self.node_rows

    @property
    def goal(self) -> int:
        """What nodes should weigh after a split or a merge."""
        return self.capacity * _FILL_PARTS // _WHOLE_PARTS

    def weight(self, row: Entry) -> int:
        return max(row.size * self.node_rows, self.node_bytes)

    def weigh(self, rows: Sequence[Entry]) -> int:
        return sum(self.weight(row) for row in rows)

    def is_over(self, rows: Sequence[Entry]) -> bool:
        return len(rows) > self.node_rows or bytes_of(rows) > self.node_bytes

    def is_under(self, rows: Sequence[Entry], level: int) -> bool:
        """Whether a node should look for a neighbour to join."""
        return (level > 0 and len(rows) < LEAST_CHILDREN) or self.weigh(rows) * _UNDERFULL_FRACTION < self.capacity

    def fit_together(self, one: Sequence[Entry], other: Sequence[Entry]) -> bool:
        return self.weigh(one) + self.weigh(other) <= self.goal

    def split(self, rows: Sequence[Entry], level: int) -> list[list[Entry]]:
        """The rows in order, as nodes of about the same weight, none over the limits but for rows that are so alone.

        Each cut is made where what is left divides evenly, so that no small node trails.
        """
        least = 1 if level == 0 else LEAST_CHILDREN
        weights = [self.weight(row) for row in rows]
        left = sum(weights)
        pieces_left = max(1, -(-left // self.goal))
        pieces: list[list[Entry]] = []
        start = held = 0
        for index, weight in enumerate(weights):
            last_chance = index == len(rows) - least and left > self.capacity
            full = last_chance or held + weight > self.capacity or held + weight // 2 > left // pieces_left
            if full and index - start >= least and len(rows) - index >= least:
                pieces.append(list(rows[start:index]))
                left -= held
                pieces_left = max(pieces_left - 1, -(-left // self.capacity))
                start, held = index, 0
            held += weight
        pieces.append(list(rows[start:]))
        return pieces


def measure(limits: TreeLimits) -> Measure:
    """The measure of nodes below the root."""
    return Measure(limits.node_bytes, limits.node_rows)


def is_root_over(pivots: Sequence[Entry], limits: TreeLimits) -> bool:
    """Whether a root's pivots should move one level down."""
    if len(pivots) <= MOST_ROOT_PIVOTS:
        return False
    return len(pivots) * _ROOT_FRACTION > limits.node_rows or bytes_of(pivots) * _ROOT_FRACTION > limits.node_bytes


def is_root_small(pivots: Sequence[Entry], limits: TreeLimits) -> bool:
    """Whether a root's only child should be dissolved into it; half of `is_root_over`, so that a root does not swing."""
    if len(pivots) <= LEAST_CHILDREN:
        return True
    half = 2 * _ROOT_FRACTION
    return len(pivots) * half <= limits.node_rows and bytes_of(pivots) * half <= limits.node_bytes


def separator(before: bytes, after: bytes) -> bytes:
    """The shortest key above `before` and at most `after`: pivots stay short (Bayer and Unterauer, "Prefix B-Trees", 1977)."""
    length = next((index for index, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), len(before))
    return after[: length + 1]
