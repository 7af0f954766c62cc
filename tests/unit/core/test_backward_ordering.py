"""Serializable transactions whose reads were overwritten: when they are ordered before whoever did it, and when they are refused.

Jack reads `x` and writes `y`; others come in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from catalog_format import concurrency, paths
from catalog_format.catalog import PlaceScope, StoredCatalog
from catalog_format.changes import IsolationLevel, Place, ReadSet
from catalog_format.errors import NoSuchTableError, TransactionRefusedError
from catalog_format.keys import table_key
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.ordering import Concurrent, Footprint, NoPlace, place_before
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.scope import NewTable
from catalog_format.storage import CountingStorage, MemoryStorage, Storage
from tests.support.catalogs import NEW_VIEW, SCHEMA, ManualClock, make_table, opened, properties_of, setting

SERIALIZABLE, SNAPSHOT = IsolationLevel.SERIALIZABLE, IsolationLevel.SNAPSHOT


@asynccontextmanager
async def with_tables(storage: Storage | None = None, clock: ManualClock | None = None) -> AsyncIterator[StoredCatalog]:
    """Tables x, y and z in `ns`."""
    async with opened(storage, clock=clock) as catalog:
        for name in "xyz":
            await make_table(catalog.main, "ns", name)
        yield catalog


async def begin(
    catalog: StoredCatalog, name: str, *, reads: str = "", writes: str = "", level: IsolationLevel = SERIALIZABLE
) -> PlaceScope:
    """A transaction that reads tables and sets a property of others (which reads them too)."""
    await catalog.transactions.begin(name, level)
    inside = await catalog.within(name)
    for table in reads:
        await inside.load_table(("ns", table))
    for table in writes:
        await inside.commit_tables([setting("ns", table, by=name)])
    return inside


async def records(catalog: StoredCatalog, version: int) -> list[pb.TransactionRecord]:
    return [pb.TransactionRecord.FromString(row.value or b"") for row in (await catalog.versions.trace(version)).actions]


async def place_of(catalog: StoredCatalog, name: str) -> tuple[int, int] | None:
    """Before which version, and which of its members, a committed transaction was ordered."""
    version = (await catalog.transactions.load(name)).version
    assert version is not None
    [record] = [record for record in await records(catalog, version) if record.transaction_id == name]
    assert record.ordered_backwards == record.HasField("ordered_before")
    return (record.ordered_before.version, record.ordered_before.position) if record.ordered_backwards else None


async def refused(catalog: StoredCatalog, name: str, *says: str) -> None:
    with pytest.raises(TransactionRefusedError) as caught:
        await catalog.transactions.commit(name)
    for words in says:
        assert words in caught.value.message


async def by(catalog: StoredCatalog) -> list[str | None]:
    """Who wrote x, y and z last."""
    return [(await properties_of(catalog.main, "ns", name)).get("by") for name in "xyz"]


@pytest.mark.parametrize("level", [SERIALIZABLE, SNAPSHOT, None])
async def test_jack_is_ordered_before_drew(level: IsolationLevel | None) -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        if level is None:
            await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        else:
            await begin(catalog, "drew", writes="x", level=level)
            await catalog.transactions.commit("drew")
        version = await catalog.latest_version()
        await catalog.transactions.commit("jack")
        assert await place_of(catalog, "jack") == (version, 0)
        assert await by(catalog) == ["drew", "jack", None]


async def test_the_example_of_the_document() -> None:
    """docs/isolation.md, with x, y and z for a, b and c."""
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "jill", reads="y", writes="z")
        await begin(catalog, "drew", writes="x")
        await catalog.transactions.commit("drew")
        drew = await catalog.latest_version()
        await begin(catalog, "kim", reads="xy")
        await catalog.transactions.commit("jack")
        await catalog.transactions.commit("jill")
        assert [await place_of(catalog, name) for name in ("jack", "jill", "drew")] == [(drew, 0), (drew, 0), None]
        await refused(catalog, "kim", f"transaction jack (version {drew + 1}) is itself ordered before version {drew}")


async def test_who_read_nothing_that_was_overwritten_has_no_other_place() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await catalog.main.commit_tables([setting("ns", "z", by="drew")])
        await catalog.transactions.commit("jack")
        assert await place_of(catalog, "jack") is None


async def test_an_edge_more_closes_the_cycle() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "drew", reads="y", writes="x")
        await catalog.transactions.commit("drew")
        await refused(
            catalog, "jack",
            "because of table ns.x, which transaction drew (version 5) changed meanwhile: it read what the other overwrote",
            "transaction drew (version 5) read table ns.y, which this one writes",
        )  # fmt: skip


@pytest.mark.parametrize("after", [False, True])
async def test_who_read_what_jack_writes_before_drew_does_not_matter(after: bool) -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "drew", writes="x")
        await begin(catalog, "ann", reads="y", writes="z")
        for name in ("drew", "ann") if after else ("ann", "drew"):
            await catalog.transactions.commit(name)
        if after:
            await refused(catalog, "jack", "transaction ann (version 6) read table ns.y, which this one writes")
        else:
            await catalog.transactions.commit("jack")


async def test_what_both_wrote_stays_a_conflict() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await catalog.main.commit_tables([setting("ns", "x", by="drew"), setting("ns", "y", by="drew")])
        await refused(catalog, "jack", "because of table ns.y", "both wrote it")


async def test_a_reader_alone_is_ordered_backwards() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="xyz")
        for name in "xyz":
            await catalog.main.commit_tables([setting("ns", name, by="drew")])
        await catalog.transactions.commit("jack")
        assert await place_of(catalog, "jack") == (5, 0)


@pytest.mark.parametrize("reader_first", [False, True])
async def test_the_read_only_anomaly(reader_first: bool) -> None:
    """The reader sees Drew and not Jack, so Jack cannot be before Drew (Fekete, O'Neil, O'Neil, 2004)."""
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        await begin(catalog, "reader", reads="xy")
        if reader_first:
            await catalog.transactions.commit("reader")
            await refused(catalog, "jack", "transaction reader (version 6) read table ns.y")
        else:
            await catalog.transactions.commit("jack")
            await refused(
                catalog, "reader", "because of table ns.y",
                "transaction jack (version 6) is itself ordered before version 5, which is not after this one's base",
            )  # fmt: skip


async def test_before_one_that_was_ordered_backwards() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "ann", reads="y")
        await begin(catalog, "jack", reads="x", writes="y")
        await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        await catalog.transactions.commit("jack")
        await catalog.transactions.commit("ann")
        assert await place_of(catalog, "jack") == await place_of(catalog, "ann") == (5, 0)


async def test_what_a_refused_one_read_does_not_matter() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "ann", reads="y", writes="x")
        await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        await refused(catalog, "ann", "both wrote it")
        [record] = await records(catalog, await catalog.latest_version())
        assert (record.transaction_id, len(record.actions), record.HasField("reads"), len(record.reads.points)) == ("ann", 0, True, 0)
        await catalog.transactions.commit("jack")


async def test_what_a_transaction_that_only_read_has_read_does_matter() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", writes="y")
        await (await catalog.within("jack")).list_views(("ns",))
        await catalog.main.create_view(("ns", "v"), NEW_VIEW)
        await catalog.transactions.begin("lister", SERIALIZABLE)
        await (await catalog.within("lister")).list_tables(("ns",))
        await catalog.transactions.commit("lister")
        await refused(catalog, "jack", "because of view ns.v", "transaction lister (version 6) read table ns.y")


async def test_absent_names_and_ranges_that_were_filled() -> None:
    async with with_tables() as catalog:
        inside = await begin(catalog, "jack", writes="y")
        with pytest.raises(NoSuchTableError):
            await inside.load_table(("ns", "new"))
        await inside.list_views(("ns",))
        await catalog.main.create_view(("ns", "v"), NEW_VIEW)
        await catalog.main.create_table(("ns", "new"), NewTable(SCHEMA))
        await catalog.transactions.commit("jack")
        assert await place_of(catalog, "jack") == (5, 0)


async def test_what_came_and_went_counts_for_who_is_ordered_backwards() -> None:
    """Jack makes a namespace's end. Whoever had made something in it, though it is gone, cannot come after him."""
    for comes_and_goes in (False, True):
        async with with_tables() as catalog:
            await catalog.main.create_namespace(("empty",), {})
            inside = await begin(catalog, "jack", reads="x")
            await inside.drop_namespace(("empty",))
            await catalog.main.commit_tables([setting("ns", "x", by="drew")])
            if comes_and_goes:
                await catalog.main.create_table(("empty", "t"), NewTable(SCHEMA))
                await catalog.main.drop_table(("empty", "t"))
                await refused(catalog, "jack", "because of table ns.x", "wrote table empty.t, on which this one's writes depend")
            else:
                await catalog.transactions.commit("jack")


