"""Purges: deleting the files of tables that were dropped with the wish to, once no kept version shows them.

A DROP with purge in version v leaves its wish in the tree. It is due when every kept version is v or later: those from the oldest
kept one on, those that wait to be given up for unfinished transactions, and the bases of such. Deleted are the files that the
table's last metadata name (never a folder: tables may share one), less those that a kept version, an unfinished transaction or a
wish that is not carried out yet shows through another table. Each batch is named by none of those before it, and the wish is
dropped last, so a run that was killed is repeated from the metadata that are left.

While it is not known what a table holds, be it one that stays or one that waits to be purged, it may hold anything, and nothing is
deleted. Somebody has to restore the file that cannot be read, or to delete it.

Cost, beside that of collecting: one request for each metadata file, manifest list and manifest of the doomed tables, the same for
each distinct one of all tables that any kept version shows (none can be left out: a table may hold any file, wherever it lies, and
names nobody else who does), and one for each deletion. It ends early when nothing is left to delete; without a due wish it costs one
range scan.

What cannot be excluded: files that become part of a table after the kept tables were read and before they are deleted. The catalog
does not see what is in manifests, so it cannot refuse such a commit. A client that registers old metadata of a purged table, or adds
its data files to another, in that moment or later, gets a table whose files are gone. On a file system, two names of one file (by a
symbolic link) are two files here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from catalog_format.changes import Upkeep
from catalog_format.definitions import read_definition
from catalog_format.errors import TreelineError
from catalog_format.iceberg.table_files import FileRole, TableFile, TableFileReader
from catalog_format.keys import Identifier, ObjectType, identifier_of, type_range
from catalog_format.maintenance.doomed import DoomedFiles
from catalog_format.maintenance.parts import Parts, Progress, each
from catalog_format.node import Root
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.tree import scan

AGENT = "treeline purge"
PATIENCE_MS = 3 * 24 * 60 * 60 * 1000
"""A wish is at least so old: engines may be reading the table's files, or cleaning up themselves."""


@dataclass(frozen=True, slots=True)
class PurgeWish:
    """A wish as it stands in the tree."""

    key: bytes
    stamp: int
    version: int
    """The version that dropped the table."""
    table_uuid: str
    table: Identifier
    metadata_location: str
    requested_at_ms: int

    @property
    def name(self) -> str:
        return ".".join(self.table)


@dataclass(slots=True)
class PurgeReport:
    """What became of wishes."""

    tables: list[Identifier] = field(default_factory=list)
    """Tables whose wish was carried out, by the names that they had last."""
    waiting: int = 0
    """Wishes that are not due, or could not be carried out."""
    deleted: list[str] = field(default_factory=list)
    """Locations of the files that were deleted, or would be. Some were gone before, if an earlier run was killed."""
    problems: list[str] = field(default_factory=list)
    """Why wishes wait although they are due, and which files could not be found or read."""


class ShownTables(Protocol):
    """What somebody shows who is to lose nothing, as far as it was looked at."""

    @property
    def tables(self) -> Collection[str]:
        """Metadata files of all tables, as definitions name them."""
        ...

    async def catch_up(self) -> None:
        """Look at what was begun, then at what was published since: who commits in between is seen in either."""
        ...


class KeptTables(ShownTables, Protocol):
    """What kept versions and unfinished transactions show."""

    def oldest(self, root: Root) -> int:
        """The oldest version that was looked at, or that anybody may read as of a root."""
        ...


async def wishes_in(parts: Parts, root: Root) -> list[PurgeWish]:
    """All wishes of a version, oldest first."""
    found = []
    async for entry in scan(root, *type_range(ObjectType.PURGE), parts.nodes):
        wish = pb.PurgeWish.FromString(await read_definition(entry.value or b"", parts.storage))
        version, name = identifier_of(entry.key)
        table_uuid = name.partition(".")[0]
        location = parts.locations.to_absolute(wish.metadata_location)
        table = identifier_of(wish.key)
        found.append(PurgeWish(entry.key, entry.stamp, int(version), table_uuid, table, location, wish.requested_at_ms))
    return found


async def tables_in(parts: Parts, root: Root, without: bytes | None = None) -> set[str]:
    """Locations of the metadata files of all tables that a version shows, but for the one at that key."""
    return {
        parts.locations.to_absolute(TableDefinition.from_bytes(await read_definition(entry.value or b"", parts.storage)).metadata_location)
        async for entry in scan(root, *type_range(ObjectType.TABLE), parts.nodes)
        if entry.key != without
    }


def due_wishes(wishes: Sequence[PurgeWish], oldest_kept: int, before_ms: int) -> list[PurgeWish]:
    """Those that can be carried out while `oldest_kept` is the oldest version that anybody may read."""
    return [wish for wish in wishes if wish.version <= oldest_kept and wish.requested_at_ms <= before_ms]


