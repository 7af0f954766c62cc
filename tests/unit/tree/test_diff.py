"""Differences of versions: what is reported, and that it costs what changed."""

from __future__ import annotations

from catalog_format.node import Entry, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree import Difference, diff
from tests.support.trees import MemoryNodes, commit, empty_root, header_of, make_root

LIMITS = TreeLimits(node_bytes=4000, node_rows=40, buffer_bytes=4000, buffer_rows=20)


def key(number: int) -> bytes:
    return b"k%05d" % number


async def difference(old: Root, new: Root, nodes: MemoryNodes, low: bytes | None = None, high: bytes | None = None) -> list[Difference]:
    return [item async for item in diff(old, new, nodes, low, high)]


async def test_a_small_change_in_a_large_tree_reads_a_few_nodes() -> None:
    nodes = MemoryNodes()
    old = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(20_000)}, nodes)
    new = old
    for number in range(30):
        new = await commit(new, {key(10_000 + number): b"w"}, nodes)
    nodes.reads.clear()
    found = await difference(old, new, nodes)
    assert [item.key for item in found] == [key(10_000 + number) for number in range(30)]
    assert found[0] == (key(10_000), (key(10_000), b"v", 1), (key(10_000), b"w", 2))
    assert len(nodes.reads) < 25
    nodes.reads.clear()
    assert await difference(old, new, nodes, None, key(9000)) == []
    assert [item.key for item in await difference(old, new, nodes, key(10_028))] == [key(10_028), key(10_029)]


async def test_equal_roots_are_not_read() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(2000)}, nodes)
    nodes.reads.clear()
    assert await difference(root, root, nodes) == []
    assert nodes.reads == []


async def test_trees_of_different_height() -> None:
    nodes = MemoryNodes()
    low = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(5)}, nodes)
    high = await commit(low, {key(number): b"v" for number in range(3, 5000)}, nodes)
    assert high.header.level > low.header.level + 1
    assert [item.key for item in await difference(low, high, nodes)] == [key(number) for number in range(3, 5000)]
    back = await difference(high, low, nodes)
    assert [(item.key, item.new) for item in back[:3]] == [(key(3), (key(3), b"v", 1)), (key(4), (key(4), b"v", 1)), (key(5), None)]


async def test_values_count_as_well_as_stamps() -> None:
    """Two branches may write one key in versions of the same number."""
    nodes = MemoryNodes()
    one = make_root(header_of(5, LIMITS), buffer=[Entry(b"a", b"x", 5), Entry(b"b", b"same", 4)])
    other = make_root(header_of(5, LIMITS), buffer=[Entry(b"a", b"y", 5), Entry(b"b", b"same", 5)])
    assert [(item.key, item.old and item.old.value, item.new and item.new.value) for item in await difference(one, other, nodes)] == [
        (b"a", b"x", b"y"),
        (b"b", b"same", b"same"),
    ]
