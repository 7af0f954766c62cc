"""What two snapshots' files have to do with each other, where the matrix has one case of many; each with what the refusal names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining.conflicts import FileChanges, conflict
from catalog_format.iceberg.joining.manifest import Content, ContentFile, FileId, Partition
from tests.support.snapshot_writer import equality_deletes, position_deletes
from tests.unit.iceberg.joining.harness import Table, data, path, table

Json = dict[str, Any]


def file(name: str, partition: tuple[Any, ...] = (1,), content: Content = Content.DATA, spec: int = 0, **members: Any) -> ContentFile:
    plain = ContentFile(FileId(name), content, Partition(spec, partition), None, None, None)
    return replace(plain, **members)


def deletes(name: str, partition: tuple[Any, ...] = (1,), **members: Any) -> ContentFile:
    return file(name, partition, Content.POSITION_DELETES, **members)


def equality(name: str, partition: tuple[Any, ...] = (1,), spec: int = 0) -> ContentFile:
    return file(name, partition, Content.EQUALITY_DELETES, spec)


def vector(of: str, offset: int = 4) -> ContentFile:
    return deletes("puffin", id=FileId("puffin", offset), referenced=of, path_bounds=(of.encode(), of.encode()))


def changes(
    operation: str, added: tuple[ContentFile, ...] = (), removed: tuple[ContentFile, ...] = (), replaces: bool = False
) -> FileChanges:
    return FileChanges(operation, replaces, added, removed)


A, B, OTHER = file("a"), file("b"), file("z", (2,))
BETWEEN = (b"a", b"m")


@pytest.mark.parametrize(
    ("own", "rival", "named"),
    [
        # Position deletes that do not say their data file: by bounds, else by partition.
        (changes("delete", (deletes("d", path_bounds=BETWEEN),)), changes("overwrite", (), (A,)), "d deletes rows of a, which was removed"),
        (changes("delete", (deletes("d"),)), changes("replace", (), (A,)), "d deletes rows of a"),
        (changes("overwrite", (B,), (A,)), changes("delete", (deletes("d"),)), "rows of a, .*were deleted meanwhile by d"),
        (changes("overwrite", (B,), (A,)), changes("delete", (deletes("d", path_bounds=BETWEEN),)), "meanwhile by d"),
        # Equality deletes of an unpartitioned spec reach everything, and so do those whose partition is all null.
        (changes("delete", (equality("e", (), 1),)), changes("append", (OTHER,)), "z was added meanwhile"),
        (changes("delete", (equality("e", (None,), 1),)), changes("append", (OTHER,)), "z was added meanwhile"),
        (changes("replace", (B,), (OTHER,)), changes("delete", (equality("e", (), 1),)), r"rows of z.*in partition \(2,\)"),
        # Both update rows of one file.
        (changes("overwrite", (deletes("d"), B)), changes("delete", (deletes("e"),)), r"both deleted rows of partition \(1,\)"),
        (
            changes("delete", (deletes("d", referenced="a"),)),
            changes("overwrite", (deletes("e", referenced="a"), B)),
            "both deleted rows of a",
        ),
        (
            changes("delete", (deletes("d", path_bounds=BETWEEN),)),
            changes("overwrite", (deletes("e", referenced="c", path_bounds=(b"c", b"c")), B)),
            "both deleted rows",
        ),
        (changes("overwrite", (deletes("d"), B)), changes("overwrite", (equality("e", (), 1), OTHER)), "both deleted rows in"),
        # Vectors.
        (changes("delete", (vector("a"),)), changes("delete", (vector("a", 90),)), "both deleted rows of a with a deletion vector"),
        (changes("delete", (vector("a"),)), changes("replace", (vector("a", 90),), (vector("a", 50),)), "both deleted rows of a"),
        # Delete files that were rewritten, or replaced by others.
        (
            changes("replace", (deletes("new"),), (deletes("old"),)),
            changes("replace", (deletes("x"),), (deletes("old"),)),
            "both removed old",
        ),
        (changes("replace", (), (deletes("old"),)), changes("replace", (deletes("x"),), (deletes("old"),)), "both removed old"),
        # Partitions.
        (changes("overwrite", (A,), (B,), True), changes("append", (file("d"),)), r"d in partition \(1,\) of spec 0, which is replaced"),
        (changes("overwrite", (A,), (), True), changes("append", (file("y", (1,), spec=7),)), "y in partition .* of spec 7"),
        (changes("overwrite", (file("a", ()),), (), True), changes("append", (file("y", ()),)), "y in the unpartitioned table"),
    ],
)
def test_what_conflicts(own: FileChanges, rival: FileChanges, named: str) -> None:
    found = conflict(own, rival)
    assert found is not None
    assert found.startswith(f"{own.operation} and {rival.operation}: ")
    assert re.search(named, found), found


@pytest.mark.parametrize(
    ("own", "rival"),
    [
        (changes("delete", (deletes("d", path_bounds=BETWEEN),)), changes("overwrite", (), (file("q"),))),
        (changes("delete", (deletes("d"),)), changes("overwrite", (), (OTHER,))),
        (changes("delete", (deletes("d", referenced="b"),)), changes("delete", (), (A,))),
        (changes("delete", (deletes("d"),)), changes("delete", (deletes("e"),))),
        (changes("overwrite", (deletes("d", referenced="a"), B)), changes("delete", (deletes("e", referenced="q"),))),
        (
            changes("overwrite", (deletes("d", path_bounds=BETWEEN), B)),
            changes("delete", (deletes("e", referenced="q", path_bounds=(b"q", b"q")),)),
        ),
        # Deletes that were only rewritten, and rows that were: they are the same rows.
        (changes("overwrite", (deletes("d", referenced="a"), B)), changes("replace", (deletes("e", referenced="a"),), (deletes("old"),))),
        (changes("delete", (equality("e"),)), changes("replace", (A,), (file("q"),))),
        # Those of another partition, and the rival's against what own appends: it is newer.
        (changes("delete", (equality("e"),)), changes("append", (OTHER,))),
        (changes("append", (A,)), changes("delete", (equality("e", (), 1),))),
        # A compaction that keeps data sequence numbers leaves later equality deletes their effect.
        (changes("replace", (file("n", data_sequence_number=3),), (A,)), changes("delete", (equality("e"),))),
        # Delete files that apply to nothing any more, swept up by both.
        (changes("append", (A,), (deletes("old"),)), changes("append", (B,), (deletes("old"),))),
        (changes("overwrite", (A,), (B,), True), changes("append", (OTHER,))),
        (changes("delete", (vector("a"),)), changes("delete", (vector("b"),))),
    ],
)
def test_what_joins(own: FileChanges, rival: FileChanges) -> None:
    assert conflict(own, rival) is None


@pytest.mark.parametrize("operation", ["overwrite", "delete"])
def test_serializable_tables(operation: str) -> None:
    """What was appended could have been met by the delete, but not what was only rewritten."""
    own = changes(operation, (), (A,))
    assert "the table asks for serializable" in (conflict(own, changes("append", (OTHER,)), serializable=True) or "")
    assert conflict(own, changes("replace", (OTHER,), (file("q", (2,)),)), serializable=True) is None
    assert conflict(changes("append", (A,)), changes("append", (OTHER,)), serializable=True) is None
    assert conflict(own, changes("append", (OTHER,))) is None


async def both(lake: Table, own: list[Json], rival: list[Json]) -> Json:
    return await lake.join(lake.apply(lake.base, rival), own)


@pytest.mark.parametrize("verb", ["delete", "update", "merge"])
async def test_the_property_is_that_of_the_table(verb: str) -> None:
    key = f"write.{verb}.isolation-level"
    for level, joins in (("serializable", False), ("snapshot", True)):
        lake = await table(2, **{key: level})
        own = await lake.writer(100).write("delete", removed=[path("a1")])
        rival = await lake.writer(200).write("append", [data("new", 2)])
        if joins:
            assert "new" in await lake.paths(await both(lake, own, rival))
        else:
            with pytest.raises(ConflictError, match=r"delete and append: .*new.parquet was added meanwhile"):
                await both(lake, own, rival)


async def test_files_without_statistics_of_paths_are_told_by_their_bounds() -> None:
    """As read from manifests: bounds that are equal name the file."""
    lake = await table(2)
    rival = await lake.writer(200).write("delete", removed=[path("a2")])
    cases = (((path("a1"), path("a1")), True), ((path("a1"), path("a2")), False), (None, False))
    for first_id, (bounds, joins) in enumerate(cases, 100):
        own = await lake.writer(first_id).write("delete", [position_deletes(path("d"), 1, bounds=bounds)])
        if joins:
            assert await lake.paths(await both(lake, own, rival)) == {"a1", "b1", "b2", "c", "d"}
        else:
            with pytest.raises(ConflictError, match=r"delete and delete: .*d.parquet deletes rows of .*a2.parquet"):
                await both(lake, own, rival)


async def test_equality_deletes_of_an_unpartitioned_spec() -> None:
    lake = await table(2)
    unpartitioned = [{"action": "add-spec", "spec": {"spec-id": 1, "fields": []}}]
    lake.base = lake.apply(lake.base, unpartitioned)
    own = await lake.writer(100).write("delete", [equality_deletes(path("e"), None, 1)])
    with pytest.raises(ConflictError, match="would reach it"):
        await both(lake, own, await lake.writer(200).write("append", [data("new", 2)]))
    assert "e" in await lake.paths(await both(lake, own, await lake.writer(300).write("delete", removed=[path("a1")])))


async def test_files_that_vanished_without_an_entry_are_removed_files() -> None:
    """A writer that leaves out a manifest, and does not say which files go with it."""
    lake = await table(2)
    careless = await lake.writer(200).write("delete", removed=[path("c")], silent=True)
    after = lake.apply(lake.base, careless)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2"}
    own = await lake.writer(100).write("delete", [position_deletes(path("d"), 3, path("c"))])
    with pytest.raises(ConflictError, match=r"deletes rows of .*c.parquet"):
        await both(lake, own, careless)
    assert await lake.paths(await both(lake, careless, await lake.writer(300).write("append", [data("new")]))) == {
        "a1",
        "a2",
        "b1",
        "b2",
        "new",
    }


async def test_removed_by_both_in_rewritten_manifests() -> None:
    """Neither has the manifest any more that the other rewrote."""
    lake = await table(2)
    merged = await lake.writer(200).write("delete", removed=[path("a1")])
    for first_id, (name, joins) in enumerate((("a1", False), ("b1", True)), 100):
        own = await lake.writer(first_id).write("overwrite", [data("new")], [path(name)], merge=True)
        if joins:
            assert await lake.paths(await both(lake, own, merged)) == {"a2", "b2", "c", "new"}
        else:
            with pytest.raises(ConflictError, match=r"both removed .*a1.parquet"):
                await both(lake, own, merged)


async def test_the_cost_is_that_of_the_two_changes() -> None:
    lake = await table(2)
    for number in range(40):
        lake.base = lake.apply(lake.base, await lake.writer(10 + number).write("append", [data(f"more{number}", 9)]))
    rival = await lake.writer(200).write("delete", removed=[path("b1")])
    own = await lake.writer(100).write("overwrite", [data("new")], [path("a1")])
    winner = lake.apply(lake.base, rival)
    with lake.store.measure() as calls:
        await lake.ask(winner, own)
    # Three lists; what each of the two added (own: two manifests).
    assert len(calls) == 6
    assert len(calls.paths()) == len(set(calls.paths()))
