"""How many storage requests an operation makes. Counts are stable where times are not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.changes import IsolationLevel
from catalog_format.keys import namespace_key, table_key
from catalog_format.node import RootHeader
from catalog_format.node_codec import encode_root
from catalog_format.node_store import NodeStore
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.storage import CountingStorage, MemoryStorage
from catalog_format.storage.counting import Calls
from catalog_format.tree import apply
from catalog_format.version_log import VersionLog
from tests.support.catalogs import SMALL_TREE, ManualClock, make_table, opened, setting


class SlowStorage(MemoryStorage):
    """Every request lets others run first, so that what is sent together overlaps."""

    async def get(self, path: str) -> bytes:
        await asyncio.sleep(0)
        return await super().get(path)

    async def exists(self, path: str) -> bool:
        await asyncio.sleep(0)
        return await super().exists(path)

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        await asyncio.sleep(0)
        return await super().put_if_absent(path, data)


@asynccontextmanager
async def counted() -> AsyncIterator[tuple[StoredCatalog, CountingStorage]]:
    store = CountingStorage(SlowStorage())
    async with opened(store) as catalog:
        yield catalog, store


def _kinds(calls: Calls) -> list[tuple[str, str]]:
    """(verb, first folder) of each request but hints, which are off the path."""
    return [(verb, path.split("/")[0]) for verb, path in calls.pairs() if path != paths.LATEST_HINT]


async def test_a_warm_load_is_two_probes_sent_together() -> None:
    async with counted() as (catalog, store):
        await make_table(catalog.main, "ns", "t")
        with store.measure() as calls:
            await catalog.main.load_table(("ns", "t"))
        assert sorted(_kinds(calls)) == [("exists", "data"), ("get", "vn")]
        assert calls.round_trips == 1


@pytest.mark.parametrize("tables", [1, 32])
async def test_a_plain_commit_is_one_root_besides_one_metadata_file_a_table(tables: int) -> None:
    async with counted() as (catalog, store):
        for n in range(tables):
            await make_table(catalog.main, "ns", f"t{n}")
        with store.measure() as calls:
            await catalog.main.commit_tables([setting("ns", f"t{n}", a="1") for n in range(tables)])
            await catalog.versions.close()
        assert sorted(_kinds(calls)) == [("put_if_absent", "data")] * tables + [("put_if_absent", "vn")]
        assert calls.paths("replace") == [paths.LATEST_HINT]
        assert calls.round_trips <= 3


async def test_begin_is_a_probe_a_put_and_two_probes_sent_together() -> None:
    async with counted() as (catalog, store):
        # The first write of a process also asks the store for the time.
        await catalog.transactions.begin("0")
        with store.measure() as calls:
            await catalog.transactions.begin("1")
        assert _kinds(calls)[:2] == [("get", "vn"), ("put_if_absent", "dtxn-open")]
        assert sorted(_kinds(calls)[2:]) == [("exists", "dtxn"), ("get", "vn")]
        assert calls.round_trips == 3


@pytest.mark.parametrize("isolation", list(IsolationLevel))
async def test_commit_of_a_transaction_is_seal_and_root(isolation: IsolationLevel) -> None:
    async with counted() as (catalog, store):
        await make_table(catalog.main, "ns", "a")
        await make_table(catalog.main, "ns", "b")
        await catalog.transactions.begin("1", isolation)
        inside = await catalog.within("1")
        await inside.commit_tables([setting("ns", "a", x="1"), setting("ns", "b", x="1")])
        with store.measure() as calls:
            await catalog.transactions.commit("1")
        # What follows the answer (last state, open file) is not waited for.
        assert _kinds(calls)[:2] == [("put_if_absent", "dtxn"), ("put_if_absent", "vn")]
        with store.measure() as calls:
            await catalog.transactions.close()
        assert sorted(_kinds(calls)) in ([("delete", "dtxn-open")], [("delete", "dtxn-open"), ("put_if_absent", "dtxn")])


async def test_a_first_read_at_serializable_is_one_state_and_later_ones_none() -> None:
    async with counted() as (catalog, store):
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("1", IsolationLevel.SERIALIZABLE)
        inside = await catalog.within("1")
        for puts in (1, 0):
            with store.measure() as calls:
                await inside.load_table(("ns", "t"))
            assert calls.count("put_if_absent") == puts


async def test_a_listing_reads_only_the_nodes_of_its_range() -> None:
    store = CountingStorage(MemoryStorage())
    async with opened(store, limits=SMALL_TREE) as catalog:
        for parent in ("a", "b", "c"):
            await catalog.main.create_namespace((parent,), {})
        for n in range(60):
            for parent in ("a", "b", "c"):
                await catalog.main.create_namespace((parent, f"n{n:02}"), {})
    nodes = {}
    for parent in ("a", "missing-none"):
        async with opened(store) as catalog:
            with store.measure() as calls:
                if parent == "a":
                    await catalog.main.list_namespaces(("a",))
                else:
                    assert len((await catalog.main.list_namespaces()).items) == 3
            nodes[parent] = len([path for path in calls.paths("get") if path.startswith("node/")])
    every = len(await store.list("node"))
    assert nodes["a"] < every / 3


@pytest.mark.parametrize("hint", [b"100000", b"99990", b"garbage", b"999999999", None])
async def test_opening_at_version_100000_costs_logarithmically_many_probes(hint: bytes | None) -> None:
    clock = ManualClock()
    inner = MemoryStorage()
    async with opened(inner, clock=clock) as catalog:
        header = catalog.versions.known.header
    latest = 100_000
    for version in range(1, latest):
        # Only existence counts on the way; the latest root alone is read.
        await inner.replace(paths.root_path(version), b"")
    for version in (1, 99_990, 99_991, latest):
        made_at = header.created_at_ms + version
        data, _ = encode_root(RootHeader(version, made_at, header.catalog, header.previous_hash, "a" * 32), [], [], [])
        await inner.replace(paths.root_path(version), data)
    if hint is not None:
        await inner.replace(paths.LATEST_HINT, hint)
    store = CountingStorage(inner)
    log = VersionLog(store, clock)
    with store.measure() as calls:
        assert (await log.open()).version == latest
    assert len(calls) <= 4 + 2 * latest.bit_length()
    if hint == b"100000":
        assert len(calls) == 3


async def _built(tables: int) -> tuple[CountingStorage, int]:
    """A catalog with that many tables, bulk-built through the tree; and the tree's level."""
    store, clock = CountingStorage(MemoryStorage()), ManualClock()
    async with opened(store, clock=clock) as catalog:
        root = catalog.versions.known
        definition = TableDefinition("u" * 36, "./data/ns/t/metadata/00000-0.metadata.json").to_bytes()
        value = pb.Value(inline=definition).SerializeToString()
        changes: dict[bytes, bytes | None] = {table_key(("ns", f"t{n:07}")): value for n in range(tables)}
        changes[namespace_key(("ns",))] = pb.Value(inline=b"").SerializeToString()
        nodes = NodeStore(store, 1 << 30, clock)
        update = await apply(root, changes, 1, root.header.catalog.limits, nodes, "a" * 32)
        await nodes.upload(update.nodes)
        header = RootHeader(1, root.header.created_at_ms + 1, root.header.catalog, root.hash, "a" * 32, level=update.level)
        await store.put_if_absent(paths.root_path(1), encode_root(header, update.pivots, update.buffer, [])[0])
    return store, update.level


