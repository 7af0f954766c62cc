"""Purging at once: a table's files are deleted although kept versions show it, which lose it.

What the latest version or an unfinished transaction shows through another table stays, as with every purge; what only older versions
show does not. Deleted are the files of all metadata that kept versions have of the table, not of the last ones alone. See `purge` for
the order and for what cannot be excluded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass, field

from catalog_format.changes import Change, ChangeSet, Verb
from catalog_format.definitions import read_definition
from catalog_format.errors import ConflictError, ContendedError, NoSuchTableError, NoSuchVersionError, RequirementFailedError
from catalog_format.iceberg.requests import drop_request
from catalog_format.iceberg.table_files import FileRole, TableFile
from catalog_format.keys import Identifier, ObjectType, table_key, type_of, type_range
from catalog_format.maintenance.parts import Parts, Progress, silent
from catalog_format.maintenance.purge import (
    AGENT,
    PurgeReport,
    PurgeWish,
    delete_tables,
    doomed_files,
    drop_wishes,
    not_known,
    tables_in,
    wishes_in,
)
from catalog_format.node import Entry, Root
from catalog_format.objects import TableDefinition
from catalog_format.reader import Reader
from catalog_format.tree import scan
from catalog_format.tree.compare import differences

DROP_ATTEMPTS = 10


@dataclass(slots=True)
class PurgePlan:
    """What purging a table at once would mean."""

    table: Identifier
    uuids: set[str]
    """Of the tables that bear the name, or bore it when they were dropped with purge."""
    is_there: bool
    """Whether one has to be dropped first."""
    wishes: list[PurgeWish]
    versions: list[int] = field(default_factory=list)
    """Kept versions that show it, and cannot load it any more afterwards; the latest is among them if it has to be dropped first."""
    locations: set[str] = field(default_factory=set)
    """Metadata files that these versions name, absolute."""

    @property
    def name(self) -> str:
        return ".".join(self.table)


async def plan_purge(parts: Parts, table: Identifier) -> PurgePlan:
    """What `purge_now` would do. Reads the roots of all kept versions, and what differs between them.

    Raises `NoSuchTableError` if there is no such table and no wish to purge one, `ConflictError` if an unfinished transaction may still
    read it.
    """
    latest = await parts.versions.confirm(anew=True)
    key = table_key(table)
    definition = await Reader(latest, parts.nodes, parts.storage).definition(key)
    wishes = [wish for wish in await wishes_in(parts, latest) if wish.table == table]
    uuids = {wish.table_uuid for wish in wishes}
    if definition is not None:
        uuids.add(TableDefinition.from_bytes(definition).table_uuid)
    elif not wishes:
        name = ".".join(table)
        raise NoSuchTableError(f"Table {name} does not exist, and no DROP with purge of a table of that name waits to be carried out")
    plan = PurgePlan(table, uuids, definition is not None, wishes, locations={wish.metadata_location for wish in wishes})
    # A table that was registered twice has its UUID under two names: the other one is not meant.
    others = (await _shown(parts, latest, uuids)).keys() - {key}
    await _check_readers(parts, plan, others)
    async for version, shown in _appearances(parts, uuids, latest):
        locations = {location for other, location in shown.items() if other not in others}
        if locations:
            plan.versions.append(version)
            plan.locations |= locations
    return plan


async def purge_now(parts: Parts, plan: PurgePlan, *, dry_run: bool = False, progress: Progress = silent) -> PurgeReport:
    """Drop the table if it is still there, delete its files, drop the wish. Can be killed and run again, with a new plan.

    Raises `ConflictError` if another table has taken the name since the plan was made or a transaction began meanwhile, and what
    commits raise. Files that cannot be read or deleted are problems in the report.
    """
    if plan.is_there and not dry_run:
        await _drop(parts, plan)
        plan = await plan_purge(parts, plan.table)
    report = PurgeReport(waiting=len(plan.wishes))
    doomed = doomed_files(parts, progress)
    unreadable: list[str] = []
    for location in sorted(plan.locations):
        reading = await doomed.add_table(location)
        report.problems += [f"Table {plan.name}: {message}" for message in (*reading.missing, *reading.refused)]
        unreadable += reading.unreadable
    if unreadable:
        # What they name is not known: with the rest and the wish gone, nobody would ever find it.
        report.problems += [f"Table {plan.name} waits: {message}" for message in unreadable]
        return report
    latest = await parts.versions.confirm(anew=True)
    for wish in await wishes_in(parts, latest):
        if wish.table != plan.table:
            # Without its metadata nobody could carry it out.
            doomed.spare(TableFile(FileRole.OLD_METADATA, wish.metadata_location))
    current = await tables_in(parts, latest, without=table_key(plan.table) if plan.is_there else None)
    unread = await doomed.spare_tables(current, gaps=False)
    unread += await doomed.spare_tables(await _tables_of_transactions(parts) - current, gaps=True)
    # Who began since the plan was made had the table's files spared: the wish must not go without them.
    await _check_readers(parts, plan, (await _shown(parts, latest, plan.uuids)).keys() - {table_key(plan.table)})
    if unread:
        report.problems += not_known(unread)
        return report
    if await delete_tables(parts, doomed, plan.locations, report, dry_run, progress):
        report.tables = [plan.table]
        report.waiting = 0
        if not dry_run:
            await drop_wishes(parts, plan.wishes)
    return report


async def _drop(parts: Parts, plan: PurgePlan) -> None:
    """DROP with purge of the table that was planned for, whatever was committed to it meanwhile."""
    key = table_key(plan.table)
    for _ in range(DROP_ATTEMPTS):
        definition = await Reader(await parts.versions.confirm(anew=True), parts.nodes, parts.storage).definition(key)
        if definition is None:
            return
        table = TableDefinition.from_bytes(definition)
        if table.table_uuid not in plan.uuids:
            raise ConflictError(f"Another table has taken the name {plan.name} meanwhile: nothing was purged; look again at what is there")
        change = Change(Verb.DROP, key, drop_request(True, table.metadata_location), summary="with purge")
        try:
            await parts.committer.submit(ChangeSet(parts.ids.transaction_id(), (change,), AGENT))
        except (RequirementFailedError, NoSuchTableError):
            # Somebody committed to it, or dropped it.
            continue
        return
    raise ContendedError(f"Table {plan.name} changed {DROP_ATTEMPTS} times while it was dropped; try again")


async def _check_readers(parts: Parts, plan: PurgePlan, others: Collection[bytes]) -> None:
    """Raise `ConflictError` if the base of an unfinished transaction shows the table, under another key than `others`."""
    for image in await parts.unfinished():
        base = await _root(parts, image.base_version)
        if base is not None and (await _shown(parts, base, plan.uuids)).keys() - set(others):
            raise ConflictError(
                f"Transaction {image.transaction_id} began at version {image.base_version} and may still read table {plan.name}: "
                f"commit it, or end it with `treeline dtxn rollback`, and purge the table then"
            )


async def _tables_of_transactions(parts: Parts) -> set[str]:
    """Metadata files, absolute, of all tables that unfinished transactions show."""
    found: set[str] = set()
    for image in await parts.unfinished():
        base = await _root(parts, image.base_version)
        if base is not None:
            found |= await tables_in(parts, base)
        for key, result in image.overlay().items():
            if result is not None and type_of(key) is ObjectType.TABLE:
                found.add(parts.locations.to_absolute(TableDefinition.from_bytes(result).metadata_location))
    return found


async def _root(parts: Parts, version: int) -> Root | None:
    """A version's root, None if it was given up."""
    try:
        return await parts.versions.read(version)
    except NoSuchVersionError:
        return None


