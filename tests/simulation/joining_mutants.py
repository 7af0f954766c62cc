"""Mutants of what puts the snapshots of one on top of those that others have made meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from catalog_format.iceberg.joining.conflicts import FileChanges
from catalog_format.iceberg.joining.manifest_list import ListedManifest
from catalog_format.iceberg.joining.relisting import Relister, _Names
from catalog_format.iceberg.joining.validation import Validation
from catalog_format.iceberg.metadata_state import MetadataState
from tests.simulation.mutant import DELETED, DIFFERENT, Mutant, replaced, without_comparing_files


def _as_they_were_listed() -> AbstractContextManager[None]:
    relist = Relister.relist

    async def on_its_own_parent(self: Any, parents: Sequence[ListedManifest], former: Sequence[ListedManifest], changes: Any) -> Any:
        return await relist(self, former, former, changes)

    return replaced(Relister, "relist", on_its_own_parent)


@contextmanager
def _removing_what_is_gone() -> Iterator[None]:
    """Two look: at what others have changed, and for the file itself."""
    by_entries = Relister._by_entries

    async def check(self: Any, own: Any, rivals: Any) -> None:
        return None

    async def what_is_there(
        self: Any, parents: Sequence[ListedManifest], former: Sequence[ListedManifest], gone: set[str], changes: FileChanges
    ) -> Any:
        there = {entry.file.id async for manifest in self._reader.manifests(parents) for entry in manifest.live()}
        left = replace(changes, removed=tuple(file for file in changes.removed if file.id in there))
        return await by_entries(self, parents, former, gone, left)

    with replaced(Validation, "check", check), replaced(Relister, "_by_entries", what_is_there):
        yield


def _without_writing_files() -> AbstractContextManager[None]:
    followed_by = MetadataState.followed_by

    def bare(self: MetadataState, metadata: Any, files: Any = ()) -> MetadataState:
        return followed_by(self, metadata, ())

    return replaced(MetadataState, "followed_by", bare)


@contextmanager
def _under_one_name() -> Iterator[None]:
    init = _Names.__init__

    def without_what_is_unique(self: Any, folder: str, snapshot_id: int, unique: str) -> None:
        init(self, folder, snapshot_id, f"joined-{snapshot_id}")

    with replaced(_Names, "__init__", without_what_is_unique), without_comparing_files():
        yield


def _with_old_numbers() -> AbstractContextManager[None]:
    return replaced(Relister, "_renumbered", lambda self, listed: listed)


JOINING = (
    Mutant(
        "joined with nobody",
        "a snapshot that is joined is listed without what others have added",
        _as_they_were_listed,
        92,
        DIFFERENT,
    ),
    Mutant(
        "removed twice",
        "who joins may remove what others have removed",
        _removing_what_is_gone,
        126,
        r"removed rows that were not there any more",
    ),
    Mutant(
        "joined files unwritten",
        "manifests of a join are not written before its root",
        _without_writing_files,
        92,
        r"was refused for no good reason: MissingFileError",
    ),
    Mutant(
        "one name for all joins",
        "another try of a join writes its files under the names of the first",
        _under_one_name,
        92,
        f"{DELETED}|{DIFFERENT}",
    ),
    Mutant(
        "old numbers",
        "a snapshot that is joined keeps the sequence numbers that it was made with",
        _with_old_numbers,
        92,
        r"has sequence number \d+, snapshot \d+ gave it",
    ),
)
