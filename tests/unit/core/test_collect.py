"""Deleting what nothing kept needs: exactly that, whoever works on the catalog meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.errors import ContendedError, CorruptFileError, NoSuchNamespaceError, NoSuchVersionError, TransactionEndedError
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect, is_collectable
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.scope import NewTable, RequestContext
from catalog_format.storage import FaultyStorage, MemoryStorage
from catalog_format.storage.faulty import ScriptedPlan
from tests.support.catalogs import SCHEMA, SMALL_TREE, ManualClock, make_table, opened, properties_of, setting

NOW = ExpiryPolicy(0)
LONG = "x" * 2000


@asynccontextmanager
async def filled(store: MemoryStorage, clock: ManualClock) -> AsyncIterator[StoredCatalog]:
    """Tables and namespaces (one with a definition in a file of its own), changed and dropped, over a tree of several levels."""
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog:
        for number in range(4):
            await make_table(catalog.main, "ns", f"t{number}")
        for number in range(30):
            clock.advance(1)
            await catalog.main.create_namespace((f"n{number:02}",), {"long": LONG} if number == 7 else {})
            await catalog.main.commit_tables([setting("ns", f"t{number % 4}", n=str(number))])
        await catalog.main.drop_table(("ns", "t3"))
        await catalog.main.update_namespace(("n07",), [], {"long": LONG + "y"})
        clock.advance(1)
        yield catalog


async def files(store: MemoryStorage) -> set[str]:
    return {path for path in await store.list("") if is_collectable(path)}


async def needed(catalog: StoredCatalog) -> set[str]:
    """What a full walk, written apart from `reach`, finds in the kept versions."""
    report = await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
    assert report.problems == []
    every = set(await catalog.storage.list("node")) | set(await catalog.storage.list("def"))
    found = every - set(report.unreachable)
    for version in range((await catalog.versions.confirm()).header.oldest, await catalog.latest_version() + 1):
        scope = await catalog.at(version)
        for table in (await scope.list_tables(("ns",))).items if await scope.namespace_exists(("ns",)) else ():
            location = (await scope.load_table(table)).metadata_location
            found.add(location.removeprefix(f"{catalog.url}/"))
    return found


async def test_what_is_left_is_what_the_kept_versions_need() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        foreign = {
            "data/ns/t0/data/00000-0-part.parquet",
            "data/ns/t0/metadata/snap-1-1-abc.avro",
            "data/ns/t0/metadata/00003-0e9f1c52-6a7b-4d3e-8f21-5b4c3d2e1f00.metadata.json",
            "readme.txt",
        }
        for path in foreign:
            await store.put_if_absent(path, b"engine's")
        before = await files(store)
        assert (await collect(catalog.parts)).deleted == sorted(before - await needed(catalog))
        await expire(catalog.parts, ExpiryPolicy(0, keep=5))
        report = await collect(catalog.parts)
        assert report.deleted and await files(store) == await needed(catalog)
        assert foreign <= set(await store.list(""))
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        assert await files(store) == await needed(catalog)
        async with opened(store, clock=clock) as other:
            assert [(await properties_of(other.main, "ns", f"t{number}"))["n"] for number in range(3)] == ["28", "29", "26"]
            assert (await other.main.load_namespace(("n07",)))["long"] == LONG + "y"


async def test_a_run_without_anything_to_delete_makes_no_version() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await collect(catalog.parts)
        before = await catalog.latest_version()
        report = await collect(catalog.parts)
        assert (report.deleted, report.epoch_version, await catalog.latest_version()) == ([], None, before)


async def test_a_dry_run_says_what_a_run_deletes() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await expire(catalog.parts, NOW)
        before = await store.list("")
        told = await collect(catalog.parts, dry_run=True)
        assert await store.list("") == before
        assert (await collect(catalog.parts)).deleted == told.deleted != []


async def test_the_files_of_an_open_transaction_and_of_its_base_stay_until_it_ends() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await catalog.transactions.begin("1")
        inside = await catalog.within("1")
        await inside.commit_tables([setting("ns", "t0", mine="1")])
        await inside.commit_tables([setting("ns", "t0", mine="2")])
        for number in range(4):
            await catalog.main.create_namespace((f"later{number}",), {})
            await catalog.main.commit_tables([setting("ns", "t1", n=f"later{number}")])
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        async with opened(store, clock=clock) as other:
            there = await other.within("1")
            assert (await properties_of(there, "ns", "t0"))["mine"] == "2"
            assert (await properties_of(there, "ns", "t1"))["n"] == "29"
        held = await files(store)
        assert any("-dtxn_1." in path for path in held)
        await catalog.transactions.rollback("1")
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        assert await files(store) == await needed(catalog)
        assert not any("-dtxn_1." in path for path in await files(store))


class GatedStorage(MemoryStorage):
    """Holds the first put below a prefix back (or its reply), until the test opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.prefix: str | None = None
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        if self.prefix is not None and path.startswith(self.prefix):
            self.prefix = None
            self.reached.set()
            await self.gate.wait()
        return await super().put_if_absent(path, data)


