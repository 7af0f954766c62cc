"""Applying changes: what stays in the buffer, what is rewritten, how the tree grows and shrinks."""

from __future__ import annotations

import pytest

from catalog_format.node import Entry, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree import apply, changed_since, lookup, scan
from catalog_format.tree.invariants import reachable, verify
from tests.support.trees import MemoryNodes, attempt_id, commit, empty_root, header_of, make_root

LIMITS = TreeLimits(node_bytes=4000, node_rows=40, buffer_bytes=4000, buffer_rows=20)
SMALL = TreeLimits(node_bytes=4000, node_rows=4, buffer_bytes=4000, buffer_rows=4)


def key(number: int) -> bytes:
    return b"k%05d" % number


async def contents(root: Root, nodes: MemoryNodes) -> dict[bytes, bytes | None]:
    return {entry.key: entry.value async for entry in scan(root, b"", b"z", nodes)}


def leaves(nodes: MemoryNodes, names: set[str]) -> int:
    return sum(1 for name in names if nodes.nodes[name].level == 0)


async def test_a_usual_commit_writes_no_node_and_reads_none() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(2000)}, nodes)
    nodes.reads.clear()
    update = await apply(root, {key(5): b"w", key(6): None}, 2, LIMITS, nodes, attempt_id(2))
    assert (update.nodes, nodes.reads) == ([], [])
    assert update.buffer == [Entry(key(5), b"w", 2), Entry(key(6), None, 2)]
    assert (update.level, update.pivots) == (root.header.level, root.pivots.entries())


async def test_without_leaves_a_deletion_leaves_nothing_behind() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {b"a": b"1", b"b": b"2"}, nodes)
    root = await commit(root, {b"a": None, b"absent": None}, nodes)
    assert root.buffer.entries() == [Entry(b"b", b"2", 1)]


async def test_the_first_leaves_account_for_deletions_before_them() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {b"a": b"1", b"b": b"2"}, nodes)
    root = await commit(root, {b"a": None}, nodes)
    root = await commit(root, {b"c%d" % number: b"3" for number in range(4)}, nodes)
    assert root.header.level == 1
    assert root.pivots.stamp(0) == 3


async def test_a_hot_key_stays_in_the_buffer() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(2000)}, nodes)
    for turn in range(300):
        # Each time one hot key next to none of the cold ones, and a cold one somewhere.
        root = await commit(root, {key(1999): b"%d" % turn, key(turn * 6): b"cold"}, nodes)
        assert root.buffer.find(key(1999)) is not None
        assert len(root.buffer) <= LIMITS.buffer_rows
    leaf_entry = [row for node in nodes.nodes.values() if node.level == 0 for row in node.rows if row.key == key(1999)]
    assert {row.stamp for row in leaf_entry} == {1}


async def test_a_flush_leaves_about_half_and_keeps_the_commits_own_entries() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(2000)}, nodes)
    for number in range(20):
        root = await commit(root, {key(number * 97): b"w"}, nodes)
    update = await apply(root, {key(1): b"x", key(2): b"x"}, 22, LIMITS, nodes, attempt_id(22))
    assert 8 <= len(update.buffer) <= 10
    assert {entry.key for entry in update.buffer if entry.stamp == 22} == {key(1), key(2)}
    oldest = min(entry.stamp for entry in update.buffer)
    assert oldest > 8


async def test_untouched_nodes_keep_their_names() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(5000)}, nodes)
    before = await reachable(root, nodes)
    now = await commit(root, {key(2500 + number): b"w" for number in range(21)}, nodes)
    after = await reachable(now, nodes)
    assert leaves(nodes, after - before) <= 2
    assert len(after - before) <= 2 * now.header.level


async def test_bulk_fills_leaves_well_and_reads_back() -> None:
    nodes = MemoryNodes()
    changes: dict[bytes, bytes | None] = {key(number): b"v" * (number % 50) for number in range(30_000)}
    root = await commit(empty_root(LIMITS), changes, nodes)
    assert await contents(root, nodes) == changes
    assert (await verify(root, nodes), len(root.buffer)) == ([], 0)
    fills = [max(node.rows.count / 40, node.rows.bytes_held / 4000) for node in nodes.nodes.values() if node.level == 0]
    assert 0.7 < sum(fills) / len(fills) < 0.9
    assert min(fills) > 0.5
    assert root.pivots.count <= 10


async def test_bulk_leaves_the_rest_of_the_buffer_alone() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(5000)}, nodes)
    root = await commit(root, {key(4999): b"waiting", key(105): b"goes along"}, nodes)
    root = await commit(root, {key(number): b"w" for number in range(100, 130)}, nodes)
    assert root.buffer.entries() == [Entry(key(4999), b"waiting", 2)]


