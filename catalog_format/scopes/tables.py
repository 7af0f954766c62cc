"""Operations on tables."""

from __future__ import annotations

from collections.abc import Sequence

from catalog_format.changes import Change, Verb
from catalog_format.errors import (
    AlreadyExistsError,
    ContendedError,
    CorruptFileError,
    InvalidArgumentError,
    NoSuchTableError,
    RequirementFailedError,
)
from catalog_format.iceberg.metadata import check_table_metadata, new_table_metadata
from catalog_format.iceberg.requests import create_request, drop_request, unregister_request, update_request, updates_summary
from catalog_format.keys import Identifier, ObjectType, table_key
from catalog_format.objects import TableDefinition
from catalog_format.scope import NO_CONTEXT, Json, Listing, LoadedMetadata, NewTable, Page, RequestContext, TableCommit
from catalog_format.scopes.metadata_objects import MetadataOperations

UNREGISTER_ATTEMPTS = 10


def _location_in(definition: bytes) -> str:
    return TableDefinition.from_bytes(definition).metadata_location


def _missing(identifier: Identifier) -> NoSuchTableError:
    return NoSuchTableError(f"Table does not exist: {'.'.join(identifier)}")


class TableOperations(MetadataOperations):
    """See `scope.Scope`."""

    async def list_tables(self, namespace: Identifier, page: Page | None = None) -> Listing:
        return await self._children(ObjectType.TABLE, namespace, page)

    async def load_table(self, table: Identifier, held: LoadedMetadata | None = None) -> LoadedMetadata:
        return await self._load(table, table_key(table), _location_in, _missing, held)

    async def table_exists(self, table: Identifier) -> bool:
        async with self._place.reading() as reader:
            return await reader.exists(table_key(table))

    async def table_location(self, table: Identifier) -> str | None:
        return await self._location_of(table_key(table), _location_in)

    async def create_table(self, table: Identifier, new: NewTable, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        change = Change(Verb.CREATE, table_key(table), create_request(await self._new_metadata(table, new)))
        return await self._written(table, change.key, await self._place.write([change], context), _location_in)

    async def stage_table(self, table: Identifier, new: NewTable) -> Json:
        if await self.table_exists(table):
            raise AlreadyExistsError(f"Table already exists: {'.'.join(table)}")
        return await self._new_metadata(table, new)

    async def register_table(
        self, table: Identifier, metadata_location: str, overwrite: bool = False, context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata:
        try:
            metadata = await self._files.parse(metadata_location)
        except CorruptFileError as error:
            raise InvalidArgumentError(error.message) from error
        check_table_metadata(metadata)
        if metadata.get("table-uuid") is None:
            # The oldest writers gave none (format version 1): the table gets one, and so a metadata file of its own.
            request = create_request({**metadata, "table-uuid": self._ids.uuid()})
        else:
            request = self._register_request(metadata, metadata_location)
        replaced = overwrite and await self.table_exists(table)
        change = Change(
            Verb.UPDATE if replaced else Verb.CREATE,
            table_key(table),
            request,
            summary=f"register {metadata_location}",
        )
        return await self._written(table, change.key, await self._place.write([change], context), _location_in)

    async def commit_tables(self, commits: Sequence[TableCommit], context: RequestContext = NO_CONTEXT) -> list[LoadedMetadata]:
        changes: list[Change] = []
        for commit in commits:
            key = table_key(commit.identifier)
            if any(change.key == key for change in changes):
                raise InvalidArgumentError(f"Table {'.'.join(commit.identifier)} is named twice in one commit; put its updates together")
            request = update_request(commit.requirements, commit.updates)
            changes.append(Change(Verb.UPDATE, key, request, summary=updates_summary(commit.updates)))
        done = await self._place.write(changes, context)
        return [await self._written(commit.identifier, table_key(commit.identifier), done, _location_in) for commit in commits]

    async def drop_table(self, table: Identifier, purge: bool = False, context: RequestContext = NO_CONTEXT) -> None:
        summary = "with purge" if purge else ""
        await self._place.write([Change(Verb.DROP, table_key(table), drop_request(purge), summary=summary)], context)

    async def unregister_table(self, table: Identifier, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        key = table_key(table)
        for _ in range(UNREGISTER_ATTEMPTS):
            async with self._place.reading() as reader:
                definition = await reader.definition(key)
            if definition is not None:
                # Read before the table is let go: what is answered must be had by then.
                await self._files.read(self._locations.to_absolute(_location_in(definition)))
            # Of a table that is gone a repeated request is answered what the first was; any other is refused.
            request = unregister_request("" if definition is None else _location_in(definition))
            try:
                done = await self._place.write([Change(Verb.DROP, key, request, summary="unregister")], context, definition or b"")
            except RequirementFailedError:
                # Somebody committed meanwhile, which has to be in the answer.
                continue
            location = self._locations.to_absolute(_location_in(done.note))
            return LoadedMetadata(table, location, await self._files.read(location), done.note)
        raise ContendedError(f"Table {'.'.join(table)} changed {UNREGISTER_ATTEMPTS} times while it was unregistered; try again")

    async def rename_table(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        await self._place.write([Change(Verb.MOVE, table_key(source), target=table_key(target))], context)

    async def _new_metadata(self, table: Identifier, new: NewTable) -> Json:
        location = await self._place_for(table, new.location)
        return new_table_metadata(
            new.schema, new.partition_spec, new.write_order, location, new.properties or {}, None, self._ids, self._clock.now_ms()
        )
