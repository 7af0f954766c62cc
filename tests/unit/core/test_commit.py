"""Committing: one version for what waits together, nothing lost, refusals that are proven."""

from __future__ import annotations

import asyncio

import pytest

from catalog_format import paths
from catalog_format.errors import (
    AlreadyExistsError,
    CorruptFileError,
    InvalidArgumentError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchVersionError,
    RequirementFailedError,
    StoreDeniedError,
    StoreFullError,
    StoreUnavailableError,
    UnknownOutcomeError,
)
from catalog_format.scope import NewTable, Page, RequestContext, TableCommit
from catalog_format.storage import (
    Denied,
    FaultyStorage,
    FlippedRead,
    Full,
    LateLanding,
    LostReply,
    LostRequest,
    MemoryStorage,
    Rule,
    ScriptedPlan,
    Throttled,
)
from tests.support.catalogs import NEW_VIEW, SCHEMA, SMALL_TREE, ManualClock, make_table, opened, properties_of, setting

ROOT = "vn/[01]*"


async def test_what_waits_together_becomes_one_version_and_one_metadata_file() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        answers = await asyncio.gather(*(catalog.main.commit_tables([setting("ns", "t", **{f"p{n}": str(n)})]) for n in range(20)))
        assert await catalog.latest_version() == before + 1
        assert len({answer[0].metadata_location for answer in answers}) == 1
        assert await properties_of(catalog.main, "ns", "t") == {f"p{n}": str(n) for n in range(20)}
        root = await catalog.versions.read(before + 1)
        assert len(root.actions) == len(set(root.header.transaction_ids)) == 20


async def test_a_member_that_fails_leaves_the_others_alone() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        wrong = TableCommit(("ns", "t"), [{"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}], [])
        done = await asyncio.gather(
            catalog.main.commit_tables([setting("ns", "t", a="1")]),
            catalog.main.commit_tables([wrong]),
            catalog.main.commit_tables([setting("ns", "none", a="1")]),
            catalog.main.create_namespace(("ns",), {}),
            catalog.main.create_namespace(("other",), {}),
            return_exceptions=True,
        )
        assert [type(entry).__name__ for entry in done] == [
            "list",
            "RequirementFailedError",
            "NoSuchTableError",
            "AlreadyExistsError",
            "dict",
        ]
        assert await catalog.latest_version() == before + 1


async def test_dropping_what_an_earlier_member_changed_waits_for_the_next_version() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        changed, _ = await asyncio.gather(catalog.main.commit_tables([setting("ns", "t", a="1")]), catalog.main.drop_table(("ns", "t")))
        assert b'"a":"1"' in changed[0].metadata
        assert await catalog.latest_version() == before + 2
        assert not await catalog.main.table_exists(("ns", "t"))


async def test_several_tables_in_one_commit_are_all_or_nothing() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "a")
        await make_table(catalog.main, "ns", "b")
        before = await catalog.latest_version()
        with pytest.raises(NoSuchTableError, match=r"Table does not exist: ns\.gone"):
            await catalog.main.commit_tables([setting("ns", "a", x="1"), setting("ns", "gone", x="1")])
        assert await catalog.latest_version() == before
        await catalog.main.commit_tables([setting("ns", "a", x="1"), setting("ns", "b", x="1")])
        assert await catalog.latest_version() == before + 1
        with pytest.raises(InvalidArgumentError, match="named twice"):
            await catalog.main.commit_tables([setting("ns", "a", x="1"), setting("ns", "a", y="1")])


async def test_an_update_that_changes_nothing_makes_no_version() -> None:
    async with opened() as catalog:
        table = await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        [answer] = await catalog.main.commit_tables([TableCommit(("ns", "t"), [], [])])
        assert (answer.metadata_location, await catalog.latest_version()) == (table.metadata_location, before)


async def test_structural_rules() -> None:
    async with opened() as catalog:
        main = catalog.main
        with pytest.raises(NoSuchNamespaceError, match=r"^Namespace does not exist: a$"):
            await main.create_namespace(("a", "b"), {})
        with pytest.raises(NoSuchNamespaceError, match=r"^Namespace does not exist: a$"):
            await main.create_table(("a", "t"), NewTable(SCHEMA))
        await make_table(main, "a", "t")
        with pytest.raises(AlreadyExistsError, match=r"^Table already exists: a\.t$"):
            await main.create_table(("a", "t"), NewTable(SCHEMA))
        with pytest.raises(AlreadyExistsError, match=r"^Table with same name already exists: a\.t$"):
            await main.create_view(("a", "t"), NEW_VIEW)
        with pytest.raises(NamespaceNotEmptyError, match=r"contains table a\.t"):
            await main.drop_namespace(("a",))
        await main.create_namespace(("b",), {})
        await main.rename_table(("a", "t"), ("b", "u"))
        assert [await main.table_exists(("a", "t")), await main.table_exists(("b", "u"))] == [False, True]
        with pytest.raises(NoSuchNamespaceError, match=r"^Namespace does not exist: c$"):
            await main.rename_table(("b", "u"), ("c", "u"))
        with pytest.raises(NoSuchTableError):
            await main.rename_table(("b", "none"), ("a", "none"))
        await main.create_view(("a", "v"), NEW_VIEW)
        with pytest.raises(AlreadyExistsError, match=r"^View with same name already exists: a\.v$"):
            await main.create_table(("a", "v"), NewTable(SCHEMA))
        await main.drop_view(("a", "v"))
        await main.drop_namespace(("a",))
        assert (await main.list_namespaces()).items == [("b",)]


async def test_a_drop_with_purge_leaves_the_wish_in_the_same_version() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.main.drop_table(("ns", "t"), purge=True)
        root = catalog.versions.known
        assert [row.key[:4] for row in root.buffer if row.stamp == root.version and row.value is not None] == [b"G==="]


@pytest.mark.parametrize(
    "fault", [LostReply(), LostRequest(), LateLanding(after_calls=1), LateLanding(after_calls=3), Throttled(0.1)], ids=repr
)
async def test_a_doubtful_put_of_a_root_is_found_out(fault: object) -> None:
    store = MemoryStorage()
    clock = ManualClock()
    async with opened(store, clock=clock):
        pass
    faulty = FaultyStorage(store, ScriptedPlan(Rule(fault, "put_if_absent", ROOT, nth=2)), clock)  # type: ignore[arg-type]
    async with opened(faulty, clock=clock) as catalog:
        if isinstance(fault, Throttled):
            with pytest.raises(Exception, match="too many requests"):
                await catalog.main.create_namespace(("a",), {})
        await catalog.main.create_namespace(("b",), {})
        await faulty.land_late()
        assert await catalog.main.namespace_exists(("b",))
        assert await catalog.latest_version() == 1
        with pytest.raises(AlreadyExistsError):
            await catalog.main.create_namespace(("b",), {})


async def test_a_store_that_never_tells_is_reported_as_unknown() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock):
        pass
    plan = ScriptedPlan(Rule(LostRequest(), "put_if_absent", ROOT, nth=2, times=None))
    async with opened(FaultyStorage(store, plan, clock), clock=clock) as catalog:
        with pytest.raises(UnknownOutcomeError, match="version 1"):
            await catalog.main.create_namespace(("a",), {})


@pytest.mark.parametrize(("fault", "error"), [(Denied(), StoreDeniedError), (Full(), StoreFullError)])
async def test_a_put_that_surely_did_nothing_is_a_clear_failure(fault: object, error: type[Exception]) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock):
        pass
    plan = ScriptedPlan(Rule(fault, "put_if_absent", ROOT, nth=2))  # type: ignore[arg-type]
    async with opened(FaultyStorage(store, plan, clock), clock=clock) as catalog:
        with pytest.raises(error):
            await catalog.main.create_namespace(("a",), {})
        assert await catalog.latest_version() == 0


