"""Tables as an object kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import orjson

from catalog_format.changes import Change
from catalog_format.errors import (
    AlreadyExistsError,
    ConflictError,
    CorruptFileError,
    MissingFileError,
    NoSuchTableError,
    NotACatalogError,
    RequirementFailedError,
    StoreDeniedError,
    TreelineError,
    UnsupportedError,
)
from catalog_format.iceberg.joining import Joined, TableJoiner
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import (
    TableMetadataBuilder,
    TableUpdate,
    is_create,
    metadata_conflict,
    needs_joining,
    parse_table_requirements,
    parse_table_updates,
    table_metadata_from_updates,
)
from catalog_format.iceberg.metadata.properties import property_as_bool
from catalog_format.iceberg.metadata.table_fields import current_schema_id_of, list_of, properties_of, refs_of
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.metadata_kind import MetadataKind
from catalog_format.iceberg.metadata_state import Json, MetadataState
from catalog_format.iceberg.requests import update_request
from catalog_format.ids import Ids
from catalog_format.keys import Identifier, ObjectType, purge_key
from catalog_format.kinds import ApplyContext
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb

REBASE_APPENDS: Final = "treeline.rebase-appends"
"""Table property: whether a plain commit that appends joins others that came first."""

_APPEND: Final = frozenset({"add-snapshot", "set-snapshot-ref"})


class TableKind(MetadataKind):
    """See `MetadataKind`."""

    object_type = ObjectType.TABLE
    twin = ObjectType.VIEW

    def __init__(self, files: MetadataFiles, locations: Locations, joiner: TableJoiner, ids: Ids) -> None:
        super().__init__(files, locations)
        self._joiner = joiner
        self._ids = ids

    def missing(self, identifier: Identifier) -> NoSuchTableError:
        return NoSuchTableError(f"Table does not exist: {'.'.join(identifier)}")

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        name = ".".join(identifier)
        if by is ObjectType.VIEW:
            return AlreadyExistsError(f"View with same name already exists: {name}")
        return AlreadyExistsError(f"Table already exists: {name}")

    def _location_in(self, definition: bytes) -> str:
        return TableDefinition.from_bytes(definition).metadata_location

    def _definition(self, metadata: Json, location: str) -> bytes:
        return TableDefinition(metadata["table-uuid"], location).to_bytes()

    def _check(self, identifier: Identifier, metadata: Json | None, requirements: Sequence[Json]) -> None:
        checks = parse_table_requirements(requirements)
        if metadata is not None and is_create(requirements):
            # Java's clients look for the beginning of this message; the name is for people.
            raise RequirementFailedError(f"Requirement failed: table already exists: {'.'.join(identifier)}")
        for check in checks:
            check(metadata)

    def _created(self, identifier: Identifier, requirements: Sequence[Json], updates: Sequence[Json], now_ms: int) -> Json:
        if not is_create(requirements):
            raise self.missing(identifier)
        self._check(identifier, None, requirements)
        return table_metadata_from_updates(updates, self._ids, now_ms)

    def _parsed(self, updates: Sequence[Json]) -> Sequence[TableUpdate]:
        return parse_table_updates(updates)

    def _updated(self, state: MetadataState, updates: Sequence[TableUpdate], now_ms: int) -> Json:
        # Two machines may each be a minute off the store; what Iceberg calls a table's time must not run back for that.
        not_before = state.metadata.get("last-updated-ms", now_ms)
        return TableMetadataBuilder(state.metadata).carry_out(updates).build(max(now_ms, not_before), state.location)

    async def _join(
        self, base: MetadataState, winner: MetadataState, updates: Sequence[Json], context: ApplyContext
    ) -> MetadataState | None:
        rule = metadata_conflict(base.metadata, winner.metadata, updates)
        if rule is not None:
            raise ConflictError(rule)
        if not needs_joining(base.metadata, winner.metadata, updates):
            return None
        refs = refs_of(base.metadata)
        heads = {name: refs[name]["snapshot-id"] if name in refs else None for name in _moved_refs(updates)}
        joined = await self._joined(winner, heads, updates, current_schema_id_of(base.metadata))
        return self._after(winner, joined, context)

    async def reconcile(
        self, identifier: Identifier, state: MetadataState, change: Change, context: ApplyContext, refusal: ConflictError
    ) -> tuple[MetadataState, Change]:
        """An append that expected another snapshot joins the one that came first, where the table's property says so."""
        if not property_as_bool(properties_of(state.metadata), REBASE_APPENDS, False):
            raise refusal
        request = orjson.loads(change.request)
        updates = request.get("updates", [])
        expected, others = _expected_heads(request.get("requirements", []))
        present = {snapshot["snapshot-id"] for snapshot in list_of(state.metadata, "snapshots")}
        if any(update.get("snapshot", {}).get("snapshot-id") in present for update in updates):
            # The same request again: it expects what was there before itself.
            raise refusal
        if {update.get("action") for update in updates} != _APPEND or _moved_refs(updates) != expected.keys():
            raise refusal
        self._check(identifier, state.metadata, others)
        try:
            joined = await self._joined(state, expected, _on_branches_as_they_are(state.metadata, updates), None, appends_only=True)
        except ConflictError as conflict:
            raise RequirementFailedError(f"{refusal.message}; it was not joined with what came first: {conflict.message}") from conflict
        after = self._after(state, joined, context)
        return after, replace(change, request=update_request(others, joined.updates))

    def foresees(self, change: Change) -> bool:
        return b'"add-snapshot"' in change.request

    async def look_ahead(self, definition: bytes, change: Change, *, replays: bool) -> None:
        """Own manifest lists: those of others are mostly known, being others' own."""
        with suppress(TreelineError, OSError):
            if replays or property_as_bool(properties_of((await self.open(definition)).metadata), REBASE_APPENDS, False):
                added = (update.get("snapshot") or {} for update in orjson.loads(change.request).get("updates", []))
                await self._joiner.look_ahead([snapshot["manifest-list"] for snapshot in added if "manifest-list" in snapshot])

    async def _joined(
        self,
        winner: MetadataState,
        heads: Mapping[str, int | None],
        updates: Sequence[Json],
        schema_id: int | None,
        *,
        appends_only: bool = False,
    ) -> Joined:
        try:
            return await self._joiner.join(
                winner.metadata, heads, updates, schema_id=schema_id, pending=winner.files, appends_only=appends_only
            )
        except (MissingFileError, CorruptFileError, StoreDeniedError, NotACatalogError, UnsupportedError) as error:
            # Asked again it would be the same: a sealed transaction could never end, and would hold its base for ever.
            raise ConflictError(f"what both changed cannot be compared: {error.message}") from error

    def _after(self, state: MetadataState, joined: Joined, context: ApplyContext) -> MetadataState:
        return state.followed_by(self._updated(state, self._parsed(joined.updates), context.now_ms), joined.files)

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        """A wish to purge, kept in the tree until no kept version shows the table."""
        request = orjson.loads(change.request) if change.request else {}
        table = TableDefinition.from_bytes(definition)
        expected = request.get("location", table.metadata_location)
        if expected != table.metadata_location:
            raise RequirementFailedError(f"Requirement failed: the metadata file is no longer {expected} but {table.metadata_location}")
        if not request.get("purge"):
            return {}
        wish = pb.PurgeWish(metadata_location=table.metadata_location, requested_at_ms=now_ms, key=change.key)
        return {purge_key(version, table.table_uuid, table.metadata_location): wish.SerializeToString(deterministic=True)}


