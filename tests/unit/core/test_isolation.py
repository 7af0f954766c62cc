"""Who may commit: conflicts, joins, structural rules, and what counts as a read."""

from __future__ import annotations

import pytest

from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    AlreadyExistsError,
    NoSuchTableError,
    NoSuchViewError,
    TransactionRefusedError,
)
from catalog_format.scope import NewTable, TableCommit
from catalog_format.storage import (
    MemoryStorage,
)
from tests.support.catalogs import NEW_VIEW, SCHEMA, make_table, opened, properties_of, setting

SERIALIZABLE = IsolationLevel.SERIALIZABLE


async def test_a_loser_is_refused_for_good_and_told_why() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(one.main, "ns", "t")
        for name in ("w", "l"):
            await one.transactions.begin(name)
            await (await one.within(name)).commit_tables([setting("ns", "t", same=name)])
            await make_table(await one.within(name), "ns", name)
        await one.transactions.commit("w")
        for catalog in (other, one, other):
            with pytest.raises(
                TransactionRefusedError, match=r"Transaction l .*table ns\.t, which transaction w \(version \d+\).*property"
            ) as caught:
                await catalog.transactions.commit("l")
        assert (await other.transactions.load("l")).status is TransactionStatus.REFUSED
        assert caught.value.message == (await one.transactions.load("l")).reason
        assert (await one.main.list_tables(("ns",))).items == [("ns", "t"), ("ns", "w")]


async def test_changes_of_one_table_that_commute_both_commit() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        for name in ("1", "2"):
            await catalog.transactions.begin(name)
            await (await catalog.within(name)).commit_tables([setting("ns", "t", **{f"p{name}": name})])
        for name in ("1", "2"):
            await catalog.transactions.commit(name)
        assert await properties_of(catalog.main, "ns", "t") == {"p1": "1", "p2": "2"}


async def test_rivals_that_create_drop_or_move_the_same_object_conflict() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        ids = ["create", "other", "drop", "update"]
        for name in ids:
            await catalog.transactions.begin(name)
        for name in ("create", "other"):
            await (await catalog.within(name)).create_table(("ns", "new"), NewTable(SCHEMA))
        await (await catalog.within("drop")).drop_table(("ns", "t"))
        await (await catalog.within("update")).commit_tables([setting("ns", "t", a="1")])
        for name in ("create", "update"):
            await catalog.transactions.commit(name)
        for name in ("other", "drop"):
            with pytest.raises(TransactionRefusedError):
                await catalog.transactions.commit(name)
        assert await catalog.main.table_exists(("ns", "t"))


async def test_structural_rules_hold_against_what_others_did() -> None:
    async with opened() as catalog:
        for name in ("a", "b", "c"):
            await catalog.main.create_namespace((name,), {})
        for name in ("into-dropped", "twin", "drop-filled"):
            await catalog.transactions.begin(name)
        await (await catalog.within("into-dropped")).create_table(("a", "t"), NewTable(SCHEMA))
        await catalog.main.drop_namespace(("a",))
        await (await catalog.within("twin")).create_table(("b", "x"), NewTable(SCHEMA))
        await catalog.main.create_view(("b", "x"), NEW_VIEW)
        await (await catalog.within("drop-filled")).drop_namespace(("c",))
        await catalog.main.create_table(("c", "t"), NewTable(SCHEMA))
        for name, why in (("into-dropped", "Namespace does not exist"), ("twin", "View with same name"), ("drop-filled", "not empty")):
            with pytest.raises(TransactionRefusedError, match=why):
                await catalog.transactions.commit(name)
        with pytest.raises(NoSuchTableError):
            await catalog.main.load_table(("b", "x"))