async def test_one_table_whose_file_cannot_be_written_does_not_stop_the_others() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await make_table(catalog.main, "ns", "good")
        await make_table(catalog.main, "ns", "bad")
    plan = ScriptedPlan(Rule(LostRequest(), "put_if_absent", "data/ns/bad*", times=None))
    async with opened(FaultyStorage(store, plan, clock), clock=clock) as catalog:
        good, bad = await asyncio.gather(
            catalog.main.commit_tables([setting("ns", "good", a="1")]),
            catalog.main.commit_tables([setting("ns", "bad", a="1")]),
            return_exceptions=True,
        )
        assert isinstance(good, list)
        assert isinstance(bad, StoreUnavailableError)
        assert await properties_of(catalog.main, "ns", "good") == {"a": "1"}
        assert await properties_of(catalog.main, "ns", "bad") == {}


async def test_two_processes_lose_nothing() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await make_table(one.main, "ns", "t")
        for n in range(10):
            await asyncio.gather(
                one.main.commit_tables([setting("ns", "t", **{f"a{n}": "1"})]),
                other.main.commit_tables([setting("ns", "t", **{f"b{n}": "1"})]),
            )
        expected = {f"{letter}{n}": "1" for letter in "ab" for n in range(10)}
        assert await properties_of(one.main, "ns", "t") == expected
        assert await properties_of(other.main, "ns", "t") == expected


async def test_a_refusal_is_never_given_on_a_stale_root() -> None:
    store = MemoryStorage()
    async with opened(store) as one, opened(store) as other:
        await one.main.create_namespace(("a",), {})
        await other.main.drop_namespace(("a",))
        # `one` still knows a root in which the namespace exists.
        await one.main.create_namespace(("a",), {})
        assert await other.main.namespace_exists(("a",))