def _moved_refs(updates: Sequence[Json]) -> set[str]:
    return {update["ref-name"] for update in updates if update["action"] == "set-snapshot-ref"}


def _on_branches_as_they_are(metadata: Json, updates: Sequence[Json]) -> list[Json]:
    """The updates with what is known now of the branches that they move: who appends means none of that to change.

    Raises `ConflictError` for what is no branch any more.
    """
    refs = refs_of(metadata)
    found = []
    for update in updates:
        standing = refs.get(update["ref-name"]) if update["action"] == "set-snapshot-ref" else None
        if standing is None:
            found.append(update)
            continue
        if standing.get("type") != "branch":
            raise ConflictError(f"{update['ref-name']} is no branch any more")
        found.append({"action": update["action"], "ref-name": update["ref-name"], **standing, "snapshot-id": update["snapshot-id"]})
    return found


def _expected_heads(requirements: Sequence[Json]) -> tuple[dict[str, int | None], list[Json]]:
    """Where requirements say that branches lead, and the requirements that say something else."""
    others = [requirement for requirement in requirements if requirement["type"] != "assert-ref-snapshot-id"]
    heads = {
        requirement["ref"]: requirement.get("snapshot-id")
        for requirement in requirements
        if requirement["type"] == "assert-ref-snapshot-id"
    }
    return heads, others
