"""Lookups: what they find, and which nodes they read."""

from __future__ import annotations

import pytest

from catalog_format.errors import CorruptFileError
from catalog_format.node import NO_STAMP, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree import MISS, lookup, lookup_cached, stamp_of
from catalog_format.tree.search import lookup_below
from tests.support.trees import MemoryNodes, commit, empty_root

LIMITS = TreeLimits(node_bytes=4000, node_rows=4, buffer_bytes=4000, buffer_rows=6)


def key(number: int) -> bytes:
    return b"k%03d" % number


async def tree(nodes: MemoryNodes) -> Root:
    root = await commit(empty_root(LIMITS), {key(number): b"%d" % number for number in range(0, 200, 2)}, nodes)
    return await commit(root, {key(3): b"new", key(4): None}, nodes)


async def test_the_buffer_overrides_the_leaves() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    assert root.header.level >= 3
    assert (await lookup(root, key(2), nodes), await lookup(root, key(3), nodes)) == ((key(2), b"2", 1), (key(3), b"new", 2))
    assert await lookup(root, key(4), nodes) is None
    assert [await stamp_of(root, key(number), nodes) for number in (2, 3, 4, 5)] == [1, 2, NO_STAMP, NO_STAMP]


async def test_a_lookup_reads_one_node_a_level() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    await lookup(root, key(100), nodes)
    assert len(nodes.reads) == root.header.level
    nodes.reads.clear()
    await lookup(root, key(3), nodes)
    assert nodes.reads == []


async def test_what_is_not_at_hand_is_a_miss() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    assert lookup_cached(root, key(2), nodes) is MISS
    assert lookup_cached(root, key(4), nodes) is None
    nodes.warm = True
    assert lookup_cached(root, key(2), nodes) == (key(2), b"2", 1)
    assert await lookup(root, key(2), nodes) == (key(2), b"2", 1)
    assert nodes.reads == []


async def test_an_empty_tree_holds_nothing() -> None:
    nodes = MemoryNodes()
    root = empty_root(LIMITS)
    assert (lookup_cached(root, b"", nodes), await lookup(root, b"k", nodes), await lookup_below(root, [b"k"], nodes)) == (None, None, {})


async def test_below_the_buffer_each_node_is_read_once() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    found = await lookup_below(root, [key(3), key(4), key(6), key(190)], nodes)
    assert {name: entry.value for name, entry in found.items()} == {key(4): b"4", key(6): b"6", key(190): b"190"}
    assert len(nodes.reads) == len(set(nodes.reads))


async def test_a_missing_node_is_an_error() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    with pytest.raises(CorruptFileError, match="missing"):
        await lookup(root, key(2), MemoryNodes())
