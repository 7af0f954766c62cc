"""The manifest list of one own snapshot on top of another parent, with the manifests that have to be written anew for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, NamedTuple

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining.conflicts import FileChanges
from catalog_format.iceberg.joining.deltas import Delta
from catalog_format.iceberg.joining.manifest import Content, FileId
from catalog_format.iceberg.joining.manifest_list import DATA, ListedManifest, encode_manifest_list
from catalog_format.iceberg.joining.manifest_reader import ManifestReader
from catalog_format.iceberg.joining.manifest_rewrite import (
    Numbers,
    Rewritten,
    Target,
    must_be_renumbered,
    numbers_in,
    with_numbers,
    with_removed,
    without_existing,
)
from catalog_format.iceberg.metadata.table_fields import MIN_FORMAT_VERSION_ROW_LINEAGE
from catalog_format.iceberg.metadata_state import Json, NewFile

# Manifests in a list that takes long enough to be written to be so in a thread.
_LARGE: Final = 1_000


class Relisted(NamedTuple):
    """A snapshot's manifests on top of another parent."""

    location: str
    """Of the manifest list."""
    manifests: tuple[ListedManifest, ...]
    added: tuple[ListedManifest, ...]
    """Those that the snapshot adds, with the numbers that it gives them."""
    replaced: int
    """How many of the parent's are not in the list."""
    assigned_rows: int
    """How many row ids the list takes (from format 3 on)."""
    swept: bool
    """Whether delete files that the snapshot removes had been removed by others already."""
    files: tuple[NewFile, ...]


@dataclass(frozen=True)
class OwnNumbers:
    """What the snapshots below this one, own as well, got instead of what they were made with."""

    sequence_numbers: Mapping[int, int] = field(default_factory=dict)
    """Old to new."""
    added: tuple[ListedManifest, ...] = ()
    """Their manifests, with the new numbers."""

    def sequence_number(self, said: int) -> int:
        return self.sequence_numbers.get(said, said)


class _Names:
    """Locations for the files of one snapshot."""

    def __init__(self, folder: str, snapshot_id: int, unique: str) -> None:
        self.manifest_list = f"{folder.rstrip('/')}/snap-{snapshot_id}-1-{unique}.avro"
        self._manifests: Iterator[str] = (f"{folder.rstrip('/')}/{unique}-m{number}.avro" for number in count())

    def manifest(self) -> str:
        return next(self._manifests)