def doomed_files(parts: Parts, progress: Progress) -> DoomedFiles:
    """An empty list of files to delete."""
    return DoomedFiles(TableFileReader(parts.files.place), parts.locations, progress)


async def purge_due(
    parts: Parts,
    shown: KeptTables,
    oldest_kept: int,
    before_ms: int,
    *,
    dry_run: bool,
    progress: Progress,
) -> PurgeReport:
    """Carry out the wishes from before `before_ms` that are due.

    `shown` and `oldest_kept` are those of a root and of transactions that were listed after it was read. Files that cannot be read or
    deleted are problems in the report, never an exception. Raises what commits raise.
    """
    latest = await parts.versions.confirm(anew=True)
    wishes = await wishes_in(parts, latest)
    due = due_wishes(wishes, oldest_kept, before_ms)
    report = PurgeReport(waiting=len(wishes))
    if not due:
        return report
    doomed = doomed_files(parts, progress)
    ready, unknown = [], []
    for wish in due:
        reading = await doomed.add_table(wish.metadata_location)
        report.problems += [f"Table {wish.name}: {message}" for message in reading.missing]
        reasons = [*reading.refused, *reading.copied, *reading.unreadable]
        report.problems += [f"Table {wish.name} waits: {message}" for message in reasons]
        if reading.hides:
            unknown.append(wish)
        if not reasons:
            ready.append(wish)
    if unknown:
        report.problems += [_hiding(wish) for wish in unknown]
        return report
    for wish in due:
        if wish not in ready:
            doomed.spare(TableFile(FileRole.METADATA, wish.metadata_location))
    current = await tables_in(parts, latest)
    waiting = {wish.metadata_location for wish in wishes if wish not in due}
    unread = await spare_shown(parts, doomed, shown, current, waiting)
    # One may have begun on a version that was being given up, and shows the very table that is to go.
    late = [wish for wish in ready if wish not in due_wishes(ready, shown.oldest(latest), before_ms)]
    for wish in late:
        ready.remove(wish)
        doomed.spare(TableFile(FileRole.METADATA, wish.metadata_location))
    if unread:
        report.problems += not_known(unread)
        return report
    done = [wish for wish in ready if await delete_tables(parts, doomed, [wish.metadata_location], report, dry_run, progress)]
    report.tables = [wish.table for wish in done]
    report.waiting -= len(done)
    if done and not dry_run:
        await drop_wishes(parts, done)
    return report


def _hiding(wish: PurgeWish) -> str:
    """Why others wait for one that is not known in full, and what to do, in words."""
    return (
        f"Nothing is purged while it is not known what table {wish.name} holds, which waits to be purged: restore what cannot be read, or "
        f"delete {wish.metadata_location}, which gives up all that it names"
    )


async def spare_shown(parts: Parts, doomed: DoomedFiles, shown: ShownTables, current: set[str], waiting: Collection[str] = ()) -> list[str]:
    """Spare what is shown, and what is when that was read; what could not be read, in words.

    `current`: metadata files of the latest version, of which none of what they name may be missing; `waiting`: others to spare.
    Locations are absolute.
    """
    unread = await doomed.spare_tables(current, gaps=False)
    others = {*map(parts.locations.to_absolute, shown.tables), *waiting} - current
    unread += await doomed.spare_tables(others, gaps=True)
    await shown.catch_up()
    since = set(map(parts.locations.to_absolute, shown.tables)) - others - current
    return unread + await doomed.spare_tables(since, gaps=True)


def not_known(unread: Sequence[str]) -> list[str]:
    """Why nothing is deleted, in words, when files of tables that stay could not be read."""
    return [f"Nothing is purged while it is not known what other tables hold: {message}" for message in unread]


async def delete_tables(
    parts: Parts, doomed: DoomedFiles, metadata_locations: Collection[str], report: PurgeReport, dry_run: bool, progress: Progress
) -> bool:
    """Delete what is left of these tables; whether all of it is gone. What failed is a problem in the report."""

    async def delete(location: str) -> None:
        storage, path = parts.files.place(location)
        await storage.delete(path)

    for batch in doomed.in_order(metadata_locations):
        if dry_run:
            report.deleted += batch
            continue
        try:
            await each(
                (partial(delete, location) for location in batch),
                partial(_tell, progress, "deleting table files", len(batch)),
            )
        except (TreelineError, OSError) as error:
            report.problems.append(f"Files could not be deleted; run it again: {error}")
            return False
        report.deleted += batch
    return True


def _tell(progress: Progress, doing: str, total: int, done: int) -> None:
    progress(doing, done, total)


async def drop_wishes(parts: Parts, wishes: Sequence[PurgeWish]) -> None:
    """Take wishes out of the tree that were carried out."""
    if not wishes:
        return
    what = wishes[0].name if len(wishes) == 1 else f"{len(wishes)} tables"
    await parts.keep_up(Upkeep(dropped={wish.key: wish.stamp for wish in wishes}), f"purged {what}", AGENT)
