"""Purging at once: a table's files are deleted although kept versions show it, which lose it.

What the latest version or an unfinished transaction shows through another table stays, as with every purge; what only older versions
show does not. Deleted are the files of all metadata that kept versions have of this table (whatever it was called, but not of another
one with the same UUID), not of the last ones alone. See `purge` for the order and for what cannot be excluded; beside that, here, a
transaction that is just beginning on a version from before the drop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from catalog_format.changes import Change, ChangeSet, Verb
from catalog_format.definitions import read_definition
from catalog_format.distributed.image import TransactionImage
from catalog_format.errors import (
    ConflictError,
    ContendedError,
    CorruptFileError,
    MissingFileError,
    NoSuchTableError,
    NoSuchVersionError,
    RequirementFailedError,
    StoreUnavailableError,
)
from catalog_format.iceberg.requests import drop_request
from catalog_format.iceberg.table_files import FileRole, TableFile, TableFileReader, copied_in_words, is_copied
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
    spare_shown,
    tables_in,
    wishes_in,
)
from catalog_format.maintenance.table_life import TableLife, life_until_drop, life_until_now
from catalog_format.node import Root
from catalog_format.objects import TableDefinition
from catalog_format.reader import Reader
from catalog_format.tree.compare import differences

DROP_ATTEMPTS = 10


@dataclass(slots=True)
class PurgePlan:
    """What purging a table at once would mean."""

    table: Identifier
    present: TableLife | None
    """Of the table that bears the name; it has to be dropped first."""
    wishes: list[PurgeWish]
    """To purge tables that bore the name when they were dropped."""
    dropped: list[TableLife]
    """Of these tables."""
    versions: list[int]
    """Kept versions that show one of them, and cannot load it any more afterwards; the latest is among them if `is_there`."""

    @property
    def name(self) -> str:
        return ".".join(self.table)

    @property
    def is_there(self) -> bool:
        return self.present is not None

    @property
    def lives(self) -> list[TableLife]:
        return self.dropped if self.present is None else [*self.dropped, self.present]


async def plan_purge(parts: Parts, table: Identifier, *, dry_run: bool = False) -> PurgePlan:
    """What `purge_now` would do. Reads the roots of all kept versions, and the table's definitions in them.

    On the way transactions whose time is up are ended, unless this is for a dry run.

    Raises `NoSuchTableError` if there is no such table and no wish to purge one, `ConflictError` if an unfinished transaction may still
    read it, or if it was copied here with its catalog.
    """
    plan = await _plan(parts, table, dry_run=dry_run)
    reader = TableFileReader(parts.files.place)
    for life in plan.lives:
        try:
            metadata = await reader.metadata(life.newest)
        except (MissingFileError, CorruptFileError, StoreUnavailableError):
            # Told of when it is purged.
            continue
        if is_copied(metadata, life.newest, parts.locations):
            raise ConflictError(f"Table {plan.name} cannot be purged: {copied_in_words(metadata, life.newest)}")
    return plan


async def purge_now(parts: Parts, plan: PurgePlan, *, dry_run: bool = False, progress: Progress = silent) -> PurgeReport:
    """Drop the table if it is still there, delete its files, drop the wish. Can be killed and run again, with a new plan.

    Raises `ConflictError` if another table has taken the name since the plan was made or a transaction began meanwhile, and what
    commits raise. Files that cannot be read or deleted are problems in the report.
    """
    if not dry_run:
        if plan.present is not None:
            await _drop(parts, plan, plan.present.table_uuid)
        # Whoever has taken the name since is somebody else, and loses nothing.
        plan = await _plan(parts, plan.table, {life.table_uuid for life in plan.lives})
    report = PurgeReport(waiting=len(plan.wishes))
    doomed = doomed_files(parts, progress)
    waits: list[str] = []
    for life in plan.lives:
        reading = await doomed.add_table(life.newest, life.locations - {life.newest})
        report.problems += [f"Table {plan.name}: {message}" for message in (*reading.missing, *reading.refused)]
        waits += [*reading.unreadable, *reading.copied]
    if waits:
        # What they name is not known: with the rest and the wish gone, nobody would ever find it.
        report.problems += [f"Table {plan.name} waits: {message}" for message in waits]
        return report
    shown = _ShownNow(parts, table_key(plan.table) if plan.is_there else None, dry_run)
    await shown.catch_up()
    for wish in shown.wishes:
        if wish.table != plan.table:
            # Without its metadata nobody could carry it out.
            doomed.spare(TableFile(FileRole.OLD_METADATA, wish.metadata_location))
    unread = await spare_shown(parts, doomed, shown, shown.current)
    # Who began since the plan was made had the table's files spared: the wish must not go without them.
    _check_readers(plan, await parts.unfinished(dry_run=dry_run))
    if unread:
        report.problems += not_known(unread)
        return report
    if await delete_tables(parts, doomed, {location for life in plan.lives for location in life.locations}, report, dry_run, progress):
        report.tables = [plan.table]
        report.waiting = 0
        if not dry_run:
            await drop_wishes(parts, plan.wishes)
    return report


async def _plan(parts: Parts, table: Identifier, dropped_uuids: Collection[str] | None = None, *, dry_run: bool = False) -> PurgePlan:
    """As `plan_purge`; with `dropped_uuids` only of tables that were dropped, and bear one of these."""
    unfinished = await parts.unfinished(dry_run=dry_run)
    latest = await parts.versions.confirm(anew=True)
    oldest = latest.header.oldest
    first = min([oldest, *(image.base_version for image in unfinished)])
    wishes = [wish for wish in await wishes_in(parts, latest) if wish.table == table]
    present = None
    if dropped_uuids is None:
        present = await life_until_now(parts, table_key(table), latest, first)
    else:
        wishes = [wish for wish in wishes if wish.table_uuid in dropped_uuids]
    if present is None and not wishes:
        name = ".".join(table)
        raise NoSuchTableError(f"Table {name} does not exist, and no DROP with purge of a table of that name waits to be carried out")
    dropped = [
        await life_until_drop(parts, wish.table_uuid, wish.metadata_location, table_key(table), wish.version, oldest, first)
        for wish in wishes
    ]
    plan = PurgePlan(table, present, wishes, dropped, [])
    plan.versions = sorted({version for life in plan.lives for version in life.keys if version >= oldest})
    _check_readers(plan, unfinished)
    return plan


async def _drop(parts: Parts, plan: PurgePlan, table_uuid: str) -> None:
    """DROP with purge of the table that was planned for, whatever was committed to it meanwhile."""
    key = table_key(plan.table)
    for _ in range(DROP_ATTEMPTS):
        definition = await Reader(await parts.versions.confirm(anew=True), parts.nodes, parts.storage).definition(key)
        if definition is None:
            return
        table = TableDefinition.from_bytes(definition)
        if table.table_uuid != table_uuid:
            raise ConflictError(f"Another table has taken the name {plan.name} meanwhile: nothing was purged; look again at what is there")
        change = Change(Verb.DROP, key, drop_request(True, table.metadata_location), summary="with purge")
        try:
            await parts.committer.submit(ChangeSet(parts.ids.transaction_id(), (change,), AGENT))
        except (RequirementFailedError, NoSuchTableError):
            # Somebody committed to it, or dropped it.
            continue
        return
    raise ContendedError(f"Table {plan.name} changed {DROP_ATTEMPTS} times while it was dropped; try again")


def _check_readers(plan: PurgePlan, unfinished: Iterable[TransactionImage]) -> None:
    """Raise `ConflictError` if the base of one of these transactions shows the table."""
    for image in unfinished:
        if any(image.base_version in life.keys for life in plan.lives):
            raise ConflictError(
                f"Transaction {image.transaction_id} began at version {image.base_version} and may still read table {plan.name}: "
                f"commit it, or end it with `treeline dtxn rollback`, and purge the table then"
            )


class _ShownNow:
    """What unfinished transactions and the latest version show, and every version published since the first look."""

    def __init__(self, parts: Parts, without: bytes | None, dry_run: bool) -> None:
        """`without`: key of a table to leave out, as if it had been dropped."""
        self._parts = parts
        self._dry_run = dry_run
        self._without = without
        self._looked_at: Root | None = None
        self.tables: set[str] = set()
        self.current: set[str] = set()
        """Of them, those of the latest version when it was looked at first."""
        self.wishes: list[PurgeWish] = []
        """That it had."""

    async def catch_up(self) -> None:
        """The order matters: a transaction that commits in between is seen in either."""
        for image in await self._parts.unfinished(dry_run=self._dry_run):
            base = await _root(self._parts, image.base_version)
            if base is not None:
                self.tables |= await tables_in(self._parts, base)
            for key, result in image.overlay().items():
                if result is not None and type_of(key) is ObjectType.TABLE:
                    self._add(result)
        latest = await self._parts.versions.confirm(anew=True)
        if self._looked_at is None:
            self.current = await tables_in(self._parts, latest, without=self._without)
            self.tables |= self.current
            self.wishes = await wishes_in(self._parts, latest)
        else:
            await self._add_since(self._looked_at, latest.version)
        self._looked_at = latest

    async def _add_since(self, before: Root, last: int) -> None:
        for version in range(before.version + 1, last + 1):
            root = await _root(self._parts, version)
            if root is None:
                continue
            span = type_range(ObjectType.TABLE)
            async with aclosing(differences(before, root, *span, self._parts.nodes, before.version)) as changed:
                async for key, _, entry in changed:
                    if entry is not None and key != self._without:
                        self._add(await read_definition(entry.value or b"", self._parts.storage))
            before = root

    def _add(self, definition: bytes) -> None:
        table = TableDefinition.from_bytes(definition)
        self.tables.add(self._parts.locations.to_absolute(table.metadata_location))


async def _root(parts: Parts, version: int) -> Root | None:
    """A version's root, None if it was given up."""
    try:
        return await parts.versions.read(version)
    except NoSuchVersionError:
        return None