async def test_the_root_stays_small_while_the_tree_grows_and_shrinks() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" for number in range(400)}, nodes)
    assert root.header.level > 4
    heights = []
    for low in range(0, 400, 25):
        root = await commit(root, {key(number): None for number in range(low, low + 25)}, nodes)
        assert await verify(root, nodes) == []
        heights.append(root.header.level)
    assert heights == sorted(heights, reverse=True)
    assert (root.header.level, root.pivots.count, root.buffer.count) == (0, 0, 0)


async def test_a_tall_tree_with_little_left_becomes_low() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" for number in range(400)}, nodes)
    update = await apply(root, {key(number): None for number in range(400) if number != 123}, 2, SMALL, nodes, attempt_id(2))
    assert (update.level, len(update.pivots), len(update.nodes)) == (1, 1, 1)
    # The inner nodes in between were made and dissolved again: none may be left to upload.
    assert update.nodes[0].name.encode() == update.pivots[0].value


async def test_underfull_leaves_merge() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(LIMITS), {key(number): b"v" for number in range(2000)}, nodes)
    many = leaves(nodes, await reachable(root, nodes))
    root = await commit(root, {key(number): None for number in range(2000) if number % 20}, nodes)
    few = leaves(nodes, await reachable(root, nodes))
    assert len(await contents(root, nodes)) == 100
    assert few < many / 8


async def test_an_emptied_subtree_hands_its_stamp_down_the_neighbours_edge() -> None:
    """Every level on the way to the range that was taken over must say that something changed there."""
    nodes = MemoryNodes()
    base = await commit(empty_root(SMALL), {key(number): b"v" for number in range(200)}, nodes)
    assert base.header.level > 3
    for low in range(56, 72):
        for high in (low + 1, low + 2, low + 3, low + 4, low + 7, low + 40, 200):
            now = await commit(base, {key(number): None for number in range(low, high)}, nodes)
            assert await verify(now, nodes) == []
            for number in {low, low + 1, (low + high) // 2, high - 2, high - 1} & set(range(low, high)):
                assert await changed_since(now, key(number), key(number + 1), base, nodes) == key(number)


async def test_tombstones_go_with_the_last_leaf() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" for number in range(5)}, nodes)
    root = await commit(root, {key(number): None for number in (0, 6, 7, 8, 9)}, nodes)
    root = await commit(root, {key(number): None for number in (1, 2, 3, 4)}, nodes)
    assert (root.header.level, len(root.buffer)) == (1, 4)
    root = await commit(root, {key(9): None}, nodes)
    assert (root.header.level, len(root.pivots), len(root.buffer)) == (0, 0, 0)


async def test_deleting_what_a_leaf_lacks_raises_the_stamp_and_keeps_the_file() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" for number in range(5)}, nodes)
    assert root.header.level == 1
    names = [entry.value for entry in root.pivots]
    update = await apply(root, {key(0) + b"%d" % number: None for number in range(5)}, 2, SMALL, nodes, attempt_id(2))
    assert (update.nodes, [entry.value for entry in update.pivots]) == ([], names)
    assert [entry.stamp for entry in update.pivots] == [2, 1]


async def test_only_what_is_named_is_written() -> None:
    nodes = MemoryNodes()
    root = empty_root(SMALL)
    for turn in range(60):
        changes = {key((turn * 7 + number * 13) % 150): None if turn % 3 == 2 else b"v" for number in range(turn % 40)}
        update = await apply(root, changes, turn + 1, SMALL, nodes, attempt_id(turn + 1))
        root = await commit(root, changes, nodes)
        assert {node.name for node in update.nodes} <= await reachable(root, nodes)


async def test_equal_arguments_give_equal_bytes() -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" for number in range(50)}, nodes)
    first, second = [await apply(root, {key(number): b"w" for number in range(9)}, 2, SMALL, nodes, "one") for _ in range(2)]
    assert first == second
    third = await apply(root, {key(number): b"w" for number in range(9)}, 2, SMALL, nodes, "two")
    assert not {node.name for node in first.nodes} & {node.name for node in third.nodes}


@pytest.mark.parametrize("size", [3000, 5000])
async def test_rows_larger_than_a_node_are_kept(size: int) -> None:
    nodes = MemoryNodes()
    root = await commit(empty_root(SMALL), {key(number): b"v" * size for number in range(12)}, nodes)
    assert await verify(root, nodes) == []
    entry = await lookup(root, key(7), nodes)
    assert entry is not None
    assert entry.value == b"v" * size


async def test_long_keys_do_not_pile_up_levels() -> None:
    nodes = MemoryNodes()
    limits = TreeLimits(node_bytes=300, node_rows=40, buffer_bytes=300, buffer_rows=10)
    root = make_root(header_of(0, limits))
    root = await commit(root, {b"%03d" % number + b"x" * 500 + b"%03d" % number: b"v" for number in range(200)}, nodes)
    assert await verify(root, nodes) == []
    assert root.header.level <= 8