class Relister:
    """Makes one list. Nothing is written; `reader` is told of what is made."""

    def __init__(
        self, reader: ManifestReader, change: Delta, snapshot: Json, format_version: int, below: OwnNumbers, folder: str, unique: str
    ) -> None:
        """`change` is what the snapshot did to the parent that it was made on, `snapshot` has the numbers and the parent that it gets."""
        self._reader = reader
        self._change = change
        self._snapshot = snapshot
        self._target = Target(snapshot["snapshot-id"], snapshot.get("sequence-number") or 0, format_version)
        self._below = below
        self._names = _Names(folder, snapshot["snapshot-id"], unique)
        self._files: list[NewFile] = []
        self._swept = False
        self._numbers: dict[FileId, Numbers] | None = None

    async def relist(
        self, parents: Sequence[ListedManifest], former: Sequence[ListedManifest], changes: Callable[[], Awaitable[FileChanges]]
    ) -> Relisted:
        """The list on top of `parents`; `former` are the manifests of the parent that the snapshot was made on.

        Raises `ConflictError` if a file that the snapshot removes is not there any more.
        """
        replaced = {manifest.path for manifest in self._change.replaced}
        if replaced <= {manifest.path for manifest in parents}:
            added = [await self._taken_over(manifest) for manifest in self._change.added]
            gone = replaced
        elif self._change.only_rewrites_manifests:
            added, gone = [], set()
        else:
            added, gone = await self._by_entries(parents, former, replaced, await changes())
        kept = [manifest for manifest in parents if manifest.path not in gone and manifest.live_files != 0]
        return await self._finish(added, kept, len(gone))

    async def _taken_over(self, listed: ListedManifest) -> ListedManifest:
        """An own manifest, written anew if it names numbers of own snapshots below that are others now."""
        if self._below.sequence_numbers and not (listed.only_adds and self._change.operation == "append"):
            manifest, numbers = await self._reader.manifest(listed), await self._numbers_below()
            if must_be_renumbered(manifest, numbers, self._below.sequence_number):
                made = with_numbers(manifest, numbers, self._target, self._names.manifest(), self._below.sequence_number)
                return self._made(made)
        return self._renumbered(listed)

    async def _by_entries(
        self, parents: Sequence[ListedManifest], former: Sequence[ListedManifest], replaced: set[str], changes: FileChanges
    ) -> tuple[list[ListedManifest], set[str]]:
        """Manifests for what the snapshot added and removed where others have changed the manifests that it changed."""
        added = []
        for listed in self._change.added:
            if listed.only_adds:
                added.append(await self._taken_over(listed))
            elif listed.added_files != 0:
                manifest = await self._reader.manifest(listed)
                added.append(self._made(without_existing(manifest, self._target, self._names.manifest(), self._below.sequence_number)))
        missing = {file.id: file for file in changes.removed}
        specs = {(file.partition.spec_id, file.content is Content.DATA) for file in changes.removed}
        unchanged = {manifest.path for manifest in former} - replaced
        candidates = [
            listed
            for listed in parents
            if listed.path not in unchanged and listed.live_files != 0 and (listed.spec_id, listed.content == DATA) in specs
        ]
        gone = set[str]()
        async with aclosing(self._reader.manifests(candidates if missing else ())) as manifests:
            async for manifest in manifests:
                found = {entry.file.id for entry in manifest.live()} & missing.keys()
                if found:
                    whole = await self._reader.manifest(manifest.listed)
                    added.append(self._made(with_removed(whole, found, self._target, self._names.manifest())))
                    gone.add(manifest.listed.path)
                missing = {file_id: file for file_id, file in missing.items() if file_id not in found}
                if not missing:
                    break
        for file in missing.values():
            if file.content is Content.DATA or changes.rewrites or changes.added_position_deletes:
                raise ConflictError(f"{self._change.operation}: {file.id}, which it removes, was removed meanwhile")
            self._swept = True
        return added, gone

    async def _finish(self, added: Sequence[ListedManifest], kept: Sequence[ListedManifest], replaced: int) -> Relisted:
        first_row_id = next_row_id = self._snapshot.get("first-row-id") or 0
        manifests = []
        for manifest in (*added, *kept):
            if self._target.format_version >= MIN_FORMAT_VERSION_ROW_LINEAGE and manifest.content == DATA and manifest.first_row_id is None:
                # As Java does, for kept files as well: they may be from before the table had row ids.
                manifests.append(manifest._replace(first_row_id=next_row_id))
                next_row_id += manifest.live_rows
            else:
                manifests.append(manifest)
        location = self._names.manifest_list
        encode = partial(encode_manifest_list, manifests, self._target.format_version, self._snapshot, location)
        file = NewFile(location, await asyncio.to_thread(encode) if len(manifests) > _LARGE else encode())
        self._reader.add_list(file, tuple(manifests))
        return Relisted(
            location=location,
            manifests=tuple(manifests),
            added=tuple(manifests[: len(added)]),
            replaced=replaced,
            assigned_rows=next_row_id - first_row_id,
            swept=self._swept,
            files=(*self._files, file),
        )

    def _renumbered(self, listed: ListedManifest) -> ListedManifest:
        """An own manifest as it stands, to be given numbers by the new list."""
        if self._target.format_version == 1:
            return listed
        lowest = listed.min_sequence_number
        own = lowest == listed.sequence_number
        return listed._replace(
            sequence_number=self._target.sequence_number,
            min_sequence_number=self._target.sequence_number if own else self._below.sequence_number(lowest),
            first_row_id=None,
        )

    async def _numbers_below(self) -> Mapping[FileId, Numbers]:
        """What the files got that own snapshots below this one added."""
        if self._numbers is None:
            self._numbers = {}
            async for manifest in self._reader.manifests(self._below.added):
                added = {entry.file.id for entry in manifest.live() if entry.snapshot_id == manifest.listed.snapshot_id}
                self._numbers |= {file_id: found for file_id, found in numbers_in(manifest).items() if file_id in added}
        return self._numbers

    def _made(self, made: Rewritten) -> ListedManifest:
        self._remember(made.file)
        return made.listed

    def _remember(self, file: NewFile) -> None:
        self._files.append(file)
        self._reader.add(file)