async def test_a_namespace_that_was_empty_in_between_bars_what_is_made_in_it() -> None:
    async with with_tables() as catalog:
        await catalog.main.create_namespace(("empty",), {})
        inside = await begin(catalog, "jack", reads="x")
        await inside.create_table(("empty", "t"), NewTable(SCHEMA))
        await catalog.main.drop_namespace(("empty",))
        await catalog.main.create_namespace(("empty",), {})
        await refused(catalog, "jack", "made or dropped what depends on table empty.t")


async def test_a_view_that_came_and_went_bars_the_table_of_its_name() -> None:
    async with with_tables() as catalog:
        inside = await begin(catalog, "jack", reads="x")
        await inside.create_table(("ns", "both"), NewTable(SCHEMA))
        await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        await catalog.main.create_view(("ns", "both"), NEW_VIEW)
        await catalog.main.drop_view(("ns", "both"))
        await refused(catalog, "jack", "made or dropped what depends on table ns.both")


async def test_structural_rules_hold_on_the_latest_version() -> None:
    async with with_tables() as catalog:
        await catalog.main.create_namespace(("soon",), {})
        await catalog.transactions.begin("jack", SERIALIZABLE)
        await (await catalog.within("jack")).create_table(("soon", "t"), NewTable(SCHEMA))
        await catalog.main.update_namespace(("soon",), [], {"a": "1"})
        await catalog.transactions.commit("jack")
        assert await place_of(catalog, "jack") == (6, 0)
        await catalog.transactions.begin("ann", SERIALIZABLE)
        await (await catalog.within("ann")).create_table(("soon", "u"), NewTable(SCHEMA))
        await catalog.main.drop_table(("soon", "t"))
        await catalog.main.drop_namespace(("soon",))
        await refused(catalog, "ann", "soon")


