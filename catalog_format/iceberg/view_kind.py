"""Views as an object kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from catalog_format.changes import Change
from catalog_format.errors import AlreadyExistsError, NoSuchViewError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import ViewMetadataBuilder, check_view_requirement, commute, view_difference, view_touched_by
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.metadata_state import MetadataState, metadata_folder
from catalog_format.keys import Identifier, ObjectType
from catalog_format.kinds import ApplyContext, Upload
from catalog_format.objects import ViewDefinition

# Java compresses a view's metadata by default; a view is small, and plain files can be read by people.
_DEFAULT_CODEC = "none"


class ViewKind:
    """State: a `MetadataState`. Requests are those of `iceberg.requests`."""

    object_type = ObjectType.VIEW
    twin = ObjectType.TABLE

    def __init__(self, files: MetadataFiles, locations: Locations) -> None:
        self._files = files
        self._locations = locations

    def missing(self, identifier: Identifier) -> NoSuchViewError:
        return NoSuchViewError(f"View does not exist: {'.'.join(identifier)}")

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        name = ".".join(identifier)
        if by is ObjectType.TABLE:
            return AlreadyExistsError(f"Table with same name already exists: {name}")
        return AlreadyExistsError(f"View already exists: {name}")

    async def open(self, definition: bytes) -> MetadataState:
        location = self._locations.to_absolute(ViewDefinition.from_bytes(definition).metadata_location)
        return MetadataState(await self._files.parse(location), location)

    def apply(self, identifier: Identifier, state: MetadataState | None, change: Change, context: ApplyContext) -> MetadataState:
        request = orjson.loads(change.request)
        if "metadata" in request:
            return MetadataState(request["metadata"], request["location"], state.location if state else None)
        if state is None:
            raise self.missing(identifier)
        if context.check_requirements:
            for requirement in request["requirements"]:
                check_view_requirement(requirement, state.metadata)
        builder = ViewMetadataBuilder(state.metadata).apply_all(request["updates"])
        if not builder.has_changes:
            return state
        return MetadataState(builder.build(context.now_ms), None, state.location or state.previous)

    async def store(self, identifier: Identifier, state: MetadataState, upload: Upload) -> bytes:
        location = state.location
        if location is None:
            location = await self._files.write(state.metadata, metadata_folder(state.metadata), state.previous, upload, _DEFAULT_CODEC)
        return ViewDefinition(state.metadata["view-uuid"], self._locations.to_relative(location)).to_bytes()

    def forbids(self, base: MetadataState, winner: MetadataState, changes: Sequence[Change]) -> str | None:
        requests = [orjson.loads(change.request) for change in changes]
        if any("metadata" in request for request in requests):
            return "it was replaced as a whole"
        ours = view_touched_by(update for request in requests for update in request["updates"])
        return commute(ours, view_difference(base.metadata, winner.metadata))

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        return {}
