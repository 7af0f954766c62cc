"""What a snapshot changed: its manifests against those of its parent, and their entries where counts do not tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining.conflicts import FileChanges
from catalog_format.iceberg.joining.manifest import ContentFile, FileId, Status
from catalog_format.iceberg.joining.manifest_list import DATA, DELETES, ListedManifest
from catalog_format.iceberg.joining.manifest_reader import ManifestReader
from catalog_format.iceberg.metadata_state import Json


@dataclass(frozen=True)
class Delta:
    """A snapshot as its manifest list shows it beside its parent's."""

    snapshot: Json
    manifests: tuple[ListedManifest, ...]
    """All of the snapshot's."""
    added: tuple[ListedManifest, ...]
    """Those that its parent has not."""
    replaced: tuple[ListedManifest, ...]
    """Those of its parent that it has not, and that kept files in the table."""

    @property
    def operation(self) -> str:
        """The snapshot's operation, in a word."""
        return str((self.snapshot.get("summary") or {}).get("operation") or "change")

    @cached_property
    def accounts_for_all(self) -> bool:
        """Whether the counts prove that each file of the replaced manifests is kept or removed by an entry."""
        for content in (DATA, DELETES):
            before = [manifest.live_files for manifest in self.replaced if manifest.content == content]
            after = [
                None
                if manifest.existing_files is None or manifest.deleted_files is None
                else manifest.existing_files + manifest.deleted_files
                for manifest in self.added
                if manifest.content == content
            ]
            if _total(before) is None or _total(before) != _total(after):
                return False
        return True

    @cached_property
    def only_appends(self) -> bool:
        """Whether it surely added data files, or nothing, and did nothing else. Manifests may have been merged."""
        return self.accounts_for_all and all(
            manifest.deleted_files == 0 and (manifest.content == DATA or manifest.added_files == 0) for manifest in self.added
        )

    @cached_property
    def only_rewrites_manifests(self) -> bool:
        """Whether it surely added and removed no file."""
        return self.only_appends and all(manifest.added_files == 0 for manifest in self.added)


def delta(snapshot: Json, manifests: Sequence[ListedManifest], parents: Iterable[ListedManifest]) -> Delta:
    """Raises `ConflictError` if the snapshot took over manifests of a third one."""
    before, after = {manifest.path: manifest for manifest in parents}, {manifest.path for manifest in manifests}
    added = tuple(manifest for manifest in manifests if manifest.path not in before)
    for manifest in added:
        if manifest.snapshot_id != snapshot["snapshot-id"]:
            raise ConflictError(
                f"Snapshot {snapshot['snapshot-id']} took manifest {manifest.path} over from snapshot {manifest.snapshot_id}, "
                "which is not its parent: what it changed cannot be told"
            )
        if manifest.key_metadata is not None:
            raise ConflictError(f"Manifest {manifest.path} is encrypted: what snapshot {snapshot['snapshot-id']} changed cannot be told")
    replaced = tuple(manifest for path, manifest in before.items() if path not in after and manifest.live_files != 0)
    return Delta(snapshot, tuple(manifests), added, replaced)


async def changes_of(reader: ManifestReader, change: Delta) -> FileChanges:
    """The files that a snapshot added and removed; reads the manifests that it added, and those it replaced if they have to tell."""
    added, removed, kept = list[ContentFile](), dict[FileId, ContentFile](), set[FileId]()
    telling = [one for one in change.added if not (change.accounts_for_all and one.added_files == 0 and one.deleted_files == 0)]
    async for manifest in reader.manifests(telling):
        for entry in manifest.entries:
            is_own = entry.snapshot_id == change.snapshot["snapshot-id"]
            # Some writers give a removal the id of the snapshot that had added the file; if the counts prove it, it is one all the same.
            if entry.status is Status.DELETED and (is_own or change.accounts_for_all):
                removed[entry.file.id] = entry.file
            elif entry.status is Status.ADDED and is_own:
                added.append(entry.file)
            elif entry.status is not Status.DELETED:
                kept.add(entry.file.id)
    if not change.accounts_for_all:
        async for manifest in reader.manifests(change.replaced):
            for entry in manifest.live():
                if entry.file.id not in kept:
                    removed[entry.file.id] = entry.file
    summary = change.snapshot.get("summary") or {}
    return FileChanges(change.operation, summary.get("replace-partitions") == "true", tuple(added), tuple(removed.values()))


def _total(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
