"""Random transactions against random rivals: joined or refused, and every own snapshot shows the rivals' files and its own changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog_format.errors import ConflictError
from tests.support.snapshot_writer import DATA, Live, SnapshotWriter, live_files, position_deletes, vector
from tests.unit.iceberg.joining.harness import Table, data, head, path, table

Json = dict[str, Any]
Files = dict[tuple[str, int | None], Live]
KINDS = ["append", "merging append", "delete", "overwrite", "merging overwrite", "compact", "row deletes", "rewrite manifests"]


async def act(writer: SnapshotWriter, kind: str, name: str, pick: Callable[[list[str]], str]) -> list[Json]:
    """One operation on a data file that is there."""
    live = await live_files(writer.storage, writer.metadata)
    chosen = pick(sorted(one.file.path for one in live.values() if one.file.content == DATA))
    partition = live[chosen, None].file.partition
    merge = kind.startswith("merging")
    match kind.removeprefix("merging "):
        case "append":
            return await writer.write("append", [data(name)], merge=merge)
        case "delete":
            return await writer.write("delete", removed=[chosen])
        case "overwrite":
            return await writer.write("overwrite", [data(name)], [chosen], merge=merge)
        case "compact":
            return await writer.write("replace", [data(name)], [chosen])
        case "row deletes" if writer.version > 1:
            # A vector stands for all that was deleted of its file before.
            older = [one.file.id for one in live.values() if one.file.referenced == chosen and one.file.offset is not None]
            made = position_deletes(path(name), partition, chosen) if writer.version < 3 else vector(path(name), chosen, 4, partition)
            return await writer.write("delete", [made], older)
        case _:
            return await writer.write("replace", rewrite_manifests=True)


async def history(lake: Table, first_id: int, role: str, draw: Callable[[Any], Any]) -> tuple[list[Json], list[int]]:
    """The updates of up to four operations, and the snapshots they make."""
    writer = lake.writer(first_id)
    updates, ids = list[Json](), list[int]()
    for number, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))):
        made = await act(writer, kind, f"{role}{number}", lambda names: draw(st.sampled_from(names)))
        writer.metadata = lake.apply(writer.metadata, made)
        updates += made
        ids.append(head(writer.metadata)["snapshot-id"])
    return updates, ids


async def play(version: int, draw: Callable[[Any], Any]) -> bool:
    lake = await table(version)
    updates, ids = await history(lake, 100, "own", draw)
    rivals, _ = await history(lake, 200, "rival", draw)
    alone, winner = lake.apply(lake.base, updates), lake.apply(lake.base, rivals)
    try:
        after = await lake.join(winner, updates)
    except ConflictError:
        return False
    before, theirs = await lake.live(lake.base), await lake.live(winner)
    for snapshot_id in ids:
        mine, now = await lake.live(alone, snapshot_id), await lake.live(after, snapshot_id)
        assert now.keys() == (theirs.keys() - (before.keys() - mine.keys())) | (mine.keys() - before.keys())
        assert all(now[key] == theirs[key] for key in now.keys() & theirs.keys())
    # A file's numbers are the same in every snapshot that shows it.
    seen: Files = {}
    for snapshot_id in ids:
        for key, one in (await lake.live(after, snapshot_id)).items():
            assert seen.setdefault(key, one) == one
    summary = head(after)["summary"]
    assert summary["total-data-files"] == str(sum(one.file.content == DATA for one in (await lake.live(after)).values()))
    return True


@pytest.mark.parametrize("version", [1, 2, 3])
def test_joined_or_refused(version: int) -> None:
    joined = 0

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def run(found: st.DataObject) -> None:
        nonlocal joined
        joined += asyncio.run(play(version, found.draw))

    run()
    assert joined > 15
