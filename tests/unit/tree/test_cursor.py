"""Scans: order, bounds, and how much they read."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from catalog_format.errors import CorruptFileError
from catalog_format.node import Node, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree import changed_since, is_empty, scan
from catalog_format.tree.spots import MOST_AHEAD
from tests.support.trees import MemoryNodes, commit, empty_root

LIMITS = TreeLimits(node_bytes=4000, node_rows=40, buffer_bytes=4000, buffer_rows=20)


def key(number: int) -> bytes:
    return b"k%04d" % number


async def tree(nodes: MemoryNodes, count: int = 4000) -> Root:
    return await commit(empty_root(LIMITS), {key(number): b"v" for number in range(count)}, nodes)


async def keys_in(root: Root, low: bytes, high: bytes, nodes: MemoryNodes, after: bytes | None = None) -> list[bytes]:
    return [entry.key async for entry in scan(root, low, high, nodes, after)]


async def test_bounds_and_after() -> None:
    nodes = MemoryNodes()
    root = await commit(await tree(nodes), {key(11): None, key(11) + b"x": b"new", key(4000): b"last"}, nodes)
    assert await keys_in(root, key(10), key(13), nodes) == [key(10), key(11) + b"x", key(12)]
    assert await keys_in(root, key(10), key(13), nodes, key(10)) == [key(11) + b"x", key(12)]
    assert await keys_in(root, key(10), key(13), nodes, key(11)) == [key(11) + b"x", key(12)]
    assert await keys_in(root, key(10), key(13), nodes, b"a") == [key(10), key(11) + b"x", key(12)]
    assert await keys_in(root, key(3999), b"z", nodes) == [key(3999), key(4000)]
    assert await keys_in(root, key(13), key(10), nodes) == []
    assert await keys_in(root, key(10), key(13), nodes, b"z") == []


async def test_a_narrow_scan_reads_one_path() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    nodes.reads.clear()
    assert len(await keys_in(root, key(100), key(101), nodes)) == 1
    assert len(nodes.reads) == root.header.level
    nodes.reads.clear()
    assert not await is_empty(root, b"", b"z", nodes)
    assert len(nodes.reads) <= root.header.level
    nodes.reads.clear()
    assert await is_empty(root, key(100) + b"a", key(101), nodes)
    assert len(nodes.reads) <= root.header.level


async def test_deleted_ranges_are_empty() -> None:
    nodes = MemoryNodes()
    root = await commit(await tree(nodes), {key(number): None for number in range(100, 110)}, nodes)
    assert await is_empty(root, key(100), key(110), nodes)
    assert not await is_empty(root, key(100), key(111), nodes)


class Slow(MemoryNodes):
    """Counts how many reads run together."""

    running = 0
    most = 0

    async def node(self, name: str) -> Node:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.001)
            return await super().node(name)
        finally:
            self.running -= 1


async def test_a_long_scan_reads_ahead_and_stops_when_closed() -> None:
    nodes = Slow()
    root = await tree(nodes)
    nodes.reads.clear()
    async with aclosing(scan(root, b"", b"z", nodes)) as entries:
        assert (await anext(entries)).key == key(0)
        assert len(nodes.reads) == root.header.level
    assert (nodes.most, nodes.running) == (1, 0)
    assert await keys_in(root, b"", b"z", nodes) == [key(number) for number in range(4000)]
    assert 2 < nodes.most <= MOST_AHEAD * root.header.level
    async with aclosing(scan(root, b"", b"z", nodes)) as entries:
        for _ in range(500):
            await anext(entries)
    await asyncio.sleep(0)
    assert nodes.running == 0


async def test_a_missing_leaf_ends_the_scan_with_an_error() -> None:
    nodes = MemoryNodes()
    root = await tree(nodes)
    leaf = max((node for node in nodes.nodes.values() if node.level == 0), key=lambda node: node.rows.key(0))
    del nodes.nodes[leaf.name]
    with pytest.raises(CorruptFileError):
        await keys_in(root, b"", b"z", nodes)


async def test_unchanged_ranges_are_not_read() -> None:
    nodes = MemoryNodes()
    base = await tree(nodes)
    now = await commit(base, {key(number): b"w" for number in range(3000, 3050)}, nodes)
    nodes.reads.clear()
    assert await changed_since(now, b"", key(1500), base, nodes) is None
    assert len(nodes.reads) <= 1
    nodes.reads.clear()
    assert await changed_since(now, b"", b"z", base, nodes) == key(3000)
    assert len(nodes.reads) < 12


async def test_flushing_what_the_base_held_is_no_change() -> None:
    """Leaves are new since the base, their entries are not: the pivots' stamps say so without reading the leaves."""
    nodes = MemoryNodes()
    base = await commit(await tree(nodes), {key(number): b"w" for number in range(100, 118)}, nodes)
    now = await commit(base, {key(3000 + number): b"x" for number in range(8)}, nodes)
    assert len(now.buffer) < 12
    nodes.reads.clear()
    assert await changed_since(now, key(0), key(99), base, nodes) is None
    leaves = [name for name in nodes.reads if nodes.nodes[name].level == 0]
    assert leaves == []
    assert await changed_since(now, b"", b"z", base, nodes) == key(3000)
