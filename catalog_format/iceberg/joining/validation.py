"""Checks a snapshot that is to be put on top of others: against each of those, and against the table as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining.conflicts import FileChanges, conflict
from catalog_format.iceberg.joining.deltas import Delta, changes_of, delta
from catalog_format.iceberg.joining.manifest_list import DATA, DELETES, ListedManifest
from catalog_format.iceberg.joining.manifest_reader import ManifestReader
from catalog_format.iceberg.metadata.partition_specs import spec_id_of
from catalog_format.iceberg.metadata.schema_evolution import incompatibility
from catalog_format.iceberg.metadata.schemas import schema_id_of
from catalog_format.iceberg.metadata.table_fields import (
    MIN_FORMAT_VERSION_ROW_LINEAGE,
    current_schema_id_of,
    format_version_of,
    list_of,
    properties_of,
    schemas_of,
    specs_of,
)
from catalog_format.iceberg.metadata_state import Json

_ISOLATION_LEVELS: Final = ("write.delete.isolation-level", "write.update.isolation-level", "write.merge.isolation-level")
_FILTERED: Final = ("overwrite", "delete")


def check_alone(snapshot: Json) -> None:
    """Raise `ConflictError` for a snapshot whose manifests nobody can look into."""
    if snapshot.get("manifest-list") is None:
        raise ConflictError(
            f"Snapshot {snapshot['snapshot-id']} has no manifest list (an early form of format 1): others cannot be joined with it"
        )
    if snapshot.get("key-id") is not None:
        raise ConflictError(f"The manifest list of snapshot {snapshot['snapshot-id']} is encrypted: others cannot be joined with it")


class Validation:
    """The checks of one join."""

    def __init__(self, reader: ManifestReader, winner: Json, updates: Sequence[Json], schema_id: int | None, appends_only: bool) -> None:
        self._reader = reader
        self._winner = winner
        self._schema_id = schema_id
        self._appends_only = appends_only
        properties = properties_of(winner)
        self._serializable = any(properties.get(key, "").lower() == "serializable" for key in _ISOLATION_LEVELS)
        made = [update["snapshot"].get("sequence-number") for update in updates if update["action"] == "add-snapshot"]
        self._own_from: int | None = min((number for number in made if number is not None), default=None)
        self._own_specs = any(update["action"] == "add-spec" for update in updates)
        self._deltas: dict[int, Delta] = {}
        self._changes: dict[int, FileChanges] = {}

    async def check(self, own: Delta, rivals: Sequence[Json]) -> None:
        """Raise `ConflictError` if the snapshot does not go with those that others put on its branch (oldest first)."""
        if self._appends_only and not (own.only_appends and own.operation == "append"):
            raise ConflictError(f"only appends are joined, and snapshot {own.snapshot['snapshot-id']} is of operation {own.operation}")
        self._check_specs(own)
        await self._check_schema(own)
        for rival in rivals:
            _check_picks(own, rival)
        if own.only_rewrites_manifests or (own.only_appends and own.operation != "overwrite"):
            return
        for rival in rivals:
            await self._check_files(own, await self._delta(rival))

    async def check_row_lineage(self, own: Delta, below: Sequence[Delta], bottom: Sequence[ListedManifest]) -> None:
        """Raise `ConflictError` if rows to which own snapshots below gave ids were carried into data files, with those ids.

        Only for format 3, and when the snapshots below get other numbers. They gave ids to the rows that they added, and to all
        rows of the manifests that they were made on (`bottom`) if those are from before format 3.
        """
        if format_version_of(self._winner) < MIN_FORMAT_VERSION_ROW_LINEAGE or own.only_appends:
            return
        changes = await self._changes_of(own)
        if not changes.added_data:
            return
        touched = {file.id.path for file in changes.removed_data} | {file.referenced for file in changes.added_position_deletes}
        if touched and any(manifest.content == DATA and manifest.first_row_id is None for manifest in bottom):
            raise ConflictError(
                f"{own.operation}: it moved rows that got their row ids in the same transaction, and those were taken meanwhile"
            )
        for earlier in below:
            for file in (await self._changes_of(earlier)).added_data:
                if file.id.path in touched:
                    raise ConflictError(
                        f"{own.operation}: it moved rows of {file.id}, added by the same transaction, whose row ids were taken meanwhile"
                    )

    async def _check_files(self, own: Delta, rival: Delta) -> None:
        if rival.only_rewrites_manifests:
            return
        mine = await self._changes_of(own)
        minds_additions = mine.minds_additions or (self._serializable and own.operation in _FILTERED)
        if rival.only_appends and rival.operation != "overwrite" and not minds_additions:
            return
        reason = conflict(mine, await self._changes_of(rival), serializable=self._serializable, own_from=self._own_from)
        if reason is not None:
            raise ConflictError(reason)

    def _check_specs(self, own: Delta) -> None:
        """Files keep the spec that they were written with, so it must still be there."""
        if self._own_specs:
            return
        known = {spec_id_of(spec) for spec in specs_of(self._winner)}
        for manifest in own.added:
            if manifest.spec_id not in known:
                raise ConflictError(
                    f"{own.operation}: partition spec {manifest.spec_id}, which its files were written with, was removed meanwhile"
                )

    async def _check_schema(self, own: Delta) -> None:
        """What was written with one schema must be readable with the current one."""
        current = current_schema_id_of(self._winner)
        written = own.snapshot.get("schema-id") if self._schema_id is None else self._schema_id
        if written is None or written == current:
            return
        schemas = {schema_id_of(schema): schema for schema in schemas_of(self._winner)}
        reason = "it was removed" if written not in schemas else incompatibility(schemas[written], schemas[current])
        if reason is not None:
            raise ConflictError(
                f"{own.operation}: its files were written with schema {written}, and the current one is {current}: {reason}"
            )
        if any(manifest.content == DELETES and manifest.added_files != 0 for manifest in own.added):
            changes = await self._changes_of(own)
            for file in changes.added_equality_deletes:
                raise ConflictError(
                    f"{own.operation}: the columns of the equality deletes in {file.id} were chosen by another schema than the current one"
                )

    async def _delta(self, rival: Json) -> Delta:
        found = self._deltas.get(rival["snapshot-id"])
        if found is None:
            check_alone(rival)
            manifests = await self._reader.manifest_list(rival["manifest-list"])
            found = self._deltas[rival["snapshot-id"]] = delta(rival, manifests, await self._manifests_before(rival))
        return found

    async def _manifests_before(self, snapshot: Json) -> Sequence[ListedManifest]:
        parent_id = snapshot.get("parent-snapshot-id")
        if parent_id is None:
            return ()
        parent = next(known for known in list_of(self._winner, "snapshots") if known["snapshot-id"] == parent_id)
        check_alone(parent)
        return await self._reader.manifest_list(parent["manifest-list"])

    async def _changes_of(self, change: Delta) -> FileChanges:
        snapshot_id = change.snapshot["snapshot-id"]
        if snapshot_id not in self._changes:
            self._changes[snapshot_id] = await changes_of(self._reader, change)
        return self._changes[snapshot_id]


def _check_picks(own: Delta, rival: Json) -> None:
    """What was staged is published once (Java `WapUtil`, `CherryPickOperation`)."""
    mine, theirs = own.snapshot.get("summary") or {}, rival.get("summary") or {}
    published, source = mine.get("published-wap-id"), mine.get("source-snapshot-id")
    if published is not None and published in (theirs.get("published-wap-id"), theirs.get("wap.id")):
        raise ConflictError(
            f"{own.operation}: the changes staged as {published} were published meanwhile by snapshot {rival['snapshot-id']}"
        )
    if source is not None and source in (theirs.get("source-snapshot-id"), str(rival["snapshot-id"])):
        raise ConflictError(f"{own.operation}: snapshot {source} was published meanwhile as {rival['snapshot-id']}")
