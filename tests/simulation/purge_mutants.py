"""Mutants of what deletes the files of tables that were dropped with purge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from catalog_format.definitions import read_definition
from catalog_format.keys import ObjectType, type_range
from catalog_format.maintenance import purge as purging
from catalog_format.maintenance import purge_now as purging_now
from catalog_format.maintenance.doomed import DoomedFiles
from catalog_format.maintenance.parts import Parts
from catalog_format.maintenance.purge import PurgeWish
from catalog_format.maintenance.table_life import TableLife
from catalog_format.objects import TableDefinition
from catalog_format.tree import scan
from tests.simulation.mutant import DELETED, UNPURGED, Mutant, replaced


def _before_they_are_due() -> AbstractContextManager[None]:
    def due_wishes(wishes: Sequence[PurgeWish], oldest_kept: int, before_ms: int) -> list[PurgeWish]:
        return [wish for wish in wishes if wish.requested_at_ms <= before_ms]

    return replaced(purging, "due_wishes", due_wishes)


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


def _with_its_twins() -> AbstractContextManager[None]:
    life_until_drop = purging_now.life_until_drop

    async def lives(parts: Parts, table_uuid: str, *arguments: Any) -> TableLife:
        life = await life_until_drop(parts, table_uuid, *arguments)
        latest = await parts.versions.confirm(anew=True)
        for version in range(latest.header.oldest, latest.version + 1):
            async for entry in scan(await parts.versions.read(version), *type_range(ObjectType.TABLE), parts.nodes):
                table = TableDefinition.from_bytes(await read_definition(entry.value or b"", parts.storage))
                if table.table_uuid == table_uuid:
                    life.locations.add(parts.locations.to_absolute(table.metadata_location))
        return life

    return replaced(purging_now, "life_until_drop", lives)


PURGE = (
    Mutant(
        "purged too early",
        "a purge is carried out while kept versions show the table",
        _before_they_are_due,
        8,
        f"{UNPURGED}|{DELETED}",
    ),
    Mutant(
        "shared files purged",
        "files that other tables show are purged too",
        _with_what_others_share,
        249,
        DELETED,
    ),
    Mutant(
        "metadata purged first",
        "a table's metadata are purged before what they name",
        _metadata_first,
        68,
        UNPURGED,
    ),
    Mutant(
        "wishes dropped first",
        "a wish to purge is dropped before it is carried out",
        _wishes_first,
        8,
        UNPURGED,
    ),
    Mutant(
        "twins purged",
        "a purge at once takes every table with the UUID for the one that is meant",
        _with_its_twins,
        68,
        f"nobody had dropped its table|{DELETED}",
    ),
)
