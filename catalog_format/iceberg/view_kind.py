"""Views as an object kind."""

from __future__ import annotations

from collections.abc import Sequence

from catalog_format.errors import AlreadyExistsError, ConflictError, NoSuchViewError
from catalog_format.iceberg.metadata import (
    ViewMetadataBuilder,
    ViewUpdate,
    commute,
    parse_view_requirements,
    parse_view_updates,
    view_difference,
    view_touched_by,
)
from catalog_format.iceberg.metadata_kind import MetadataKind
from catalog_format.iceberg.metadata_state import Json, MetadataState
from catalog_format.keys import Identifier, ObjectType
from catalog_format.kinds import ApplyContext
from catalog_format.objects import ViewDefinition


class ViewKind(MetadataKind):
    """See `MetadataKind`."""

    object_type = ObjectType.VIEW
    twin = ObjectType.TABLE

    def missing(self, identifier: Identifier) -> NoSuchViewError:
        return NoSuchViewError(f"View does not exist: {'.'.join(identifier)}")

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        name = ".".join(identifier)
        if by is ObjectType.TABLE:
            return AlreadyExistsError(f"Table with same name already exists: {name}")
        return AlreadyExistsError(f"View already exists: {name}")

    def _location_in(self, definition: bytes) -> str:
        return ViewDefinition.from_bytes(definition).metadata_location

    def _definition(self, metadata: Json, location: str) -> bytes:
        return ViewDefinition(metadata["view-uuid"], location).to_bytes()

    def _check(self, identifier: Identifier, metadata: Json | None, requirements: Sequence[Json]) -> None:
        for check in parse_view_requirements(requirements):
            check(metadata or {})

    def _created(self, identifier: Identifier, requirements: Sequence[Json], updates: Sequence[Json], now_ms: int) -> Json:
        raise self.missing(identifier)

    def _parsed(self, updates: Sequence[Json]) -> Sequence[ViewUpdate]:
        return parse_view_updates(updates)

    def _updated(self, state: MetadataState, updates: Sequence[ViewUpdate], now_ms: int) -> Json:
        return ViewMetadataBuilder(state.metadata).carry_out(updates).build(now_ms)

    async def _join(self, base: MetadataState, winner: MetadataState, updates: Sequence[Json], context: ApplyContext) -> None:
        rule = commute(view_touched_by(updates), view_difference(base.metadata, winner.metadata))
        if rule is not None:
            raise ConflictError(rule)
