"""`check`: silent on sound catalogs, and every kind of damage is named."""

from __future__ import annotations

import asyncio

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.maintenance.check import CheckReport, check
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.node_codec import decode_node, decode_root, encode_stub
from catalog_format.storage import MemoryStorage, Storage
from catalog_format.tree.invariants import reachable
from tests.support.catalogs import SMALL_TREE, ManualClock, make_table, opened


async def _filled(store: Storage) -> None:
    async with opened(store, limits=SMALL_TREE) as catalog:
        await make_table(catalog.main, "ns", "t")
        for n in range(40):
            await catalog.main.create_namespace((f"n{n:02}",), {"big": "x" * (400 if n % 7 == 0 else 10)})
        for n in range(0, 40, 3):
            await catalog.main.drop_namespace((f"n{n:02}",))
        await catalog.transactions.begin("1")
        await make_table(await catalog.within("1"), "ns", "u")
        await catalog.transactions.commit("1")
        await catalog.transactions.begin("open")


async def _checked(store: Storage) -> CheckReport:
    async with opened(store) as catalog:
        return await run(catalog)


async def run(catalog: StoredCatalog) -> CheckReport:
    return await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)


async def test_a_sound_catalog_is_clean() -> None:
    store = MemoryStorage()
    await _filled(store)
    report = await _checked(store)
    assert (report.problems, report.unreachable) == ([], [])
    assert report.versions == report.latest_version + 1
    assert report.nodes == len(await store.list("node"))
    assert report.transactions == 2


async def test_damage_is_named_and_leftovers_are_told() -> None:
    store = MemoryStorage()
    await _filled(store)
    # Below an inner node that is gone nothing can be seen to be needed.
    nodes = [path for path in await store.list("node") if decode_node(path[5:-6], await store.get(path)).level == 0]
    definitions = await store.list("def")
    data = await store.get(nodes[0])
    await store.replace(nodes[0], data[:-9] + b"x" + data[-8:])
    await store.delete(nodes[1])
    await store.delete(definitions[0])
    await store.replace("node/" + "0" * 64 + ".arrow", b"left by an attempt that lost")
    await store.delete(paths.root_path(3))
    await store.replace(paths.transaction_state_path("1", 1), b"nothing")
    await store.delete(paths.transaction_state_path("1", 3))
    report = await _checked(store)
    text = "\n".join(report.problems)
    for name in (nodes[0][5:-6], nodes[1][5:-6], definitions[0], paths.root_path(3)):
        assert name in text, name
    assert report.unreachable == ["node/" + "0" * 64 + ".arrow"]


async def test_a_gap_that_hides_later_versions_is_told() -> None:
    store = MemoryStorage()
    async with opened(store) as catalog:
        for n in range(9):
            await catalog.main.create_namespace((f"n{n}",), {})
    await store.delete(paths.root_path(5))
    await store.replace(paths.LATEST_HINT, b"4")
    report = await _checked(store)
    assert report.latest_version == 4
    assert [problem for problem in report.problems if "Version 9 exists, but the root of version 5" in problem] == report.problems != []


async def test_a_rewritten_past_breaks_the_chain() -> None:
    store, other = MemoryStorage(), MemoryStorage()
    for each in (store, other):
        async with opened(each) as catalog:
            for n in range(4):
                await catalog.main.create_namespace((f"n{n}",), {})
    await store.replace(paths.root_path(2), await other.get(paths.root_path(2)))
    report = await _checked(store)
    assert [problem for problem in report.problems if "chain is broken" in problem] == [
        "Version 2 was not made from version 1 as it lies there: the hash chain is broken",
        "Version 3 was not made from version 2 as it lies there: the hash chain is broken",
    ]


async def _given_up(store: Storage) -> int:
    """As `_filled`, then only the newest versions are kept, and the base of transaction `open`, which is given back."""
    await _filled(store)
    clock = ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(await catalog.within("open"), "ns", "mine")
        base = (await catalog.transactions.load("open")).base_version
        for number in range(12):
            await catalog.main.create_namespace((f"n{number:02}-late",), {"big": "x" * 400})
        clock.advance(1)
        await expire(catalog.parts, ExpiryPolicy(0, keep=3))
        await collect(catalog.parts)
    return base


async def test_a_catalog_whose_old_versions_were_given_up_is_clean() -> None:
    store = MemoryStorage()
    base = await _given_up(store)
    async with opened(store) as catalog:
        header = (await catalog.versions.confirm()).header
        report = await run(catalog)
    assert (report.problems, report.unreachable) == ([], [])
    assert (report.oldest_version, header.unstubbed) == (header.oldest, (base,))
    assert report.versions == report.latest_version - header.oldest + 1 + 1, "the version that the transaction holds is walked too"


async def test_damage_to_what_only_a_transaction_holds_is_named() -> None:
    store = MemoryStorage()
    base = await _given_up(store)
    async with opened(store) as catalog:
        held = await reachable(await catalog.versions.read(base), catalog.nodes)
        latest = await catalog.versions.confirm()
        for version in range(latest.header.oldest, latest.version + 1):
            held -= await reachable(await catalog.versions.read(version), catalog.nodes)
        leaves = [name for name in held if (await catalog.nodes.node(name)).level == 0]
    for name in leaves:
        await store.delete(paths.node_path(name))
    report = await _checked(store)
    assert leaves and all(any(name in problem for problem in report.problems) for name in leaves)
    await store.replace(paths.root_path(base), encode_stub(decode_root(base, await store.get(paths.root_path(base)))))
    report = await _checked(store)
    [problem] = report.problems
    assert problem == f"Transaction open is unfinished, and its base version {base} was given up: it cannot go on; roll it back"


async def test_the_chain_goes_on_below_the_oldest_kept_version() -> None:
    store, other = MemoryStorage(), MemoryStorage()
    for each in (store, other):
        clock = ManualClock()
        async with opened(each, clock=clock) as catalog:
            for n in range(6):
                await catalog.main.create_namespace((f"n{n}",), {})
            clock.advance(1)
            report = await expire(catalog.parts, ExpiryPolicy(0, keep=3))
    below = paths.root_path(report.oldest - 1)
    await store.replace(below, await other.get(below))
    assert (await _checked(store)).problems == [
        f"Version {report.oldest} was not made from version {report.oldest - 1} as it lies there: the hash chain is broken"
    ]


async def test_a_stub_where_a_root_belongs_is_told() -> None:
    store = MemoryStorage()
    await _filled(store)
    path = paths.root_path(7)
    await store.replace(path, encode_stub(decode_root(7, await store.get(path))))
    [problem] = (await _checked(store)).problems
    assert problem == f"Version 7 is kept, but only the stub of its root is left ({path})"


async def test_what_is_given_up_during_a_check_is_no_damage() -> None:
    store = MemoryStorage()
    await _filled(store)
    async with opened(store) as catalog, opened(store, clock=ManualClock(1_700_000_100_000)) as other:
        await catalog.transactions.rollback("open")
        reached = asyncio.Event()

        def walked(done: int, total: int) -> None:
            if done == 3:
                reached.set()

        checking = asyncio.create_task(check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs, walked))
        await reached.wait()
        await expire(other.parts, ExpiryPolicy(0, keep=2))
        await collect(other.parts)
        report = await checking
    assert report.problems == []
    assert report.versions == report.latest_version - report.oldest_version + 1