async def test_a_repeated_request_is_answered_and_not_done_again() -> None:
    store = MemoryStorage()
    context = RequestContext("test", "01890000-0000-7000-8000-000000000001", b"hash")
    async with opened(store) as one:
        await make_table(one.main, "ns", "t")
        [first] = await one.main.commit_tables([setting("ns", "t", a="1")], context)
        await one.main.commit_tables([setting("ns", "t", a="2")])
    async with opened(store) as replica:
        before = await replica.latest_version()
        [again] = await replica.main.commit_tables([setting("ns", "t", a="1")], context)
        assert again == first
        assert await replica.latest_version() == before
        assert await properties_of(replica.main, "ns", "t") == {"a": "2"}
        with pytest.raises(InvalidArgumentError, match="used for another request"):
            await replica.main.commit_tables([setting("ns", "t", b="1")], RequestContext("test", context.idempotency_key, b"other"))


async def test_a_repeated_key_within_a_group_joins_its_first() -> None:
    context = RequestContext("test", "01890000-0000-7000-8000-000000000002", b"hash")
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        before = await catalog.latest_version()
        one, two = await asyncio.gather(*(catalog.main.commit_tables([setting("ns", "t", a="1")], context) for _ in range(2)))
        assert one == two
        assert len((await catalog.versions.read(before + 1)).actions) == 1


async def test_large_definitions_go_to_files_and_come_back() -> None:
    store = MemoryStorage()
    properties = {f"key{n}": "x" * 100 for n in range(50)}
    async with opened(store, limits=SMALL_TREE) as catalog:
        await catalog.main.create_namespace(("big",), properties)
        assert await catalog.main.load_namespace(("big",)) == properties
    [path] = await store.list("def")
    await store.replace(path, b"x" + (await store.get(path))[1:])
    async with opened(store) as catalog:
        with pytest.raises(CorruptFileError, match=path):
            await catalog.main.load_namespace(("big",))
    await store.delete(path)
    async with opened(store) as catalog:
        with pytest.raises(CorruptFileError, match="missing"):
            await catalog.main.load_namespace(("big",))


async def test_past_versions_stay_readable_and_cannot_be_written() -> None:
    clock = ManualClock()
    async with opened(limits=SMALL_TREE, clock=clock) as catalog:
        times = []
        for n in range(30):
            clock.advance(1)
            await catalog.main.create_namespace((f"n{n:02}",), {})
            times.append(clock.now_ms())
        for n in range(30):
            scope = await catalog.at(n + 1)
            assert (await scope.list_namespaces()).items == [(f"n{i:02}",) for i in range(n + 1)]
            assert await catalog.version_at(times[n]) == n + 1
        with pytest.raises(Exception, match="in the past and cannot be written"):
            await scope.create_namespace(("x",), {})
        with pytest.raises(NoSuchVersionError, match="the latest is 30"):
            await catalog.at(31)
        with pytest.raises(NoSuchVersionError, match="No version is as old"):
            await catalog.version_at(5)


async def test_pages_of_a_listing_show_one_version() -> None:
    async with opened(limits=SMALL_TREE) as catalog:
        for n in range(25):
            await catalog.main.create_namespace((f"n{n:02}",), {})
        page = await catalog.main.list_namespaces((), Page(None, 10))
        await catalog.main.create_namespace(("n15x",), {})
        await catalog.main.drop_namespace(("n16",))
        names = list(page.items)
        while page.next_token:
            page = await catalog.main.list_namespaces((), Page(page.next_token, 10))
            names += page.items
        assert names == [(f"n{n:02}",) for n in range(25)]
        with pytest.raises(InvalidArgumentError, match="Page token"):
            await catalog.main.list_namespaces((), Page("nonsense", 10))


async def test_damaged_roots_are_named() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock) as catalog:
        await catalog.main.create_namespace(("a",), {})
    faulty = FaultyStorage(store, ScriptedPlan(Rule(FlippedRead(300), "get", paths.root_path(1))), clock)
    with pytest.raises(CorruptFileError, match="version 1"):
        async with opened(faulty, clock=clock):
            pass


async def test_a_missing_root_in_the_middle_is_named() -> None:
    store = MemoryStorage()
    async with opened(store) as catalog:
        for n in range(5):
            await catalog.main.create_namespace((f"n{n}",), {})
    await store.delete(paths.root_path(2))
    async with opened(store) as catalog:
        with pytest.raises(CorruptFileError, match=r"version 2 .* is missing although version 5 exists"):
            await catalog.at(2)


async def test_requirements_are_checked_against_the_latest() -> None:
    async with opened() as catalog:
        await make_table(catalog.main, "ns", "t")
        schema = {
            "action": "add-schema",
            "schema": {**SCHEMA, "fields": [*SCHEMA["fields"], {"id": 3, "name": "x", "type": "int", "required": False}]},
        }
        change = TableCommit(
            ("ns", "t"),
            [{"type": "assert-current-schema-id", "current-schema-id": 0}],
            [schema, {"action": "set-current-schema", "schema-id": -1}],
        )
        await catalog.main.commit_tables([change])
        with pytest.raises(RequirementFailedError):
            await catalog.main.commit_tables([change])