async def _cost(store: CountingStorage, name: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[tuple[str, str]], int]:
    async with opened(store) as catalog:
        with store.measure() as load:
            assert await catalog.main.table_exists(("ns", "t0000500"))
        await make_table(catalog.main, *name)
        with store.measure() as commit:
            await catalog.main.commit_tables([setting(*name, a="1")])
            await catalog.versions.close()
        return _kinds(load), _kinds(commit), commit.sent_bytes


@pytest.mark.parametrize("many", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
async def test_load_and_commit_cost_the_same_at_a_thousand_tables_and_at_many(many: int) -> None:
    costs = []
    for tables in (1_000, many):
        store, level = await _built(tables)
        load, commit, sent = await _cost(store, ("ns", "mine"))
        # Beyond the probe, one node a level.
        assert load == [("get", "vn")] + [("get", "node")] * level
        costs.append((commit, sent))
    assert costs[0][0] == costs[1][0]
    # The root's pivot table differs by a few rows.
    assert abs(costs[0][1] - costs[1][1]) < 16 * 1024


@pytest.mark.parametrize("versions", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_a_commit_costs_the_same_beside_a_transaction_open_for_many_versions(versions: int) -> None:
    async with counted() as (catalog, store):
        await make_table(catalog.main, "ns", "t")
        costs = []
        await catalog.transactions.begin("old", ttl_ms=7 * 24 * 3600 * 1000)
        for n in range(versions):
            with store.measure() as calls:
                await catalog.main.update_namespace(("ns",), [], {"n": f"{n:06}"})
                await catalog.versions.close()
            costs.append((_kinds(calls), calls.sent_bytes))
        assert costs[10][0] == costs[-1][0] == [("get", "vn"), ("put_if_absent", "vn")]
        assert abs(costs[10][1] - costs[-1][1]) < 64
        inside = await catalog.within("old")
        await make_table(inside, "other", "t")
        await catalog.transactions.commit("old")


async def _endings(isolation: IsolationLevel, versions: int) -> dict[str, tuple[Counter[tuple[str, str]], int]]:
    """Requests and sent bytes of COMMITs of transactions that read one table and changed another, so many versions after their base.

    "here": by the process that has seen all that; "elsewhere": by one that has just begun.
    """
    store, costs = CountingStorage(SlowStorage()), {}
    async with opened(store) as catalog:
        for number in range(50):
            await make_table(catalog.main, "ns", f"t{number}")
        for own, name in enumerate(("here", "elsewhere")):
            await catalog.transactions.begin(name, isolation, ttl_ms=7 * 24 * 3600 * 1000)
            inside = await catalog.within(name)
            await inside.load_table(("ns", f"t{own}"))
            await inside.commit_tables([setting("ns", f"t{own + 2}", a="1")])
        for number in range(versions):
            await catalog.main.commit_tables([setting("ns", f"t{4 + number % 46}", n=f"{number:04}")])
        await catalog.versions.close()
        async with opened(store) as newcomer:
            for name, process in (("here", catalog), ("elsewhere", newcomer)):
                with store.measure() as calls:
                    await process.transactions.commit(name)
                    await process.transactions.close()
                costs[name] = (Counter(_kinds(calls)), calls.sent_bytes)
    return costs


@pytest.mark.parametrize("isolation", list(IsolationLevel))
async def test_ending_a_transaction_costs_what_it_touched_however_many_versions_old_it_is(isolation: IsolationLevel) -> None:
    young, old = await _endings(isolation, 10), await _endings(isolation, 1_000)
    for process, (requests, sent) in young.items():
        assert old[process][0] == requests, process
        # Numbers of versions are longer.
        assert abs(old[process][1] - sent) < 64, process
    assert old["here"][0] == {("put_if_absent", "dtxn"): 2, ("put_if_absent", "vn"): 1, ("delete", "dtxn-open"): 1}
