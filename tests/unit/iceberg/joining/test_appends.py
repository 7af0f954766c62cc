"""Appends join: every format, several on each side, on an empty table, and at a cost that the table's size does not change."""

from __future__ import annotations

from functools import partial

import pytest

from catalog_format.errors import ConflictError, CorruptFileError, MissingFileError
from catalog_format.iceberg.joining import TableJoiner
from catalog_format.ids import SeededIds
from catalog_format.storage import MemoryStorage
from tests.support.snapshot_writer import ROOT, SnapshotWriter, read_list
from tests.unit.iceberg.examples import set_ref
from tests.unit.iceberg.joining.harness import LATER, Json, Table, data, empty, head, table

pytestmark = pytest.mark.parametrize("version", [1, 2, 3])


async def append(name: str, writer: SnapshotWriter, *, merge: bool = False) -> list[Json]:
    return await writer.write("append", [data(name)], merge=merge)


@pytest.mark.parametrize("own_merges", [False, True])
@pytest.mark.parametrize("rival_merges", [False, True])
async def test_two_appends(version: int, own_merges: bool, rival_merges: bool) -> None:
    lake = await table(version)
    own = await append("own", lake.writer(100), merge=own_merges)
    winner = lake.apply(lake.base, await append("rival", lake.writer(200), merge=rival_merges))
    after = await lake.join(winner, own)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "own", "rival"}
    assert head(after)["snapshot-id"] == 100
    assert head(after)["parent-snapshot-id"] == 200
    assert head(after)["summary"] | {"total-data-files": "7", "total-records": "70"} == head(after)["summary"]
    found = {one.file.path: one for one in (await lake.live(after)).values()}
    if version > 1:
        assert [found[data(name).path].sequence_number for name in ("a1", "a2", "rival", "own")] == [1, 2, 4, 5]
    if version > 2:
        assert after["next-row-id"] > winner["next-row-id"]


async def test_several_on_each_side(version: int) -> None:
    lake = await table(version)
    own = await lake.several(lake.writer(100), partial(append, "own1"), partial(append, "own2", merge=True), partial(append, "own3"))
    rivals = await lake.several(lake.writer(200), partial(append, "rival1"), partial(append, "rival2", merge=True))
    after = await lake.join(lake.apply(lake.base, rivals), own)
    both = {"a1", "a2", "b1", "b2", "c", "rival1", "rival2"}
    assert await lake.paths(after, 100) == both | {"own1"}
    assert await lake.paths(after, 101) == both | {"own1", "own2"}
    assert await lake.paths(after) == both | {"own1", "own2", "own3"}
    chain = [one["snapshot-id"] for one in after["snapshots"]]
    assert chain == [1, 2, 3, 200, 201, 100, 101, 102]
    assert [entry["snapshot-id"] for entry in after["snapshot-log"]][-2:] == [201, 102]


async def test_a_chain_of_appenders(version: int) -> None:
    """Sixteen made on one state, each joined with those before."""
    lake = await table(version)
    winner = lake.base
    for number in range(16):
        winner = await lake.join(winner, await append(f"own{number}", lake.writer(100 + number)))
    assert len(await lake.paths(winner)) == 21


async def test_an_empty_table(version: int) -> None:
    lake = Table(version, MemoryStorage(), empty(version))
    own = await append("own", lake.writer(100))
    after = await lake.join(lake.apply(lake.base, await append("rival", lake.writer(200))), own)
    assert await lake.paths(after) == {"own", "rival"}
    assert head(after)["summary"]["total-data-files"] == "2"


async def test_two_branches_are_only_numbered_anew(version: int) -> None:
    lake = await table(version)
    lake.base = lake.apply(lake.base, [set_ref("dev", 1)])
    own = await lake.writer(100).write("append", [data("own")], branch="dev")
    winner = lake.apply(lake.base, await append("rival", lake.writer(200)))
    after = await lake.join(winner, own)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "rival"}
    assert await lake.paths(after, "dev") == {"a1", "b1", "own"}
    assert head(after, "dev")["parent-snapshot-id"] == 1
    if version > 1:
        assert head(after, "dev")["sequence-number"] == 5


async def test_staged_snapshots_keep_their_parent(version: int) -> None:
    lake = await table(version)
    own = await lake.writer(100).write("append", [data("own")], branch=None)
    after = await lake.join(lake.apply(lake.base, await append("rival", lake.writer(200))), own)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "rival"}
    assert await lake.paths(after, 100) == {"a1", "a2", "b1", "b2", "c", "own"}


