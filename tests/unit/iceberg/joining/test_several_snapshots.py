"""Transactions of several snapshots that build on each other: numbers that they gave each other are put right everywhere."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from catalog_format.errors import ConflictError
from catalog_format.iceberg.avro_rows import decode_rows
from tests.support.snapshot_writer import ROOT, File, SnapshotWriter, equality_deletes, read_list, read_manifest, storage_bytes, vector
from tests.unit.iceberg.examples import set_ref
from tests.unit.iceberg.joining.harness import Table, data, head, path, short, table

Json = dict[str, Any]


async def step(
    operation: str, added: list[File], removed: list[str], writer: SnapshotWriter, *, merge: bool = False, branch: str | None = "main"
) -> list[Json]:
    return await writer.write(operation, added, [path(name) for name in removed], merge=merge, branch=branch)


async def rival(lake: Table, merge: bool = False) -> Json:
    return lake.apply(lake.base, await lake.writer(9000).write("append", [data("rival", rows=77)], merge=merge))


async def numbers(lake: Table, metadata: Json, snapshot: int | str = "main") -> dict[str, tuple[int, int, int | None]]:
    live = await lake.live(metadata, snapshot)
    return {short(one.file.path): (one.sequence_number, one.file_sequence_number, one.first_row_id) for one in live.values()}


@pytest.mark.parametrize("rival_merges", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_files_that_own_snapshots_added_and_kept(version: int, rival_merges: bool) -> None:
    """The second own snapshot rewrites the manifest of the first, the third merges it."""
    lake = await table(version)
    own = await lake.several(
        lake.writer(100),
        partial(step, "append", [data("own1"), data("own2")], []),
        partial(step, "delete", [], ["own1"]),
        partial(step, "append", [data("own3")], [], merge=True),
        partial(step, "delete", [], ["own3", "a1"]),
    )
    winner = await rival(lake, rival_merges)
    after = await lake.join(winner, own)
    assert await lake.paths(after, 100) == {"a1", "a2", "b1", "b2", "c", "rival", "own1", "own2"}
    assert await lake.paths(after, 101) == {"a1", "a2", "b1", "b2", "c", "rival", "own2"}
    assert await lake.paths(after, 102) == {"a1", "a2", "b1", "b2", "c", "rival", "own2", "own3"}
    assert await lake.paths(after) == {"a2", "b1", "b2", "c", "rival", "own2"}
    if version > 1:
        assert (await numbers(lake, after))["own2"][:2] == (5, 5)
        assert (await numbers(lake, after, 102))["own3"][:2] == (7, 7)
    if version > 2:
        kept = {name: found[2] for name, found in (await numbers(lake, after, 100)).items()}
        for snapshot in (101, 102, "main"):
            for name, found in (await numbers(lake, after, snapshot)).items():
                assert found[2] == kept.get(name, found[2]), (snapshot, name)
    assert head(after)["summary"]["total-data-files"] == "6"


async def test_what_was_removed_says_the_numbers_it_had() -> None:
    lake = await table(2)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []), partial(step, "delete", [], ["own1"]))
    after = await lake.join(await rival(lake), own)
    removed = [
        one
        for listed in await read_list(lake.memory, head(after)["manifest-list"])
        for status, one in await read_manifest(lake.memory, listed, with_deleted=True)
        if status == 2
    ]
    assert [(short(one.file.path), one.sequence_number, one.snapshot_id) for one in removed] == [("own1", 5, 101)]


@pytest.mark.parametrize("version", [2, 3])
async def test_data_sequence_numbers_that_a_compaction_keeps(version: int) -> None:
    """A rewrite with the starting sequence number: of the base's it stays, of an own snapshot's it becomes the new one."""
    lake = await table(version)
    own = await lake.several(
        lake.writer(100),
        partial(step, "append", [data("own1")], []),
        partial(step, "replace", [data("small", sequence_number=3)], ["a1"]),
    )
    after = await lake.join(await rival(lake), own)
    assert (await numbers(lake, after))["small"][:2] == (3, 6)
    if version == 2:
        own = await lake.several(
            lake.writer(200),
            partial(step, "append", [data("own2")], []),
            partial(step, "replace", [data("smaller", sequence_number=4)], ["own2"]),
        )
        after = await lake.join(await rival(lake), own)
        assert (await numbers(lake, after))["smaller"][:2] == (5, 6)


@pytest.mark.parametrize(
    ("operation", "added", "removed"),
    [
        ("overwrite", [data("moved")], ["own1"]),
        ("replace", [data("moved")], ["own1"]),
        ("overwrite", [vector(path("v"), path("own1"), 4, 1), data("moved")], []),
    ],
)
async def test_row_ids_that_are_inside_data_files_cannot_be_put_right(operation: str, added: list[File], removed: list[str]) -> None:
    lake = await table(3)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []), partial(step, operation, added, removed))
    with pytest.raises(ConflictError, match=r"moved rows of .*own1.*row ids were taken"):
        await lake.join(await rival(lake), own)
    # If no rival took numbers, they are right.
    after = await lake.join(lake.apply(lake.base, [{"action": "set-properties", "updates": {"k": "v"}}]), own)
    assert "moved" in await lake.paths(after)
    # Rows that are only deleted carry nothing on.
    own = await lake.several(
        lake.writer(200), partial(step, "append", [data("own1")], []), partial(step, "delete", [vector(path("v"), path("own1"), 4, 1)], [])
    )
    assert "own1" in await lake.paths(await lake.join(await rival(lake), own))


async def test_rows_from_before_the_upgrade_get_ids_inside() -> None:
    """The first snapshot of format 3 gives ids to all rows, and the second may carry them on."""
    lake = await table(2)
    lake.base = lake.apply(lake.base, [{"action": "upgrade-format-version", "format-version": 3}])
    append, overwrite = partial(step, "append", [data("own1")], []), partial(step, "overwrite", [data("moved")], ["a1"])
    winner = await rival(lake)
    with pytest.raises(ConflictError, match="row ids in the same transaction, and those were taken"):
        await lake.join(winner, await lake.several(lake.writer(100), append, overwrite))
    assert "moved" in await lake.paths(await lake.join(winner, await lake.several(lake.writer(200), overwrite, append)))


async def test_own_branches_and_tags_follow() -> None:
    """A branch made inside, worked on, and new ones for what was made on main."""
    lake = await table(2)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []))
    own += [set_ref("stage", 100), set_ref("release", 100, "tag"), set_ref("fork", 2)]
    fork = lake.writer(200, lake.apply(lake.base, own))
    own += await fork.write("append", [data("own2")], branch="fork")
    after = await lake.join(await rival(lake), own)
    assert await lake.paths(after, "release") == await lake.paths(after, "stage") == await lake.paths(after)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "rival", "own1"}
    assert await lake.paths(after, "fork") == {"a1", "a2", "b1", "b2", "own2"}
    assert head(after, "fork")["parent-snapshot-id"] == 2


@pytest.mark.parametrize("branch", ["fork", "dev"])
async def test_what_was_made_on_another_branch_does_not_move_main(branch: str) -> None:
    """Write-audit-publish by a branch: publishing is a fast-forward, which another commit to main forbids."""
    lake = await table(2)
    own = [set_ref("fork", 3)]
    made = lake.writer(100, lake.apply(lake.base, own))
    own += await made.write("append", [data("own1")], branch=branch)
    own.append(set_ref("main", 100))
    with pytest.raises(ConflictError, match="both moved branch or tag main"):
        await lake.join(await rival(lake), own)


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_main_is_not_moved_off_what_others_appended(version: int) -> None:
    """Own snapshots on main and on another branch, to which main is moved at last: that would drop what others put on main."""
    lake = await table(version)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []))
    aside = lake.writer(200, lake.apply(lake.base, own))
    own += [*await aside.write("append", [data("own2")], branch="dev"), set_ref("main", 200)]
    with pytest.raises(ConflictError, match="both moved branch or tag main"):
        await lake.join(await rival(lake), own)


async def test_a_branch_is_not_moved_to_what_others_have_added_to_unseen() -> None:
    lake = await table(2)
    own = [*await lake.writer(100).write("append", [data("audited")], branch="dev"), set_ref("main", 100)]
    winner = lake.apply(lake.base, await lake.writer(9000).write("append", [data("unaudited")], branch="dev"))
    with pytest.raises(ConflictError, match="main is moved to branch dev, to which others have added meanwhile"):
        await lake.join(winner, own)


async def test_rows_that_others_deleted_stay_deleted_in_a_compaction_after_own_rows() -> None:
    """It says the number of the own snapshot that it was made on (as Spark's does), which becomes a later one than the deletes'."""
    lake = await table(2)
    compaction = partial(step, "replace", [data("compacted", sequence_number=4)], ["a1", "own1"])
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []), compaction)
    winner = lake.apply(lake.base, await lake.writer(9000).write("delete", [equality_deletes(path("eq"), 1)]))
    with pytest.raises(ConflictError, match="may have been deleted meanwhile"):
        await lake.join(winner, own)


@pytest.mark.parametrize("version", [2, 3])
async def test_a_list_says_the_lowest_number_after_manifests_were_rewritten(version: int) -> None:
    """By it Java drops delete files that apply to nothing any more."""
    lake = await table(version)

    async def rewrite(writer: SnapshotWriter) -> list[Json]:
        return await writer.write("replace", rewrite_manifests=True)

    own = await lake.several(lake.writer(100), rewrite, partial(step, "replace", [data("compacted", sequence_number=4)], ["a1"]))
    winner = lake.apply(lake.base, await lake.writer(9000).write("delete", [], [path("b2")], merge=True))
    after = await lake.join(winner, own)
    for listed in await read_list(lake.memory, head(after)["manifest-list"]):
        live = await read_manifest(lake.memory, listed)
        assert listed["min_sequence_number"] <= min((one.sequence_number for one in live), default=listed["sequence_number"])


async def test_statistics_of_what_is_something_else_now_are_left_out() -> None:
    lake = await table(2)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], []))

    def statistics(snapshot_id: int) -> Json:
        file = {"snapshot-id": snapshot_id, "statistics-path": f"{ROOT}s{snapshot_id}", "file-size-in-bytes": 1}
        return {"action": "set-partition-statistics", "partition-statistics": file}

    own += [statistics(100), statistics(1)]
    after = await lake.join(await rival(lake), own)
    assert [one["snapshot-id"] for one in after["partition-statistics"]] == [1]
    after = await lake.join(lake.base, own)
    assert [one["snapshot-id"] for one in after["partition-statistics"]] == [100, 1]


async def test_staged_inside_and_published_inside() -> None:
    lake = await table(2)
    own = await lake.several(lake.writer(100), partial(step, "append", [data("own1")], [], branch=None))
    own.append(set_ref("main", 100))
    after = await lake.join(await rival(lake), own)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "rival", "own1"}


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_rows_keep_what_this_code_does_not_know(version: int) -> None:
    """The rival put all files into one manifest, of which own removes one: it is written anew with all its fields."""
    lake = await table(version)
    winner = lake.apply(lake.base, await lake.writer(9000).write("replace", rewrite_manifests=True))
    after = await lake.join(winner, await lake.writer(100).write("delete", removed=[path("a2")]))
    assert await lake.paths(after) == {"a1", "b1", "b2", "c"}
    assert await numbers(lake, after) == {name: found for name, found in (await numbers(lake, lake.base)).items() if name != "a2"}
    own = await lake.writer(300, after).write("append", [data("next")])
    assert len(await lake.paths(lake.apply(after, own))) == 5
    [rewritten] = [one for one in await read_list(lake.memory, head(after)["manifest-list"]) if one["deleted_files_count"]]
    file = decode_rows(storage_bytes(lake.memory, rewritten["manifest_path"]), "m")
    names = ("a1", "a2", "b1", "b2", "c")
    assert {row["data_file"]["not_of_the_spec"] for row in file.rows} == {f"kept for {path(name)}" for name in names}
    assert {row["data_file"]["partition"]["p"] for row in file.rows} == {1, 2, 3}
    assert '"logicalType": "date"' in str(file.schema).replace("'", '"')
    assert file.metadata["partition-spec-id"] == "0"
