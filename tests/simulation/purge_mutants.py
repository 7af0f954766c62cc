"""Mutants of what deletes the files of tables that were dropped with purge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from catalog_format.maintenance import collect as collecting
from catalog_format.maintenance import purge as purging
from catalog_format.maintenance import purge_now as purging_now
from catalog_format.maintenance.doomed import DoomedFiles
from catalog_format.maintenance.parts import Parts
from catalog_format.maintenance.purge import PurgeWish
from tests.simulation.mutant import Mutant, replaced


@contextmanager
def _before_they_are_due() -> Iterator[None]:
    def due_wishes(wishes: Sequence[PurgeWish], oldest_kept: int, before_ms: int) -> list[PurgeWish]:
        return [wish for wish in wishes if wish.requested_at_ms <= before_ms]

    with replaced(collecting, "due_wishes", due_wishes), replaced(purging, "due_wishes", due_wishes):
        yield


def _with_what_others_share() -> AbstractContextManager[None]:
    async def spare_tables(self: DoomedFiles, metadata_locations: Iterable[str], *, gaps: bool) -> list[str]:
        return []

    return replaced(DoomedFiles, "spare_tables", spare_tables)


def _metadata_first() -> AbstractContextManager[None]:
    in_order = DoomedFiles.in_order

    def other_way_round(self: DoomedFiles, metadata_locations: Collection[str]) -> list[list[str]]:
        return in_order(self, metadata_locations)[::-1]

    return replaced(DoomedFiles, "in_order", other_way_round)


@contextmanager
def _wishes_first() -> Iterator[None]:
    delete_tables = purging.delete_tables

    async def let_go(parts: Parts, doomed: DoomedFiles, metadata_locations: Collection[str], *arguments: Any) -> bool:
        wishes = await purging.wishes_in(parts, await parts.versions.confirm(anew=True))
        await purging.drop_wishes(parts, [wish for wish in wishes if wish.metadata_location in metadata_locations])
        return await delete_tables(parts, doomed, metadata_locations, *arguments)

    with replaced(purging, "delete_tables", let_go), replaced(purging_now, "delete_tables", let_go):
        yield


PURGE = (
    Mutant("purged too early", "a purge is carried out while kept versions show the table", _before_they_are_due, (345, 242, 243)),
    Mutant("shared files purged", "files that other tables show are purged too", _with_what_others_share, (249, 80, 289)),
    Mutant("metadata purged first", "a table's metadata are purged before what they name", _metadata_first, (71, 68, 353)),
    Mutant("wishes dropped first", "a wish to purge is dropped before it is carried out", _wishes_first, (71, 68, 299)),
)