async def test_the_cost_is_that_of_the_lists(version: int) -> None:
    lake = await table(version)
    for number in range(40):
        lake.base = lake.apply(lake.base, await append(f"more{number}", lake.writer(10 + number)))
    own = await append("own", lake.writer(100))
    winner = lake.apply(lake.base, await append("rival", lake.writer(200)))
    with lake.store.measure() as calls:
        joined = await lake.ask(winner, own)
    assert len(calls) == calls.count("get") == 3
    assert all("snap-" in path for path in calls.paths())
    assert len(joined.files) == 1
    # Another appender of the same group finds all but its own list in memory.
    next_winner = lake.apply(winner, joined.updates)
    with lake.store.measure() as calls:
        await lake.ask(next_winner, await append("other", lake.writer(300)))
    assert calls.paths() == ["metadata/snap-300.avro"]


async def test_the_same_join_gives_the_same_files(version: int) -> None:
    lake = await table(version)
    own = await lake.several(lake.writer(100), partial(append, "own1"), partial(append, "own2", merge=True))
    winner = lake.apply(lake.base, await append("rival", lake.writer(200), merge=True))
    first = await lake.ask(winner, own)
    with lake.store.measure() as calls:
        again = await lake.ask(lake.apply(winner, [{"action": "set-properties", "updates": {"k": "v"}}], LATER + 1), own)
    assert [file.location for file in again.files] == [file.location for file in first.files]
    assert again.files == first.files
    assert len(calls) == 0
    other = await TableJoiner(lake.reader, SeededIds(9)).join(winner, {"main": 3}, own, schema_id=0)
    assert not {file.location for file in other.files} & {file.location for file in first.files}


async def test_damage_and_loss_name_the_file(version: int) -> None:
    lake = await table(version)
    own = await append("own", lake.writer(100))
    winner = lake.apply(lake.base, await append("rival", lake.writer(200)))
    lists = ["metadata/snap-100.avro", "metadata/snap-200.avro", "metadata/snap-3.avro"]
    for name in lists:
        whole = lake.memory._files.pop(name)
        lake.fresh_joiner()
        with pytest.raises(MissingFileError, match=name):
            await lake.ask(winner, own)
        for damaged in (whole[:-20], b"", whole[:60], whole.replace(b"manifest_path", b"manifest_pat\xff")):
            lake.memory._files[name] = damaged
            lake.fresh_joiner()
            with pytest.raises(CorruptFileError, match=name):
                await lake.ask(winner, own)
        lake.memory._files[name] = whole
    lake.fresh_joiner()
    assert (await lake.ask(winner, own)).files


async def test_a_manifest_that_is_not_as_long_as_listed_is_damaged(version: int) -> None:
    lake = await table(version)
    own = await append("own", lake.writer(100), merge=True)
    winner = lake.apply(lake.base, await append("rival", lake.writer(200), merge=True))
    [merged] = await read_list(lake.memory, f"{ROOT}metadata/snap-100.avro")
    name = merged["manifest_path"].removeprefix(ROOT)
    lake.memory._files[name] += b"x"
    with pytest.raises(CorruptFileError, match=f"{name} has"):
        await lake.ask(winner, own)


async def test_only_appends_where_no_more_is_asked(version: int) -> None:
    lake = await table(version)
    winner = lake.apply(lake.base, await append("rival", lake.writer(200)))
    own = await append("own", lake.writer(100), merge=True)
    assert (await lake.ask(winner, own, appends_only=True)).files
    removing = await lake.writer(300).write("delete", removed=[data("a1").path])
    with pytest.raises(ConflictError, match="only appends are joined"):
        await lake.ask(winner, removing, appends_only=True)
    as_overwrite = await lake.writer(400).write("overwrite", [data("new")])
    with pytest.raises(ConflictError, match="only appends are joined"):
        await lake.ask(winner, as_overwrite, appends_only=True)


async def test_nothing_changes_where_others_left_all_numbers_and_branches(version: int) -> None:
    lake = await table(version)
    own = await append("own", lake.writer(100))
    joined = await lake.ask(lake.base, own)
    assert (list(joined.updates), joined.files) == (own, ())


async def test_time_does_not_run_back(version: int) -> None:
    lake = await table(version)
    own = await lake.several(lake.writer(100), partial(append, "own1"), partial(append, "own2"))
    winner = lake.apply(lake.base, await append("rival", lake.writer(200)), LATER + 500_000)
    after = await lake.join(winner, own)
    assert [one["timestamp-ms"] for one in after["snapshots"]][-2:] == [LATER + 500_000, LATER + 500_001]