async def _shown(parts: Parts, root: Root, uuids: Collection[str]) -> dict[bytes, str]:
    """Key to metadata file (absolute) of the tables with one of these UUIDs that a version shows."""
    shown: dict[bytes, str] = {}
    async for entry in scan(root, *type_range(ObjectType.TABLE), parts.nodes):
        await _note(parts, shown, entry.key, entry, uuids)
    return shown


async def _appearances(parts: Parts, uuids: Collection[str], latest: Root) -> AsyncGenerator[tuple[int, dict[bytes, str]], None]:
    """The same for each kept version in turn. Costs one scan of the oldest, and what changed from each to the next."""
    before: Root | None = None
    shown: dict[bytes, str] = {}
    for version in range(latest.header.oldest, latest.version + 1):
        root = await _root(parts, version)
        if root is None:
            # Given up since the latest was looked at.
            before = None
            continue
        if before is None:
            shown = await _shown(parts, root, uuids)
        else:
            span = type_range(ObjectType.TABLE)
            async with aclosing(differences(before, root, *span, parts.nodes, before.version)) as changed:
                async for key, _, entry in changed:
                    await _note(parts, shown, key, entry, uuids)
        before = root
        yield version, shown


async def _note(parts: Parts, shown: dict[bytes, str], key: bytes, entry: Entry | None, uuids: Collection[str]) -> None:
    shown.pop(key, None)
    if entry is not None:
        table = TableDefinition.from_bytes(await read_definition(entry.value or b"", parts.storage))
        if table.table_uuid in uuids:
            shown[key] = parts.locations.to_absolute(table.metadata_location)
