"""Tables as an object kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from catalog_format.changes import Change
from catalog_format.errors import AlreadyExistsError, NoSuchTableError, RequirementFailedError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import (
    Aspects,
    TableMetadataBuilder,
    TableUpdate,
    difference,
    is_create,
    parse_table_requirements,
    parse_table_updates,
    table_metadata_from_updates,
    touched_by,
)
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.metadata_kind import MetadataKind
from catalog_format.iceberg.metadata_state import Json, MetadataState
from catalog_format.ids import Ids
from catalog_format.keys import Identifier, ObjectType, purge_key
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb


class TableKind(MetadataKind):
    """See `MetadataKind`."""

    object_type = ObjectType.TABLE
    twin = ObjectType.VIEW

    def __init__(self, files: MetadataFiles, locations: Locations, ids: Ids) -> None:
        super().__init__(files, locations)
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

    def _touched(self, updates: Sequence[Json]) -> Aspects:
        return touched_by(updates)

    def _difference(self, base: Json, winner: Json) -> Aspects:
        return difference(base, winner)

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
        return {purge_key(version, table.table_uuid): wish.SerializeToString(deterministic=True)}
