"""Puts the snapshots of a change on top of a table that others have changed since."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cachetools import LRUCache

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining.chains import Place, places
from catalog_format.iceberg.joining.conflicts import FileChanges
from catalog_format.iceberg.joining.deltas import Delta, changes_of, delta
from catalog_format.iceberg.joining.manifest_list import ListedManifest
from catalog_format.iceberg.joining.manifest_reader import ManifestReader
from catalog_format.iceberg.joining.relisting import OwnNumbers, Relisted, Relister
from catalog_format.iceberg.joining.summary import summary_on
from catalog_format.iceberg.joining.validation import Validation, check_alone
from catalog_format.iceberg.metadata.table_fields import (
    MIN_FORMAT_VERSION_ROW_LINEAGE,
    current_schema_id_of,
    format_version_of,
    last_sequence_number_of,
    list_of,
    next_row_id_of,
)
from catalog_format.iceberg.metadata_state import Json, NewFile, metadata_folder
from catalog_format.ids import Ids

REPEATED_CACHE: Final = 8 * 1024 * 1024
"""In bytes of the files that a repeated join gives again."""
_STATISTICS: Final = {"set-statistics": "statistics", "set-partition-statistics": "partition-statistics"}


@dataclass(frozen=True)
class Joined:
    """What a change becomes on top of the winner."""

    updates: tuple[Json, ...]
    """The own updates, in order, as they are to be applied to the winner."""
    files: tuple[NewFile, ...]
    """To be written before these updates are published."""


class TableJoiner:
    """See `join`."""

    def __init__(self, reader: ManifestReader, ids: Ids) -> None:
        self._reader = reader
        self._ids = ids
        self._repeated: LRUCache[tuple[object, ...], Relisted] = LRUCache(
            REPEATED_CACHE, getsizeof=lambda relisted: sum(len(file.data) for file in relisted.files)
        )

    async def look_ahead(self, manifest_lists: Sequence[str]) -> None:
        """Read manifest lists that will be joined, together. Failing, it says nothing."""
        await self._reader.look_ahead(manifest_lists)

    async def join(
        self,
        winner: Json,
        heads: Mapping[str, int | None],
        updates: Sequence[Json],
        *,
        schema_id: int | None,
        pending: Sequence[NewFile] = (),
        appends_only: bool = False,
    ) -> Joined:
        """The updates, made on another state of the table, as they are to be applied to `winner`.

        `heads` has where the branches and tags that the updates set led to in the base, `schema_id` the base's current
        schema if it is known, `pending` the files of the winner that are not written yet. A join that was asked before gives
        the same files again.

        Raises `ConflictError` naming the operations and the file or partition that stand against it; `MissingFileError`,
        `CorruptFileError` and what stores raise.
        """
        run = _Run(self._reader.above(pending), self._repeated, self._ids, winner, updates, schema_id, appends_only)
        for place in places(winner, heads, updates):
            await run.put(place)
        return Joined(tuple(run.updates(updates)), tuple(run.files))


class _Placed(NamedTuple):
    """An own snapshot on its new parent."""

    snapshot: Json
    manifests: tuple[ListedManifest, ...]
    former: tuple[ListedManifest, ...]
    """Its manifests as its writer listed them."""
    bottom: tuple[ListedManifest, ...]
    """The manifests that the first own snapshot below it, or it itself, was made on."""
    own: tuple[Delta, ...]
    """What the own snapshots below it and it itself changed."""
    numbers: OwnNumbers
    is_new: bool
    """Whether its manifest list was written anew."""


class _Run:
    """One join, snapshot by snapshot."""

    def __init__(
        self,
        reader: ManifestReader,
        repeated: LRUCache[tuple[object, ...], Relisted],
        ids: Ids,
        winner: Json,
        updates: Sequence[Json],
        schema_id: int | None,
        appends_only: bool,
    ) -> None:
        self._reader = reader
        self._repeated = repeated
        self._ids = ids
        self._winner = winner
        self._schema_id = schema_id
        self._version = format_version_of(winner)
        self._validation = Validation(reader, winner, updates, schema_id, appends_only)
        self._last_sequence_number = last_sequence_number_of(winner)
        self._next_row_id = next_row_id_of(winner)
        self._not_before: int = winner.get("last-updated-ms", 0)
        self._known: dict[int, Json] = {snapshot["snapshot-id"]: snapshot for snapshot in list_of(winner, "snapshots")}
        self._placed: dict[int, _Placed] = {}
        self.files: list[NewFile] = []

    async def put(self, place: Place) -> None:
        """Put one snapshot on its parent; its own parent, if that is an own snapshot, has been put before."""
        former = place.snapshot
        check_alone(former)
        made_on = former.get("parent-snapshot-id")
        below = None if made_on is None else self._placed.get(made_on)
        lists = await self._lists(former["manifest-list"], made_on, place.parent)
        manifests = lists[former["manifest-list"]]
        before = below.former if below is not None else () if made_on is None else lists[self._snapshot(made_on)["manifest-list"]]
        change = delta(former, manifests, before)
        if self._version > 1 and not former.get("sequence-number") and not all(manifest.only_adds for manifest in change.added):
            raise ConflictError(
                f"{change.operation}: it was made for format 1, and what it kept would have no sequence numbers in format {self._version}"
            )
        await self._validation.check(change, place.rivals)
        snapshot = self._numbered(former, place.parent)
        numbers = OwnNumbers() if below is None else below.numbers
        own, bottom = ((change,), before) if below is None else ((*below.own, change), below.bottom)
        moved = place.parent != made_on or (below is not None and below.is_new)
        if moved or any(snapshot.get(key) != former.get(key) for key in ("sequence-number", "first-row-id")):
            parents = () if place.parent is None else lists[self._snapshot(place.parent)["manifest-list"]]
            relisted = await self._relisted(change, snapshot, below, before, parents)
            snapshot = self._finished(snapshot, relisted)
            self.files += relisted.files
            numbers = OwnNumbers(
                {**numbers.sequence_numbers, former.get("sequence-number", 0): snapshot.get("sequence-number", 0)},
                numbers.added + relisted.added,
            )
            placed = _Placed(snapshot, relisted.manifests, manifests, bottom, own, numbers, True)
        else:
            placed = _Placed(snapshot, manifests, manifests, bottom, own, numbers, False)
        self._placed[snapshot["snapshot-id"]] = placed
        self._last_sequence_number = snapshot.get("sequence-number") or 0
        self._next_row_id = (snapshot.get("first-row-id") or 0) + (snapshot.get("added-rows") or 0)

    def updates(self, updates: Sequence[Json]) -> list[Json]:
        """The own updates with the snapshots as they are now, without statistics of contents that are others now."""
        found = []
        for update in updates:
            if update["action"] == "add-snapshot":
                found.append({**update, "snapshot": self._placed[update["snapshot"]["snapshot-id"]].snapshot})
            elif update["action"] in _STATISTICS:
                placed = self._placed.get(update[_STATISTICS[update["action"]]]["snapshot-id"])
                if placed is None or not placed.is_new:
                    found.append(update)
            else:
                found.append(update)
        return found

    def _numbered(self, former: Json, parent: int | None) -> Json:
        """The snapshot with its new parent and numbers; equal to the former one if these stay."""
        snapshot = {key: value for key, value in former.items() if key != "parent-snapshot-id"}
        if parent is not None:
            snapshot["parent-snapshot-id"] = parent
        if self._version > 1 and (former.get("sequence-number") or 0) <= self._last_sequence_number:
            snapshot["sequence-number"] = self._last_sequence_number + 1
        if self._version >= MIN_FORMAT_VERSION_ROW_LINEAGE:
            first_row_id = former.get("first-row-id")
            # A client that did not know of an upgrade to format 3 has given none.
            if first_row_id is None or first_row_id < self._next_row_id:
                snapshot["first-row-id"] = self._next_row_id
        written = former.get("schema-id") if self._schema_id is None else self._schema_id
        if written is not None and former.get("schema-id") == written:
            snapshot["schema-id"] = current_schema_id_of(self._winner)
        return snapshot

    def _finished(self, snapshot: Json, relisted: Relisted) -> Json:
        """The snapshot with its new manifest list and all that follows from it."""
        parent = snapshot.get("parent-snapshot-id")
        # Own snapshots keep their order in time, also where a rival's clock was ahead of all of them.
        after = 0 if parent is None else self._snapshot(parent)["timestamp-ms"] + (parent in self._placed)
        snapshot |= {"manifest-list": relisted.location, "timestamp-ms": max(self._not_before, after, snapshot["timestamp-ms"])}
        if self._version >= MIN_FORMAT_VERSION_ROW_LINEAGE:
            snapshot["added-rows"] = relisted.assigned_rows
        if snapshot.get("summary") is not None:
            above = {} if parent is None else self._snapshot(parent).get("summary") or {}
            counts = (len(relisted.added), len(relisted.manifests) - len(relisted.added), relisted.replaced)
            snapshot["summary"] = summary_on(None if parent is None else above, snapshot["summary"], counts, swept=relisted.swept)
        return snapshot

    async def _relisted(
        self,
        change: Delta,
        snapshot: Json,
        below: _Placed | None,
        before: Sequence[ListedManifest],
        parents: Sequence[ListedManifest],
    ) -> Relisted:
        """The change on top of `parents`; it was made on `before`."""
        parent = snapshot.get("parent-snapshot-id")
        above = None if parent is None else self._snapshot(parent)["manifest-list"]
        folder = metadata_folder(self._winner)
        numbers_given = (snapshot.get("sequence-number"), snapshot.get("first-row-id"))
        key = (change.snapshot["manifest-list"], parent, above, self._version, *numbers_given, folder)
        repeated = self._repeated.get(key)
        if repeated is not None:
            for file in repeated.files:
                self._reader.add(file)
            return repeated
        numbers = OwnNumbers() if below is None or not below.is_new else below.numbers
        if below is not None and below.is_new:
            await self._validation.check_row_lineage(change, below.own, below.bottom)
        relister = Relister(self._reader, change, snapshot, self._version, numbers, folder, self._ids.uuid())
        relisted = await relister.relist(parents, before, lambda: self._changes(change))
        if sum(len(file.data) for file in relisted.files) <= REPEATED_CACHE:
            self._repeated[key] = relisted
        return relisted

    async def _changes(self, change: Delta) -> FileChanges:
        return await changes_of(self._reader, change)

    async def _lists(self, own: str, *parents: int | None) -> dict[str, tuple[ListedManifest, ...]]:
        """The manifests of some lists, read together: of an own snapshot as made, and of those it was and is to be put on."""
        known = {placed.snapshot["manifest-list"]: placed.manifests for placed in self._placed.values()}
        locations = {own: None} | {self._snapshot(parent)["manifest-list"]: None for parent in parents if parent is not None}
        wanted = [location for location in locations if location not in known]
        return known | dict(zip(wanted, await asyncio.gather(*map(self._reader.manifest_list, wanted)), strict=True))

    def _snapshot(self, snapshot_id: int) -> Json:
        placed = self._placed.get(snapshot_id)
        if placed is not None:
            return placed.snapshot
        found = self._known.get(snapshot_id)
        if found is None:
            raise ConflictError(f"Snapshot {snapshot_id}, which own snapshots were made on, was removed meanwhile")
        check_alone(found)
        return found
