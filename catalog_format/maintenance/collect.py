"""Collect: deleting files that no kept version needs.

No clock is asked, and nobody is waited for. Candidates are listed first; then a root with a new collect epoch is published. Whoever had
uploaded something for an attempt that has not been published by then loses to that root, and uploads everything anew under other names.
So a candidate that neither that root's kept versions, nor an unfinished transaction, nor a version published since needs, never will be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.errors import ContendedError, LostFileError, NoSuchVersionError
from catalog_format.iceberg.metadata_files import is_own_file, transactions_of
from catalog_format.maintenance.parts import Parts, Progress, each, silent
from catalog_format.maintenance.purge import PATIENCE_MS, PurgeReport, due_wishes, purge_due, wishes_in
from catalog_format.maintenance.reach import Reach
from catalog_format.node import Root

AGENT = "treeline collect"
MOST_STARTS = 3
_NODES_AND_DEFINITIONS = ("node/", "def/")
_LOGS_AND_ROOTS = ("vn/", "dtxn/", "dtxn-open/", "branch/")


class _GivenUpMeanwhileError(Exception):
    """A version that was to be kept is being given up."""


@dataclass(slots=True)
class CollectReport:
    """What was deleted, or would be."""

    files: int = 0
    """Files below the root, those of engines included."""
    candidates: int = 0
    deleted: list[str] = field(default_factory=list)
    epoch_version: int | None = None
    """The version that began the collect epoch; None if there was nothing to delete."""
    purge: PurgeReport = field(default_factory=PurgeReport)


async def collect(
    parts: Parts, *, purge_patience_ms: int = PATIENCE_MS, dry_run: bool = False, progress: Progress = silent
) -> CollectReport:
    """Delete nodes, definitions and metadata files that nothing kept needs. Can be killed and run again at any time, by any number.

    Then the wishes to purge that are due and at least `purge_patience_ms` old are carried out.

    Raises `ContendedError` (nothing deleted) if versions are given up faster than they can be looked at, `CorruptFileError` for damage.
    """
    for _ in range(MOST_STARTS):
        try:
            return await _collect(parts, purge_patience_ms, dry_run, progress)
        except _GivenUpMeanwhileError:
            continue
    raise ContendedError("Versions were given up while their files were looked for; nothing was deleted: run it again when that is done")


async def _collect(parts: Parts, purge_patience_ms: int, dry_run: bool, progress: Progress) -> CollectReport:
    progress("listing files", 0, None)
    listed = await parts.storage.list("")
    report = CollectReport(len(listed))
    elsewhere = nested_roots(listed)
    candidates = [path for path in listed if is_collectable(path) and not path.startswith(elsewhere)]
    report.candidates = len(candidates)
    del listed
    needed = _Needed(parts, progress)
    latest = await parts.versions.confirm(anew=True)
    await needed.add_versions(latest.header.oldest, latest.version)
    await needed.add_unfinished(latest.header.oldest)
    # What can be seen to be needed already is no reason to begin an epoch.
    candidates = [path for path in candidates if not needed.has(path)]
    kept, before_ms = needed.oldest(latest), parts.clock.now_ms() - purge_patience_ms
    due = due_wishes(await wishes_in(parts, latest), kept, before_ms)
    if (candidates or due) and not dry_run:
        report.epoch_version = await parts.keep_up(Upkeep(new_epoch=True), "begin a collect epoch", AGENT)
        epoch = await needed.read(report.epoch_version)
        await needed.complete(epoch)
        candidates = [path for path in candidates if not needed.has(path)]
        await each(
            (partial(parts.storage.delete, path) for path in candidates),
            lambda done: progress("deleting files", done, len(candidates)),
        )
        kept = needed.oldest(epoch)
    report.deleted = candidates
    try:
        report.purge = await purge_due(parts, needed, kept, before_ms, dry_run=dry_run, progress=progress)
    except _GivenUpMeanwhileError:
        report.purge.problems.append("Versions were given up while their tables were looked at: nothing was purged, run it again")
    return report


def is_collectable(path: str) -> bool:
    """Whether a file is one that Treeline wrote and may delete: roots, logs and hints stay, and so does what engines wrote."""
    return path.startswith(_NODES_AND_DEFINITIONS) or (not path.startswith(_LOGS_AND_ROOTS) and is_own_file(path))


def nested_roots(listed: Iterable[str]) -> tuple[str, ...]:
    """Folders below this root, each with its trailing slash, that are roots of other catalogs: what lies there is theirs."""
    first = paths.root_path(paths.FIRST_VERSION)
    return tuple(path.removesuffix(first) for path in listed if path.endswith(f"/{first}"))


class _Needed:
    """What must stay, as far as it has been looked at."""

    def __init__(self, parts: Parts, progress: Progress) -> None:
        self._parts = parts
        self._progress = progress
        self._reach = Reach(parts)
        self._open: set[str] = set()
        self._bases: set[int] = set()
        self._oldest: int | None = None
        self._looked_at = 0

    @property
    def tables(self) -> set[str]:
        """Metadata files of the tables that are shown, as definitions name them."""
        return self._reach.tables

    def oldest(self, root: Root) -> int:
        """The oldest version that anybody may read, as of a root and the unfinished transactions that were added.

        Or that was looked at, and given up since: with what it shows it would spare the files of tables that were dropped after it,
        and their wishes would be taken for carried out.
        """
        looked_at = root.version if self._oldest is None else self._oldest
        return min(root.header.oldest, looked_at, *root.header.unstubbed, *self._bases)

    async def complete(self, epoch: Root) -> None:
        """Add what came since the first look. The order matters: up to the epoch, unfinished transactions, versions published since."""
        await self.add_versions(max(epoch.header.oldest, self._looked_at + 1), epoch.version)
        await self.add_unfinished(epoch.header.oldest)
        await self.add_versions(epoch.version + 1, (await self._parts.versions.confirm(anew=True)).version)

    async def catch_up(self) -> None:
        """Add what was begun, then what was published since."""
        await self.add_unfinished((await self._parts.versions.confirm(anew=True)).header.oldest)
        latest = await self._parts.versions.confirm(anew=True)
        await self.add_versions(max(latest.header.oldest, self._looked_at + 1), latest.version)

    def has(self, path: str) -> bool:
        # A transaction writes a metadata file before the state that names it.
        return self._reach.needs(path) or not self._open.isdisjoint(transactions_of(path))

    async def read(self, version: int) -> Root:
        """The root of a version that is to be kept. Raises `_GivenUpMeanwhileError` if it is a stub."""
        try:
            return await self._parts.versions.read(version)
        except NoSuchVersionError:
            raise _GivenUpMeanwhileError from None

    async def add_versions(self, first: int, last: int) -> None:
        for version in range(first, last + 1):
            self._progress("looking at versions", version - first, last + 1 - first)
            # Reading a local folder does not wait: a server that does this beside its work lets others have their turn.
            await asyncio.sleep(0)
            root = await self.read(version)
            self._oldest = version if self._oldest is None else min(self._oldest, version)
            try:
                await self._reach.add(root)
            except LostFileError:
                # Given up, and collected by somebody else, since its root was read; or else damaged.
                if version < (await self._parts.versions.confirm(anew=True)).header.oldest:
                    raise _GivenUpMeanwhileError from None
                raise
            self._looked_at = version

    async def add_unfinished(self, oldest: int) -> None:
        """Bases and files of the transactions that are unfinished now."""
        for image in await self._parts.unfinished():
            self._open.add(image.transaction_id)
            self._bases.add(image.base_version)
            try:
                await self._reach.add(await self.read(image.base_version))
            except (_GivenUpMeanwhileError, LostFileError):
                if image.base_version >= oldest:
                    raise _GivenUpMeanwhileError from None
                # It began on a version that was being given up, and whoever began it has not noticed, or died.
                await self._parts.transactions.give_up(image)
            for recorded in image.changes:
                if recorded.result is not None:
                    self._reach.add_definition(recorded.change.target or recorded.change.key, recorded.result)