@pytest.mark.parametrize("drew_reads", [False, True])
async def test_earlier_members_of_the_group_count(drew_reads: bool) -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "drew", reads="y" if drew_reads else "", writes="x")
        # Theirs are the requests that wait while this one is published.
        first = asyncio.create_task(catalog.main.commit_tables([setting("ns", "z", by="first")]))
        drew, jack = (asyncio.create_task(catalog.transactions.commit(name)) for name in ("drew", "jack"))
        await asyncio.wait([first, drew, jack])
        version = (await drew).version
        assert [record.transaction_id for record in await records(catalog, version or 0)][-2:] == ["drew", "jack"]
        if drew_reads:
            with pytest.raises(TransactionRefusedError, match=rf"transaction drew \(version {version}\) read table ns\.y"):
                await jack
        else:
            assert (await jack).version == version
            position = len(await records(catalog, version or 0)) - 2
            assert await place_of(catalog, "jack") == (version, position)


async def test_a_member_that_was_ordered_backwards_counts_as_such_in_its_group() -> None:
    async with with_tables() as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await catalog.main.commit_tables([setting("ns", "x", by="drew")])
        await begin(catalog, "reader", reads="xy")
        jack, reader = (asyncio.create_task(catalog.transactions.commit(name)) for name in ("jack", "reader"))
        await asyncio.wait([jack, reader])
        version = (await jack).version
        assert [record.transaction_id for record in await records(catalog, version or 0)] == ["jack", "reader"]
        with pytest.raises(TransactionRefusedError, match=r"transaction jack .* is itself ordered before version 5"):
            await reader


@pytest.mark.parametrize("closed", [False, True])
async def test_stubs_tell_who_read_what(closed: bool) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with with_tables(store, clock) as catalog:
        await begin(catalog, "jack", reads="x", writes="y")
        await begin(catalog, "drew", reads="y" if closed else "", writes="x")
        await catalog.transactions.commit("drew")
        await catalog.main.commit_tables([setting("ns", "z", by="ann")])
        clock.advance(1)
        await expire(catalog.parts, ExpiryPolicy(0, 1))
    async with opened(store, clock=clock) as catalog:
        assert (await catalog.versions.trace(5)).stub
        if closed:
            await refused(catalog, "jack", "transaction drew (version 5) read table ns.y")
        else:
            await catalog.transactions.commit("jack")
            assert await place_of(catalog, "jack") == (5, 0)


def test_where_no_record_says_who_overwrote_it_there_is_no_place() -> None:
    reader = Footprint(reads=ReadSet(frozenset({table_key(("ns", "x"))})))
    stranger = Concurrent("stranger", Place(2, 0), Footprint(frozenset({table_key(("ns", "z"))})))
    assert isinstance(place_before(1, reader, [stranger]), NoPlace)


async def test_whoever_finishes_comes_to_the_same_verdict() -> None:
    store = MemoryStorage()
    async with with_tables(store) as one, opened(store) as other:
        await begin(one, "jack", reads="x", writes="y")
        await one.main.commit_tables([setting("ns", "x", by="drew")])
        done = await asyncio.gather(*(catalog.transactions.commit("jack") for catalog in (other, one, other)))
        assert {info.version for info in done} == {6}
        assert await place_of(one, "jack") == await place_of(other, "jack") == (5, 0)


async def test_too_many_versions_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "MOST_VERSIONS", 3)
    async with with_tables() as catalog:
        for name, versions in (("near", 3), ("far", 4)):
            await begin(catalog, name, reads="x", writes="y")
            for number in range(versions):
                await catalog.main.commit_tables([setting("ns", "x", by=str(number))])
            if name == "near":
                await catalog.transactions.commit(name)
            else:
                await refused(catalog, name, "because of table ns.x", "more than 3 versions were made since its base")


async def test_only_who_needs_another_place_reads_the_versions_since_its_base_and_each_once() -> None:
    inner = MemoryStorage()
    async with with_tables(inner) as catalog:
        for name, reads in (("jack", "x"), ("ann", "z")):
            await begin(catalog, name, reads=reads, writes="y" if name == "jack" else "")
        for number in range(40):
            await catalog.main.commit_tables([setting("ns", "x", by=str(number))])
    since = {paths.root_path(version) for version in range(5, 44)}
    for name, expected in (("ann", set()), ("jack", since)):
        store = CountingStorage(inner)
        async with opened(store) as catalog:
            with store.measure() as calls:
                await catalog.transactions.commit(name)
                await catalog.close()
            read = [path for path in calls.paths("get") if path in since]
            assert sorted(read) == sorted(expected)
