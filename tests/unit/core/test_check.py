"""`check`: silent on sound catalogs, and every kind of damage is named."""

from __future__ import annotations

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.maintenance.check import CheckReport, check
from catalog_format.storage import MemoryStorage, Storage
from tests.support.catalogs import SMALL_TREE, make_table, opened


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
    nodes = await store.list("node")
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
