"""Operations on tables."""

from __future__ import annotations

from collections.abc import Sequence

from catalog_format.changes import Change, Verb
from catalog_format.errors import AlreadyExistsError, CorruptFileError, InvalidArgumentError, NoSuchTableError
from catalog_format.iceberg.metadata import TableMetadataBuilder, new_table_metadata
from catalog_format.iceberg.requests import create_request, drop_request, update_request, updates_summary
from catalog_format.keys import Identifier, ObjectType, table_key
from catalog_format.objects import TableDefinition
from catalog_format.scope import NO_CONTEXT, Json, Listing, LoadedMetadata, NewTable, Page, RequestContext, TableCommit
from catalog_format.scopes.metadata_objects import MetadataOperations


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
            # Reading it as the base of a build is the check that it is a table's.
            TableMetadataBuilder(metadata)
        except CorruptFileError as error:
            raise InvalidArgumentError(error.message) from error
        if not isinstance(metadata.get("table-uuid"), str):
            raise InvalidArgumentError(f"{metadata_location} names no table UUID")
        # A file that Treeline wrote goes with the table it was written for: another table gets a copy under a name of its own.
        own = self._locations.below_root(metadata_location) is not None
        replaced = overwrite and await self.table_exists(table)
        change = Change(
            Verb.UPDATE if replaced else Verb.CREATE,
            table_key(table),
            create_request(metadata, None if own else metadata_location),
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

    async def rename_table(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        await self._place.write([Change(Verb.MOVE, table_key(source), target=table_key(target))], context)

    async def _new_metadata(self, table: Identifier, new: NewTable) -> Json:
        location = await self._place_for(table, new.location)
        return new_table_metadata(
            new.schema, new.partition_spec, new.write_order, location, new.properties or {}, None, self._ids, self._clock.now_ms()
        )
