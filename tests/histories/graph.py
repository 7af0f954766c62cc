"""Graphs of dependencies between transactions, and their shortest cycles."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import count

Node = str | int
"""A transaction's name, or the number of a moment."""


class Kind(StrEnum):
    """Adya's dependencies, and real time."""

    WW = "ww"
    """The next version of the same key was written by the other."""
    WR = "wr"
    """The other read what this one wrote."""
    RW = "rw"
    """The other wrote the version that follows the one read here (an anti-dependency)."""
    RT = "rt"
    """The other began after this one was acknowledged."""


Step = tuple[Kind, Node]


class DependencyGraph:
    """A directed graph with labelled edges."""

    def __init__(self) -> None:
        self._edges: dict[Node, set[Step]] = defaultdict(set)

    def add(self, kind: Kind, source: Node, target: Node) -> None:
        """An edge; none from a transaction to itself."""
        if source != target:
            self._edges[source].add((kind, target))

    def without(self, kind: Kind, sources: Collection[Node]) -> DependencyGraph:
        """A copy that lacks the edges of this kind that leave these nodes."""
        rest = DependencyGraph()
        for source, steps in self._edges.items():
            rest._edges[source] = {step for step in steps if step[0] is not kind or source not in sources}
        return rest

    def cycle(self) -> list[Step] | None:
        """A cycle with as few anti-dependencies and as few edges as its nodes allow; None if there is none."""
        return self._shortest(_cyclic({source: {target for _, target in steps} for source, steps in self._edges.items()}), adjacent=True)

    def cycle_without_adjacent_anti_dependencies(self) -> list[Step] | None:
        """The same among cycles in which no two RW edges follow each other.

        A history is allowed under snapshot isolation iff there are none (Cerone and Gotsman, Analysing Snapshot Isolation, 2018).
        """
        composed: dict[Node, set[Node]] = {}
        for source, steps in self._edges.items():
            reached = composed[source] = set()
            for kind, middle in steps:
                if kind is not Kind.RW:
                    reached.add(middle)
                    reached.update(target for next_kind, target in self._edges.get(middle, ()) if next_kind is Kind.RW)
        return self._shortest(_cyclic(composed), adjacent=False)

    def _shortest(self, starts: Iterable[Node], *, adjacent: bool) -> list[Step] | None:
        found = [self._shortest_from(start, adjacent) for start in starts]
        return min((cycle for cycle in found if cycle is not None), key=_cost, default=None)

    def _shortest_from(self, start: Node, adjacent: bool) -> list[Step] | None:
        """Dijkstra's algorithm over (node, whether an RW edge led there); cost is (RW edges, edges)."""
        ticket = count()
        # Where no two RW edges may follow each other, each cycle has an edge of another kind: it is begun there, so that its ends fit.
        queue: list[tuple[tuple[int, int], int, Node, bool, list[Step]]] = [((0, 0), next(ticket), start, not adjacent, [])]
        done: set[tuple[Node, bool]] = set()
        while queue:
            (anti, length), _, node, by_anti, path = heapq.heappop(queue)
            if path and node == start:
                return path
            if path and (node, by_anti) in done:
                continue
            if path:
                done.add((node, by_anti))
            for kind, target in sorted(self._edges.get(node, ()), key=str):
                is_anti = kind is Kind.RW
                if is_anti and by_anti and not adjacent:
                    continue
                cost = (anti + is_anti, length + 1)
                heapq.heappush(queue, (cost, next(ticket), target, is_anti, [*path, (kind, target)]))
        return None


def _cost(cycle: list[Step]) -> tuple[int, int]:
    return sum(kind is Kind.RW for kind, _ in cycle), len(cycle)


def _cyclic(graph: dict[Node, set[Node]]) -> list[Node]:
    """The nodes of some cycle; none if there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[Node] = error.args[1]
        return cycle[1:]
    return []
