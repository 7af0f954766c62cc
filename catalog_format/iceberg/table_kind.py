"""Tables as an object kind: updates and requirements over raw metadata, metadata files, replay of what commutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from catalog_format.changes import Change, Verb
from catalog_format.errors import AlreadyExistsError, NoSuchTableError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import (
    TableMetadataBuilder,
    check_table_requirement,
    commute,
    difference,
    is_create,
    table_metadata_from_updates,
    touched_by,
)
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.metadata_state import MetadataState, metadata_folder
from catalog_format.ids import Ids
from catalog_format.keys import Identifier, ObjectType, purge_key
from catalog_format.kinds import ApplyContext, Upload
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb


class TableKind:
    """State: a `MetadataState`. Requests are those of `iceberg.requests`."""

    object_type = ObjectType.TABLE
    twin = ObjectType.VIEW

    def __init__(self, files: MetadataFiles, locations: Locations, ids: Ids) -> None:
        self._files = files
        self._locations = locations
        self._ids = ids

    def missing(self, identifier: Identifier) -> NoSuchTableError:
        return NoSuchTableError(f"Table does not exist: {'.'.join(identifier)}")

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        name = ".".join(identifier)
        if by is ObjectType.VIEW:
            return AlreadyExistsError(f"View with same name already exists: {name}")
        return AlreadyExistsError(f"Table already exists: {name}")

    async def open(self, definition: bytes) -> MetadataState:
        location = self._locations.to_absolute(TableDefinition.from_bytes(definition).metadata_location)
        return MetadataState(await self._files.parse(location), location)

    def apply(self, identifier: Identifier, state: MetadataState | None, change: Change, context: ApplyContext) -> MetadataState:
        request = orjson.loads(change.request)
        if "metadata" in request:
            return MetadataState(request["metadata"], request["location"], state.location if state else None)
        requirements, updates = request["requirements"], request["updates"]
        if state is None and not is_create(requirements):
            raise self.missing(identifier)
        if context.check_requirements:
            if state is not None and is_create(requirements):
                raise self.taken(identifier, ObjectType.TABLE)
            for requirement in requirements:
                check_table_requirement(requirement, state.metadata if state else None)
        if state is None:
            return MetadataState(table_metadata_from_updates(updates, self._ids, context.now_ms), None)
        builder = TableMetadataBuilder(state.metadata).apply_all(updates)
        if not builder.has_changes:
            return state
        return MetadataState(builder.build(context.now_ms, state.location), None, state.location or state.previous)

    async def store(self, identifier: Identifier, state: MetadataState, upload: Upload) -> bytes:
        location = state.location
        if location is None:
            location = await self._files.write(state.metadata, metadata_folder(state.metadata), state.previous, upload)
        return TableDefinition(state.metadata["table-uuid"], self._locations.to_relative(location)).to_bytes()

    def forbids(self, base: MetadataState, winner: MetadataState, changes: Sequence[Change]) -> str | None:
        requests = [orjson.loads(change.request) for change in changes]
        if any("metadata" in request for request in requests):
            return "it was replaced as a whole"
        ours = touched_by(update for request in requests for update in request["updates"])
        return commute(ours, difference(base.metadata, winner.metadata))

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        """A wish to purge, kept in the tree until no kept version shows the table."""
        if change.verb is not Verb.DROP or not change.request or not orjson.loads(change.request)["purge"]:
            return {}
        table = TableDefinition.from_bytes(definition)
        wish = pb.PurgeWish(metadata_location=table.metadata_location, requested_at_ms=now_ms, key=change.key)
        return {purge_key(version, table.table_uuid): wish.SerializeToString(deterministic=True)}
