"""Collect: deleting files that no kept version needs.

No clock is asked, and nobody is waited for. Candidates are listed first; then a root with a new collect epoch is published. Whoever had
uploaded something for an attempt that has not been published by then loses to that root, and uploads everything anew under other names.
So a candidate that neither that root's kept versions, nor an unfinished transaction, nor a version published since needs, never will be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.errors import ContendedError, LostFileError, NoSuchVersionError
from catalog_format.iceberg.metadata_files import is_own_file, transactions_of
from catalog_format.maintenance.parts import Parts, Progress, ahead, each, silent
from catalog_format.maintenance.purge import PATIENCE_MS, PurgeReport, purge_due
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
    """The version that began the collect epoch; None if there was nothing of Treeline's own to delete."""
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
    report, candidates = await _listed(parts, progress)
    needed = _Needed(parts, dry_run, progress)
    latest = await parts.versions.confirm(anew=True)
    await needed.add_versions(latest.header.oldest, latest.version)
    await needed.add_unfinished(latest.header.oldest)
    # What can be seen to be needed already is no reason to begin an epoch.
    candidates = [path for path in candidates if not needed.has(path)]
    if candidates and not dry_run:
        report.epoch_version = await parts.keep_up(Upkeep(new_epoch=True), "begin a collect epoch", AGENT)
        latest = await needed.read(report.epoch_version)
        await needed.complete(latest)
        candidates = [path for path in candidates if not needed.has(path)]
        await each(
            (partial(parts.storage.delete, path) for path in candidates),
            lambda done: progress("deleting files", done, len(candidates)),
        )
    report.deleted = candidates
    # Purges need no epoch. What they delete was named by a version of the past, and for no attempt that is under way: a wish is due
    # when every version that can be read is later, and who begins a transaction on an earlier one sees that its base is gone.
    kept, before_ms = needed.oldest(latest), parts.clock.now_ms() - purge_patience_ms
    try:
        report.purge = await purge_due(parts, needed, kept, before_ms, dry_run=dry_run, progress=progress)
    except _GivenUpMeanwhileError:
        report.purge.problems.append("Versions were given up while their tables were looked at: nothing was purged, run it again")
    return report


async def _listed(parts: Parts, progress: Progress) -> tuple[CollectReport, list[str]]:
    """A report that says how many files there are, and those among them that may be deleted, sorted."""
    report = CollectReport()
    found: list[str] = []
    elsewhere: tuple[str, ...] = ()
    progress("listing files", 0, None)
    async with aclosing(parts.storage.pages("")) as pages:
        async for page in pages:
            report.files += len(page)
            elsewhere += nested_roots(page)
            found += filter(is_collectable, page)
            progress("listing files", report.files, None)
    candidates = sorted(path for path in found if not path.startswith(elsewhere))
    report.candidates = len(candidates)
    return report, candidates


def is_collectable(path: str) -> bool:
    """Whether a file is one that Treeline wrote and may delete: roots, logs and hints stay, and so does what engines wrote."""
    return path.startswith(_NODES_AND_DEFINITIONS) or (not path.startswith(_LOGS_AND_ROOTS) and is_own_file(path))


def nested_roots(listed: Iterable[str]) -> tuple[str, ...]:
    """Folders below this root, each with its trailing slash, that are roots of other catalogs: what lies there is theirs."""
    first = paths.root_path(paths.FIRST_VERSION)
    return tuple(path.removesuffix(first) for path in listed if path.endswith(f"/{first}"))


class _Needed:
    """What must stay, as far as it has been looked at."""

    def __init__(self, parts: Parts, dry_run: bool, progress: Progress) -> None:
        self._parts = parts
        self._dry_run = dry_run
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
        async with aclosing(ahead(range(first, last + 1), self.read)) as roots:
            async for root in roots:
                version = root.version
                self._progress("looking at versions", version - first, last + 1 - first)
                # Reading a local folder does not wait: a server that does this beside its work lets others have their turn.
                await asyncio.sleep(0)
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
        unfinished = await self._parts.unfinished(dry_run=self._dry_run)
        gone = await self._add_bases(sorted({image.base_version for image in unfinished}), oldest)
        for image in unfinished:
            self._open.add(image.transaction_id)
            self._bases.add(image.base_version)
            if image.base_version in gone and not self._dry_run:
                # It began on a version that was being given up, and whoever began it has not noticed, or died.
                await self._parts.transactions.give_up(image)
            for recorded in image.changes:
                if recorded.result is not None:
                    self._reach.add_definition(recorded.change.target or recorded.change.key, recorded.result)

    async def _add_bases(self, versions: Sequence[int], oldest: int) -> set[int]:
        """Add versions that transactions are based on; those of them, all below `oldest`, that are gone."""
        gone: set[int] = set()

        async def base(version: int) -> tuple[int, Root | None]:
            try:
                return version, await self.read(version)
            except _GivenUpMeanwhileError:
                return version, None

        async with aclosing(ahead(versions, base)) as roots:
            async for version, root in roots:
                try:
                    if root is None:
                        raise _GivenUpMeanwhileError
                    await self._reach.add(root)
                except (_GivenUpMeanwhileError, LostFileError):
                    if version >= oldest:
                        raise _GivenUpMeanwhileError from None
                    gone.add(version)
        return gone
