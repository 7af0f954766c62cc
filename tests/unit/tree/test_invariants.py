"""The checker finds what is wrong: each test breaks one thing in a sound tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from catalog_format.node import Entry, Root
from catalog_format.node_codec import encode_node
from catalog_format.objects import TreeLimits
from catalog_format.tree.invariants import reachable, verify
from tests.support.trees import MemoryNodes, commit, empty_root, header_of, make_root

LIMITS = TreeLimits(node_bytes=4000, node_rows=4, buffer_bytes=4000, buffer_rows=4)
Rows = list[Entry]
A, B, C = Entry(b"a", b"1", 1), Entry(b"b", b"2", 2), Entry(b"c", b"3", 3)


def tree(
    nodes: MemoryNodes, left: Rows, right: Rows, stamps: tuple[int, int] = (3, 3), cut: bytes = b"b", level: int = 0, inner: bytes = b""
) -> Root:
    """A root over an inner node over two leaves."""
    one, other = encode_node(left, level, "one"), encode_node(right, level, "two")
    pivots = [Entry(inner, one.name.encode(), stamps[0]), Entry(cut, other.name.encode(), stamps[1])]
    middle = encode_node(pivots, 1, "three")
    nodes.add([one, other, middle])
    return make_root(header_of(3, LIMITS, level=2), [Entry(b"", middle.name.encode(), max(stamps))])


def rooted(level: int = 0, pivots: Rows | None = None, buffer: Rows | None = None) -> Callable[[MemoryNodes], Root]:
    return lambda _: make_root(header_of(3, LIMITS, level=level), pivots or [], buffer or [])


async def test_a_sound_tree_has_no_problems() -> None:
    nodes = MemoryNodes()
    root = tree(nodes, [A], [B, C])
    assert await verify(root, nodes) == []
    assert await reachable(root, nodes) == nodes.nodes.keys()
    assert await verify(empty_root(LIMITS), nodes) == []


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (lambda nodes: tree(nodes, [A], [C, B]), "not ascending"),
        (lambda nodes: tree(nodes, [A], [B, B]), "not ascending"),
        (lambda nodes: tree(nodes, [A, B], [C]), "outside of its range"),
        (lambda nodes: tree(nodes, [A], [B, C], cut=b"bb"), "outside of its range"),
        (lambda nodes: tree(nodes, [A], []), "is empty"),
        (lambda nodes: tree(nodes, [A], [B._replace(value=None), C]), "holds a tombstone"),
        (lambda nodes: tree(nodes, [A], [B, C], stamps=(1, 2)), "holds stamp 3, its pivot says 2"),
        (lambda nodes: tree(nodes, [A], [B, C._replace(stamp=4)], stamps=(1, 4)), "has stamp 4, the version is 3"),
        (lambda nodes: tree(nodes, [A._replace(stamp=0)], [B]), "has stamp 0"),
        (lambda nodes: tree(nodes, [A], [B, C], level=1), "states level 1"),
        (lambda nodes: tree(nodes, [A], [B, C], inner=b"a"), "its parent says b''"),
        (lambda nodes: tree(nodes, [A], [Entry(b"b%d" % number, b"", 1) for number in range(5)]), "has 5 rows"),
        (lambda nodes: tree(nodes, [A], [B._replace(value=b"x" * 4000), C]), "has 2 rows and 40"),
        (rooted(level=1), "has 0 pivots at level 1"),
        (rooted(pivots=[Entry(b"", b"missing", 1)]), "has 1 pivots at level 0"),
        (rooted(level=1, pivots=[Entry(b"x", b"missing", 1)]), "not the empty key"),
        (rooted(level=1, pivots=[Entry(b"x" * number, b"m%d" % number, 1) for number in range(4)]), "pivot table of 4 rows"),
        (rooted(level=1, pivots=[Entry(b"", b"missing", 1)]), "Node missing is missing"),
        (rooted(buffer=[Entry(b"%d" % number, b"", 1) for number in range(5)]), "write buffer of 5 rows"),
        (rooted(buffer=[A._replace(value=None)]), "tombstones that hide nothing"),
        (rooted(buffer=[B, A]), "write buffer: keys are not ascending"),
        (rooted(buffer=[A._replace(stamp=9)]), "has stamp 9"),
    ],
)
async def test_what_is_broken_is_found(broken: Callable[[MemoryNodes], Root], problem: str) -> None:
    nodes = MemoryNodes()
    problems = await verify(broken(nodes), nodes)
    assert any(problem in found for found in problems), problems


async def test_a_node_with_two_parents_is_found() -> None:
    nodes = MemoryNodes()
    leaf = encode_node([A], 0, "one")
    nodes.add([leaf])
    root = make_root(header_of(3, LIMITS, level=1), [Entry(b"", leaf.name.encode(), 1), Entry(b"b", leaf.name.encode(), 1)])
    assert any("named twice" in problem for problem in await verify(root, nodes))


async def test_every_missing_node_is_named() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {b"k%03d" % number: b"v" for number in range(60)}, nodes)
    lost = [name for name, node in nodes.nodes.items() if node.level == 0][3:6]
    for name in lost:
        del nodes.nodes[name]
    assert await verify(root, nodes) == [f"Node {name} is missing" for name in lost]


async def test_reachable_leaves_out_what_is_known() -> None:
    nodes = MemoryNodes()
    old = await commit(empty_root(LIMITS), {b"k%03d" % number: b"v" for number in range(300)}, nodes)
    new = await commit(old, {b"k%03d" % number: b"w" for number in range(6)}, nodes)
    known = await reachable(old, nodes)
    nodes.reads.clear()
    added = await reachable(new, nodes, known)
    assert len(nodes.reads) <= 2 * new.header.level
    assert known | added == known | await reachable(new, nodes)
    assert not added & known


async def test_limits_come_from_the_catalog() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {b"k%03d" % number: b"v" for number in range(60)}, nodes)
    tighter = replace(root.header.catalog, limits=replace(LIMITS, node_rows=2))
    problems = await verify(make_root(replace(root.header, catalog=tighter), root.pivots.entries(), []), nodes)
    assert problems
    assert all("limits are 2" in problem for problem in problems)
