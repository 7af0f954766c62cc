"""Operations on views."""

from __future__ import annotations

from collections.abc import Sequence

from catalog_format.changes import Change, Verb
from catalog_format.errors import CorruptFileError, InvalidArgumentError, NoSuchViewError
from catalog_format.iceberg.metadata import check_view, new_view_metadata
from catalog_format.iceberg.requests import create_request, drop_request, update_request, updates_summary
from catalog_format.keys import Identifier, ObjectType, view_key
from catalog_format.objects import ViewDefinition
from catalog_format.scope import NO_CONTEXT, Json, Listing, LoadedMetadata, NewView, Page, RequestContext
from catalog_format.scopes.metadata_objects import MetadataOperations


def _location_in(definition: bytes) -> str:
    return ViewDefinition.from_bytes(definition).metadata_location


def _missing(identifier: Identifier) -> NoSuchViewError:
    return NoSuchViewError(f"View does not exist: {'.'.join(identifier)}")


class ViewOperations(MetadataOperations):
    """See `scope.Scope`."""

    async def list_views(self, namespace: Identifier, page: Page | None = None) -> Listing:
        return await self._children(ObjectType.VIEW, namespace, page)

    async def load_view(self, view: Identifier) -> LoadedMetadata:
        return await self._load(view, view_key(view), _location_in, _missing)

    async def view_exists(self, view: Identifier) -> bool:
        async with self._place.reading() as reader:
            return await reader.exists(view_key(view))

    async def view_location(self, view: Identifier) -> str | None:
        return await self._location_of(view_key(view), _location_in)

    async def create_view(self, view: Identifier, new: NewView, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        location = await self._place_for(view, new.location)
        metadata = new_view_metadata(new.schema, new.view_version, location, new.properties or {}, self._ids)
        change = Change(Verb.CREATE, view_key(view), create_request(metadata))
        return await self._written(view, change.key, await self._place.write([change], context), _location_in)

    async def register_view(self, view: Identifier, metadata_location: str, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        try:
            metadata = await self._files.parse(metadata_location)
        except CorruptFileError as error:
            raise InvalidArgumentError(error.message) from error
        check_view(metadata)
        request = self._register_request(metadata, metadata_location)
        change = Change(Verb.CREATE, view_key(view), request, summary=f"register {metadata_location}")
        return await self._written(view, change.key, await self._place.write([change], context), _location_in)

    async def replace_view(
        self, view: Identifier, requirements: Sequence[Json], updates: Sequence[Json], context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata:
        change = Change(Verb.UPDATE, view_key(view), update_request(requirements, updates), summary=updates_summary(updates))
        return await self._written(view, change.key, await self._place.write([change], context), _location_in)

    async def drop_view(self, view: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        await self._place.write([Change(Verb.DROP, view_key(view), drop_request(purge=False))], context)

    async def rename_view(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        await self._place.write([Change(Verb.MOVE, view_key(source), target=view_key(target))], context)
