"""Collecting beside what is not this catalog's, or not known to it: other catalogs below its root, objects of a newer Treeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.changes import Change, Committed, RecordedChange, Verb
from catalog_format.distributed.image import Delta
from catalog_format.errors import NewerFormatError
from catalog_format.keys import idempotency_key
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.node_codec import encode_root
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.storage import MemoryStorage
from catalog_format.tree import apply
from tests.support.catalogs import SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, properties_of, setting
from tests.support.pyiceberg_tables import all_files

NOW = ExpiryPolicy(0)
CHANGES = 12
# The version that creates the table.
TABLE_SINCE = 2
UNKNOWN = b"z===ns\x1ething"


async def work_on(catalog: StoredCatalog, clock: ManualClock) -> None:
    """A table ns.t, changed until old versions have nodes and metadata files of their own."""
    await make_table(catalog.main, "ns", "t")
    for number in range(CHANGES):
        clock.advance(1)
        await catalog.main.create_namespace((f"n{number:02}",), {"long": "x" * 1000})
        await catalog.main.commit_tables([setting("ns", "t", n=str(number))])


async def assert_whole(folder: Path, clock: ManualClock) -> None:
    """A process that has nothing in its caches finds no damage, and the table."""
    async with opened(TimelessFolder(folder), clock=clock) as catalog:
        report = await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
        assert report.problems == []
        assert (await properties_of(catalog.main, "ns", "t"))["n"] == str(CHANGES - 1)
        for version in range(max(report.oldest_version, TABLE_SINCE), report.latest_version + 1):
            await (await catalog.at(version)).load_table(("ns", "t"))


@pytest.mark.parametrize("given_up", [False, True], ids=["all versions", "the latest version"])
@pytest.mark.parametrize("place", ["other", "data/other", "some/where else"])
async def test_a_catalog_below_the_root_of_another_loses_nothing(tmp_path: Path, place: str, given_up: bool) -> None:
    clock = ManualClock()
    nested = tmp_path / place
    async with opened(TimelessFolder(tmp_path), clock=clock, limits=SMALL_TREE) as outer:
        await work_on(outer, clock)
        async with opened(TimelessFolder(nested), clock=clock, limits=SMALL_TREE) as inner:
            await work_on(inner, clock)
            if given_up:
                # Its first version is a stub then.
                await expire(inner.parts, NOW)
        before = {path: path.read_bytes() for path in all_files(nested)}
        await expire(outer.parts, NOW)
        assert (await collect(outer.parts)).deleted
        assert {path: path.read_bytes() for path in all_files(nested)} == before
    async with opened(TimelessFolder(nested), clock=clock) as inner:
        assert bool((await collect(inner.parts)).deleted) == given_up
    for folder in (tmp_path, nested):
        await assert_whole(folder, clock)


async def write_as_newer(catalog: StoredCatalog, definitions: Mapping[bytes, bytes | None]) -> None:
    """The next version, as a Treeline would make it that knows more types: entries with these definitions, or without (None)."""
    root = await catalog.versions.confirm(anew=True)
    header, stamp, attempt_id = root.header, root.version + 1, f"{root.version:032x}"
    values = {key: None if held is None else pb.Value(inline=held).SerializeToString() for key, held in definitions.items()}
    update = await apply(root, values, stamp, header.catalog.limits, catalog.nodes, attempt_id)
    for node in update.nodes:
        await catalog.storage.put_if_absent(paths.node_path(node.name), node.data)
    header = replace(
        header,
        version=stamp,
        created_at_ms=header.created_at_ms + 1,
        previous_hash=root.hash,
        attempt_id=attempt_id,
        transaction_ids=(),
        level=update.level,
    )
    data, _ = encode_root(header, update.pivots, update.buffer, [])
    assert await catalog.storage.put_if_absent(paths.root_path(stamp), data)


async def in_the_write_buffer(catalog: StoredCatalog) -> None:
    await write_as_newer(catalog, {UNKNOWN: b"s3://somewhere/else"})


async def in_a_leaf(catalog: StoredCatalog) -> None:
    await in_the_write_buffer(catalog)
    for number in range(8):
        await catalog.main.create_namespace((f"later{number}",), {})
    assert (await catalog.versions.confirm()).buffer.find(UNKNOWN) is None


async def in_an_old_version(catalog: StoredCatalog) -> None:
    await in_the_write_buffer(catalog)
    await write_as_newer(catalog, {UNKNOWN: None})


async def in_a_kept_answer(catalog: StoredCatalog) -> None:
    answer = pb.IdempotentAnswer(answered_at_ms=catalog.parts.clock.now_ms(), answer=Committed(1, {UNKNOWN: b"?"}).to_bytes())
    await write_as_newer(catalog, {idempotency_key("newer"): answer.SerializeToString()})


async def in_an_unfinished_transaction(catalog: StoredCatalog) -> None:
    await catalog.transactions.begin("newer")
    image = await catalog.logs.load("newer")
    assert await catalog.logs.append(image, Delta(changes=(RecordedChange(Change(Verb.CREATE, UNKNOWN), b"?"),)))


@pytest.mark.parametrize(
    "put", [in_the_write_buffer, in_a_leaf, in_an_old_version, in_a_kept_answer, in_an_unfinished_transaction], ids=lambda put: put.__name__
)
async def test_nothing_is_deleted_beside_an_object_of_an_unknown_type(put: Callable[[StoredCatalog], Awaitable[None]]) -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog:
        await work_on(catalog, clock)
        await expire(catalog.parts, NOW)
        assert (await collect(catalog.parts, dry_run=True)).deleted
        await put(catalog)
    async with opened(store, clock=clock) as catalog:
        before = await store.list("")
        for dry_run in (True, False):
            with pytest.raises(NewerFormatError, match=r"holds an object of an unknown type, b'z===', .* update Treeline"):
                await collect(catalog.parts, dry_run=dry_run)
        assert await store.list("") == before


async def test_giving_versions_up_ends_the_wait_for_what_they_alone_show() -> None:
    store, clock = MemoryStorage(), ManualClock()
    async with opened(store, clock=clock, limits=SMALL_TREE) as catalog:
        await work_on(catalog, clock)
        await in_an_old_version(catalog)
        before = set(await store.list(""))
        with pytest.raises(NewerFormatError):
            await collect(catalog.parts)
        clock.advance(1)
        assert (await expire(catalog.parts, NOW)).given_up
        assert before <= set(await store.list(""))
        assert (await collect(catalog.parts)).deleted
        assert (await properties_of(catalog.main, "ns", "t"))["n"] == str(CHANGES - 1)