@pytest.mark.parametrize("held", ["vn/", "node/", "data/"], ids=["root", "node", "metadata"])
async def test_a_writer_that_was_stalled_in_the_middle_of_a_commit_loses_nothing(held: str) -> None:
    store, clock = GatedStorage(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock) as other:

        async def write() -> None:
            for number in range(40):
                await other.main.commit_tables([setting("ns", "t0", slow=str(number)), setting("ns", "t1", slow=str(number))])
                await other.main.create_namespace((f"slow{number:02}",), {})

        store.prefix = held
        writing = asyncio.create_task(write())
        await store.reached.wait()
        for number in range(5):
            await catalog.main.create_namespace((f"fast{number}",), {})
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        await collect(catalog.parts)
        store.gate.set()
        await writing
        async with opened(store, clock=clock) as third:
            assert [(await properties_of(third.main, "ns", name))["slow"] for name in ("t0", "t1")] == ["39", "39"]
            assert len((await third.main.list_namespaces()).items) == 1 + 30 + 40 + 5
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        assert await files(store) == await needed(catalog)


async def test_a_transaction_whose_state_is_under_way_keeps_its_files() -> None:
    store, clock = GatedStorage(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock) as other:
        await other.transactions.begin("slow")
        inside = await other.within("slow")
        store.prefix = "dtxn/slow/"
        writing = asyncio.create_task(inside.commit_tables([setting("ns", "t0", mine="1")]))
        await store.reached.wait()
        # The metadata file is there, and no state names it yet.
        await collect(catalog.parts)
        store.gate.set()
        await writing
        await other.transactions.commit("slow")
        async with opened(store, clock=clock) as third:
            assert (await properties_of(third.main, "ns", "t0"))["mine"] == "1"


async def test_a_transaction_that_commits_while_files_are_collected_keeps_them() -> None:
    class CommitsLate(MemoryStorage):
        commit: asyncio.Task[object] | None = None
        catalog: StoredCatalog | None = None

        async def list(self, prefix: str) -> list[str]:
            found = await super().list(prefix)
            if prefix == paths.OPEN_TRANSACTIONS and self.catalog is not None:
                # After the list was made, before it is answered: the transaction is in it, and is none any more.
                catalog, self.catalog = self.catalog, None
                await catalog.transactions.commit("1")
                await catalog.transactions.close()
            return found

    store, clock = CommitsLate(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock) as other:
        await other.transactions.begin("1")
        await (await other.within("1")).commit_tables([setting("ns", "t0", mine="1")])
        store.catalog = other
        await collect(catalog.parts)
        async with opened(store, clock=clock) as third:
            assert (await properties_of(third.main, "ns", "t0"))["mine"] == "1"
            assert await needed(third) <= await files(store)


@pytest.mark.parametrize("pinned", [True, False], ids=["a past version", "what was the latest"])
async def test_whoever_reads_a_version_that_goes_away_is_told_so(pinned: bool) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock, max_staleness_s=3600) as stale:
        old = await catalog.latest_version()
        past = await stale.at(old)
        for number in range(10):
            await catalog.main.update_namespace((f"n{number:02}",), [], {"new": "1"})
        for number in range(30):
            await catalog.main.create_namespace((f"z{number}",), {})
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        async with opened(store, clock=clock) as newcomer:
            with pytest.raises(NoSuchVersionError, match=f"Version {old} was given up"):
                await newcomer.at(old)
        # This one has the root in its cache, and believed for an hour that it is the latest.
        scope = past if pinned else stale.main
        with pytest.raises(ContendedError, match=f"Version {old} was given up while it was read: read again"):
            await scope.load_namespace(("n00",))
        assert (await stale.main.load_namespace(("n00",)))["new"] == "1"
        with pytest.raises(NoSuchVersionError, match=f"Version {old} was given up"):
            await past.load_namespace(("n00",))


