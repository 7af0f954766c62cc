"""What older writers leave in manifests: removals under the id of the snapshot that had added the file, and files without numbers."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import ConflictError
from tests.support import snapshot_writer
from tests.unit.iceberg.joining.harness import data, path, table


@pytest.fixture
def as_pyiceberg_0_11(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removals are entries of the snapshot that had added the file (as PyIceberg wrote them up to 0.11)."""
    row = snapshot_writer._Target._row

    def of_the_adding_one(self: Any, status: int, one: Any) -> dict[str, Any]:
        found = row(self, status, one)
        return found | {"snapshot_id": one.snapshot_id} if status == snapshot_writer.DELETED else found

    monkeypatch.setattr(snapshot_writer._Target, "_row", of_the_adding_one)


@pytest.mark.usefixtures("as_pyiceberg_0_11")
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_two_who_remove_one_file_conflict(version: int) -> None:
    lake = await table(version)
    winner = lake.apply(lake.base, await lake.writer(9000).write("overwrite", [data("rival")], [path("a1")]))
    own = await lake.writer(100).write("overwrite", [data("own")], [path("a1")])
    with pytest.raises(ConflictError, match=r"both removed .*a1"):
        await lake.join(winner, own)


@pytest.mark.usefixtures("as_pyiceberg_0_11")
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_removal_is_not_undone_by_merged_manifests(version: int) -> None:
    lake = await table(version)
    winner = lake.apply(lake.base, await lake.writer(9000).write("append", [data("rival")], merge=True))
    own = await lake.writer(100).write("delete", [], [path("a1")])
    after = await lake.join(winner, own)
    assert await lake.paths(after) == {"a2", "b1", "b2", "c", "rival"}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("merge", [True, False])
async def test_what_was_made_for_format_1_carries_no_files_into_a_later_one(version: int, merge: bool) -> None:
    """Entries of files that it kept say no sequence numbers, and nobody may inherit them."""
    lake = await table(1)
    own = await lake.writer(100).write("append", [data("own")], merge=merge)
    appended = lake.apply(lake.base, await lake.writer(9000).write("append", [data("rival")]))
    winner = lake.apply(appended, [{"action": "upgrade-format-version", "format-version": version}])
    if merge:
        with pytest.raises(ConflictError, match="made for format 1"):
            await lake.ask(winner, own, appends_only=True)
    else:
        joined = await lake.ask(winner, own, appends_only=True)
        assert {update["snapshot"]["sequence-number"] for update in joined.updates if "snapshot" in update} == {1}
