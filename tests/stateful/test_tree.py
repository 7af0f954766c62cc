"""The tree against a dict: small limits, so that splits, merges and flushes happen at every turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Coroutine
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from catalog_format.node import NO_STAMP, Entry, Root
from catalog_format.objects import TreeLimits
from catalog_format.tree import MISS, changed_since, diff, is_empty, lookup, lookup_cached, scan, stamp_of
from catalog_format.tree.invariants import reachable, verify
from tests.support.trees import MemoryNodes, commit, empty_root

T = TypeVar("T")

# Few enough to meet again; prefixes of each other and zero bytes, where separators and `after` could go wrong.
UNIVERSE = sorted({stem + bytes([last]) * repeat for stem in (b"a", b"ab", b"b\x00", b"\xff") for last in range(7) for repeat in (1, 2, 3)})
END = b"\xff" * 9
keys = st.sampled_from(UNIVERSE)
values = st.one_of(st.none(), st.binary(max_size=6), st.just(b"long" * 30))
small_changes = st.dictionaries(keys, values, min_size=1, max_size=3)
bulk_changes = st.dictionaries(keys, values, max_size=len(UNIVERSE))
bounds = st.one_of(keys, st.sampled_from([b"", b"a", b"b", END]))

Model = dict[bytes, tuple[bytes, int]]


class TreeMachine(RuleBasedStateMachine):
    """Every version is kept, as a root and as a dict of key to (value, stamp)."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.nodes = MemoryNodes()
        self.roots: list[Root] = []
        self.models: list[Model] = []

    def teardown(self) -> None:
        for root, model in zip(self.roots, self.models, strict=True):
            self.reads_as(root, model)
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def run_now(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize(rows=st.integers(3, 8), buffer_rows=st.integers(3, 8), node_bytes=st.sampled_from([200, 400, 4000]))
    def begin(self, rows: int, buffer_rows: int, node_bytes: int) -> None:
        limits = TreeLimits(node_bytes=node_bytes, node_rows=rows, buffer_bytes=node_bytes, buffer_rows=buffer_rows)
        self.roots.append(empty_root(limits))
        self.models.append({})

    @rule(changes=small_changes)
    def change(self, changes: dict[bytes, bytes | None]) -> None:
        self.write(changes)

    @rule(changes=bulk_changes)
    def change_many(self, changes: dict[bytes, bytes | None]) -> None:
        self.write(changes)

    @rule(hot=keys, times=st.integers(2, 12), data=st.data())
    def change_one_often(self, hot: bytes, times: int, data: st.DataObject) -> None:
        for turn in range(times):
            self.write({hot: b"%d" % turn, data.draw(keys): b"cold"})

    @rule(low=bounds, high=bounds)
    def delete_range(self, low: bytes, high: bytes) -> None:
        self.write({key: None for key in UNIVERSE if low <= key < high})

    @precondition(lambda self: self.roots)
    @rule(low=bounds, high=bounds, after=st.one_of(st.none(), bounds), data=st.data())
    def read_range(self, low: bytes, high: bytes, after: bytes | None, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, len(self.roots) - 1))
        root, model = self.roots[version], self.models[version]
        self.nodes.warm = data.draw(st.booleans())
        found = self.run_now(collected(scan(root, low, high, self.nodes, after)))
        in_range = [key for key in sorted(model) if low <= key < high]
        assert [entry.key for entry in found] == [key for key in in_range if after is None or key > after]
        assert self.run_now(is_empty(root, low, high, self.nodes)) == (not in_range)

    @precondition(lambda self: self.roots)
    @rule(low=bounds, high=bounds, data=st.data())
    def compare(self, low: bytes, high: bytes, data: st.DataObject) -> None:
        old, new = data.draw(st.integers(0, len(self.roots) - 1)), data.draw(st.integers(0, len(self.roots) - 1))
        before, after = self.models[old], self.models[new]
        found = self.run_now(collected(diff(self.roots[old], self.roots[new], self.nodes)))
        assert [(item.key, seen(item.old), seen(item.new)) for item in found] == naive_diff(before, after)
        clipped = self.run_now(collected(diff(self.roots[old], self.roots[new], self.nodes, low, high)))
        assert clipped == [item for item in found if low <= item.key < high]
        self.look_for_change(min(old, new), max(old, new), low, high)

    def look_for_change(self, base: int, version: int, low: bytes, high: bytes) -> None:
        was, now = self.models[base], self.models[version]
        changed = [key for key in UNIVERSE if low <= key < high and stamp_in(was, key) != stamp_in(now, key)]
        found = self.run_now(changed_since(self.roots[version], low, high, self.roots[base], self.nodes))
        assert found == (changed[0] if changed else None)

    def write(self, changes: dict[bytes, bytes | None]) -> None:
        version = len(self.roots)
        root = self.run_now(commit(self.roots[-1], changes, self.nodes))
        model = dict(self.models[-1])
        for key, value in changes.items():
            if value is None:
                model.pop(key, None)
            else:
                model[key] = (value, version)
        self.roots.append(root)
        self.models.append(model)
        self.reads_as(root, model)
        assert self.run_now(verify(root, self.nodes)) == []
        for base in {version * 2 // 3, max(0, version - 4)}:
            self.walk_changes(base, version)

    def walk_changes(self, base: int, version: int) -> None:
        """One by one, so that the first change hides no later one."""
        was, now = self.models[base], self.models[version]
        found: list[bytes] = []
        low = b""
        while (key := self.run_now(changed_since(self.roots[version], low, END, self.roots[base], self.nodes))) is not None:
            found.append(key)
            low = key + b"\0"
        assert found == [key for key in UNIVERSE if stamp_in(was, key) != stamp_in(now, key)]

    def reads_as(self, root: Root, model: Model) -> None:
        self.nodes.warm = True
        found = self.run_now(collected(scan(root, b"", END, self.nodes)))
        assert {entry.key: (entry.value, entry.stamp) for entry in found} == model
        assert [entry.key for entry in found] == sorted(model)
        for key in UNIVERSE:
            entry = lookup_cached(root, key, self.nodes)
            assert entry is not MISS
            assert seen(entry) == model.get(key)
        self.nodes.warm = False
        for key in UNIVERSE[:: len(UNIVERSE) // 4]:
            assert seen(self.run_now(lookup(root, key, self.nodes))) == model.get(key)
            assert self.run_now(stamp_of(root, key, self.nodes)) == stamp_in(model, key)
        assert self.run_now(reachable(root, self.nodes)) <= self.nodes.nodes.keys()


def seen(entry: Entry | None) -> tuple[bytes | None, int] | None:
    return None if entry is None else (entry.value, entry.stamp)


def stamp_in(model: Model, key: bytes) -> int:
    return model[key][1] if key in model else NO_STAMP


def naive_diff(before: Model, after: Model) -> list[tuple[bytes, tuple[bytes, int] | None, tuple[bytes, int] | None]]:
    return [(key, before.get(key), after.get(key)) for key in UNIVERSE if before.get(key) != after.get(key)]


async def collected(items: AsyncIterable[T]) -> list[T]:
    return [item async for item in items]


def test_tree_against_a_dict() -> None:
    run_state_machine_as_test(
        TreeMachine,
        settings=settings(max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)),
    )
