"""Every operation on top of every other, in each format, about the same file and about others; and the document says the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from catalog_format.errors import ConflictError
from tests.support.snapshot_writer import Live
from tests.unit.iceberg.joining.harness import Table, table
from tests.unit.iceberg.joining.matrix import CONFLICTING, MATRIX, expected, rendered
from tests.unit.iceberg.joining.operations import KINDS, OWN, RIVALS, Level
from tests.unit.iceberg.test_aspects import comparable

Json = dict[str, Any]
Files = dict[tuple[str, int | None], Live]
DOCUMENT = Path(__file__).parents[4] / "docs" / "isolation.md"
MARK = "<!-- check: joining -->\n"


class Made:
    """A table, every operation's updates on it, and what each makes of it alone."""

    def __init__(self, lake: Table) -> None:
        self.lake = lake
        self.own: dict[str, tuple[list[Json], Json]] = {}
        self.rivals: dict[tuple[str, Level], tuple[list[Json], Json]] = {}
        self._live: dict[tuple[int, str], Files] = {}

    async def live(self, metadata: Json, branch: str) -> Files:
        """As `Table.live`, for states that are kept here."""
        key = id(metadata), branch
        if key not in self._live:
            self._live[key] = await self.lake.live(metadata, branch)
        return self._live[key]

    @classmethod
    async def of(cls, version: int) -> Made:
        made = cls(await table(version))
        lake = made.lake
        for number, (name, kind) in enumerate(KINDS.items(), 1):
            if version in kind.versions:
                updates = await kind.operation(lake.writer(1_000 * number), OWN)
                made.own[name] = updates, lake.apply(lake.base, updates)
                for offset, (level, about) in enumerate(RIVALS.items(), 1):
                    updates = await kind.operation(lake.writer(1_000 * number + 100 * offset), about)
                    made.rivals[name, level] = updates, lake.apply(lake.base, updates)
        return made


@cache
def _made() -> dict[int, Made]:
    return {}


async def made(version: int) -> Made:
    """Made once: joins leave states as they are, and write files under names of their own."""
    if version not in _made():
        _made()[version] = await Made.of(version)
    return _made()[version]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("own", KINDS)
async def test_the_matrix(own: str, version: int) -> None:
    if version not in KINDS[own].versions:
        return
    whole = await made(version)
    lake, (updates, alone) = whole.lake, whole.own[own]
    wanted, found = dict[str, set[Level]](), dict[str, set[Level]]()
    for (rival, level), (theirs, winner) in whole.rivals.items():
        wanted[rival] = CONFLICTING[expected(own, rival, version)]
        found.setdefault(rival, set())
        try:
            after = await lake.join(winner, updates)
        except ConflictError as error:
            found[rival].add(level)
            assert len(error.message) > len("a conflict"), error.message
            continue
        await both_are_there(whole, winner, alone, after, own)
        if not added(updates) and not added(theirs) and expected(rival, own, version) == "+":
            assert comparable(after) == comparable(lake.apply(alone, theirs)), (own, rival, level)
    assert found == wanted


def added(updates: list[Json]) -> set[int]:
    return {update["snapshot"]["snapshot-id"] for update in updates if update["action"] == "add-snapshot"}


async def both_are_there(whole: Made, winner: Json, alone: Json, after: Json, own: str) -> None:
    """Each branch and tag shows what the winner shows with what the own change did on top; the winner's files keep their numbers."""
    lake = whole.lake
    assert after["refs"].keys() == winner["refs"].keys() | alone["refs"].keys() - _dropped(lake, winner, alone)
    for name in after["refs"]:
        before, mine, theirs = [await whole.live(metadata, name) for metadata in (lake.base, alone, winner)]
        now = await lake.live(after, name)
        if name == "main" and own == "rollback":
            assert now == mine
            continue
        assert now.keys() == (theirs.keys() - (before.keys() - mine.keys())) | (mine.keys() - before.keys()), name
        for key in now.keys() & theirs.keys():
            assert now[key] == theirs[key]
        for key in (now.keys() & mine.keys()) - before.keys() - theirs.keys():
            snapshot = next(one for one in after["snapshots"] if one["snapshot-id"] == now[key].snapshot_id)
            assert now[key].sequence_number == now[key].file_sequence_number == snapshot.get("sequence-number", 0)
            assert snapshot in winner["snapshots"] or snapshot.get("sequence-number", 0) > winner.get("last-sequence-number", -1)
    if winner.get("last-sequence-number") is not None:
        numbers = [one["sequence-number"] for one in after["snapshots"] if "sequence-number" in one]
        assert len(set(numbers)) == len(numbers)


def _dropped(lake: Table, winner: Json, alone: Json) -> set[str]:
    """What a removal of snapshots took along."""
    return {name for name in lake.base["refs"] if name not in winner["refs"] or name not in alone["refs"]}


def test_the_matrix_is_whole() -> None:
    assert list(MATRIX) == list(KINDS)
    assert {len(row.split()) for row in MATRIX.values()} == {len(KINDS)}
    symbols = {symbol for row in MATRIX.values() for cell in row.split() for symbol in cell.split("/")}
    assert symbols == CONFLICTING.keys()


def test_the_document_shows_this_matrix() -> None:
    lines = DOCUMENT.read_text().partition(MARK)[2].partition("\n\n")[0].splitlines()
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert shown == rendered()