async def test_write_skew_commits_at_snapshot_and_is_refused_at_serializable() -> None:
    for isolation, second_commits in ((IsolationLevel.SNAPSHOT, True), (SERIALIZABLE, False)):
        async with opened() as catalog:
            await make_table(catalog.main, "ns", "x")
            await make_table(catalog.main, "ns", "y")
            for name, reads, writes in (("1", "x", "y"), ("2", "y", "x")):
                await catalog.transactions.begin(name, isolation)
                inside = await catalog.within(name)
                await inside.load_table(("ns", reads))
                await inside.commit_tables([setting("ns", writes, by=name)])
            await catalog.transactions.commit("1")
            if second_commits:
                await catalog.transactions.commit("2")
            else:
                with pytest.raises(TransactionRefusedError, match=r"table ns\.y.*it read what the other overwrote"):
                    await catalog.transactions.commit("2")


async def test_absent_reads_and_listed_ranges_are_reads() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        names = ("absent", "listing", "unharmed")
        for name in (*names, "rival"):
            await catalog.transactions.begin(name, SERIALIZABLE)
        with pytest.raises(NoSuchViewError):
            await (await catalog.within("absent")).load_view(("ns", "v"))
        await (await catalog.within("listing")).list_views(("ns",))
        await (await catalog.within("unharmed")).list_tables(("ns",))
        rival = await catalog.within("rival")
        for name in names:
            # The rival looks whether they are there, so nobody can be ordered before it.
            assert not await rival.namespace_exists((name,))
            await (await catalog.within(name)).create_namespace((name,), {})
        await rival.create_view(("ns", "v"), NEW_VIEW)
        await catalog.transactions.commit("rival")
        with pytest.raises(TransactionRefusedError, match=r"view ns\.v.*it read what the other overwrote"):
            await catalog.transactions.commit("absent")
        with pytest.raises(TransactionRefusedError, match=r"view ns\.v.*range"):
            await catalog.transactions.commit("listing")
        await catalog.transactions.commit("unharmed")


async def test_a_serializable_reader_gets_a_verdict_and_a_snapshot_reader_needs_none() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        await catalog.transactions.begin("s")
        await (await catalog.within("s")).load_table(("ns", "t"))
        await catalog.transactions.commit("s")
        assert await catalog.latest_version() == before
        await catalog.transactions.begin("z", SERIALIZABLE)
        await (await catalog.within("z")).load_table(("ns", "t"))
        assert (await catalog.transactions.commit("z")).version == before + 1


async def test_an_update_at_serializable_reads_what_it_changes() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("1", SERIALIZABLE)
        await (await catalog.within("1")).commit_tables([setting("ns", "t", a="1")])
        await catalog.main.commit_tables([setting("ns", "t", b="1")])
        with pytest.raises(TransactionRefusedError, match=r"table ns\.t"):
            await catalog.transactions.commit("1")


async def test_a_refused_write_is_a_read() -> None:
    async with opened() as catalog:
        await catalog.main.create_namespace(("x",), {})
        for name in ("a", "b"):
            await catalog.transactions.begin(name, SERIALIZABLE)
        a, b = await catalog.within("a"), await catalog.within("b")
        with pytest.raises(AlreadyExistsError):
            await a.create_namespace(("x",), {})
        await a.create_namespace(("y",), {})
        assert not await b.namespace_exists(("y",))
        await b.drop_namespace(("x",))
        await catalog.transactions.commit("b")
        with pytest.raises(TransactionRefusedError, match="namespace x"):
            await catalog.transactions.commit("a")


async def test_a_requirement_is_a_read() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("a", SERIALIZABLE)
        inside = await catalog.within("a")
        await inside.commit_tables([TableCommit(("ns", "t"), [{"type": "assert-current-schema-id", "current-schema-id": 0}], [])])
        await inside.create_namespace(("y",), {})
        await catalog.transactions.begin("b", SERIALIZABLE)
        other = await catalog.within("b")
        assert not await other.namespace_exists(("y",))
        await other.drop_table(("ns", "t"))
        await catalog.transactions.commit("b")
        with pytest.raises(TransactionRefusedError, match=r"table ns\.t"):
            await catalog.transactions.commit("a")