async def test_a_killed_run_is_repeated() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        await expire(catalog.parts, NOW)
        doomed = (await collect(catalog.parts, dry_run=True)).deleted

    class DiesAfter(FaultyStorage):
        left = len(doomed) // 2

        async def delete(self, path: str) -> None:
            self.left -= 1
            if self.left < 0:
                raise self.crash()
            await super().delete(path)

    with pytest.raises(BaseException, match="injected: crash"):
        async with opened(DiesAfter(store, ScriptedPlan(), clock), clock=clock) as dying:
            await collect(dying.parts)
    async with opened(store, clock=clock) as catalog:
        left = (await collect(catalog.parts)).deleted
        assert 0 < len(left) < len(doomed)
        assert await files(store) == await needed(catalog)


async def test_nothing_is_deleted_from_a_damaged_catalog() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog:
        root = await catalog.versions.confirm()
        name = (root.pivots.value(0) or b"").decode()
    await store.delete(paths.node_path(name))
    async with opened(store, clock=clock) as catalog:
        before = await store.list("")
        with pytest.raises(CorruptFileError, match=name):
            await collect(catalog.parts)
        assert await store.list("") == before


async def test_several_collectors_at_once() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as one, opened(store, clock=clock) as two, opened(store, clock=clock) as three:
        await expire(one.parts, ExpiryPolicy(0, keep=3))
        reports = await asyncio.gather(
            collect(one.parts), collect(two.parts), expire(three.parts, NOW), collect(three.parts), return_exceptions=True
        )
        assert all(not isinstance(report, BaseException) or isinstance(report, ContendedError) for report in reports), reports
        clock.advance(1)
        await expire(one.parts, NOW)
        await collect(two.parts)
        assert await files(store) == await needed(three)


async def test_a_repeated_request_is_answered_with_metadata_that_no_kept_version_shows() -> None:
    store, clock = MemoryStorage(), ManualClock()
    context = RequestContext(idempotency_key="again", request_hash=b"h")
    async with filled(store, clock) as catalog:
        first = await catalog.main.create_table(("ns", "once"), NewTable(SCHEMA), context)
        await catalog.main.commit_tables([setting("ns", "once", n="1")])
        clock.advance(1)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
    async with opened(store, clock=clock) as other:
        again = await other.main.create_table(("ns", "once"), NewTable(SCHEMA), context)
        assert (again.metadata_location, again.metadata) == (first.metadata_location, first.metadata)


async def test_a_load_in_a_transaction_that_expired_and_was_collected_meanwhile_says_that_it_ended() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with filled(store, clock) as catalog, opened(store, clock=clock) as other:
        await catalog.transactions.begin("1", ttl_ms=1000)
        inside = await catalog.within("1")
        await inside.commit_tables([setting("ns", "t0", mine="1")])
        elsewhere = await other.within("1")
        await elsewhere.list_namespaces()
        clock.advance(2)
        await expire(catalog.parts, NOW)
        await collect(catalog.parts)
        with pytest.raises((NoSuchNamespaceError, TransactionEndedError), match="Transaction 1 is expired"):
            await elsewhere.load_table(("ns", "t0"))


@pytest.mark.parametrize("within", [False, True], ids=["a past version", "a transaction"])
async def test_who_loads_a_table_from_what_was_collected_is_told_so(within: bool) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog, opened(store, clock=clock) as stale:
        await make_table(catalog.main, "ns", "t")
        for number in range(20):
            await catalog.main.create_namespace((f"a{number:02}",), {})
        old = await stale.latest_version()
        await stale.transactions.begin("x")
        scope = await (stale.within("x") if within else stale.at(old))
        await catalog.transactions.rollback("x")
        await catalog.transactions.close()
        for number in range(40):
            await catalog.main.create_namespace((f"n{number:02}",), {})
            await catalog.main.commit_tables([setting("ns", "t", n=str(number))])
        clock.advance(1)
        await expire(catalog.parts, NOW)
        assert (await collect(catalog.parts)).deleted
        with pytest.raises(
            NoSuchNamespaceError if within else ContendedError, match="x is rolled-back" if within else "was given up while"
        ):
            await scope.load_table(("ns", "t"))
