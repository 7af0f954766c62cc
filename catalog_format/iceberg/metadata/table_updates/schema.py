"""Updates of a table's schemas (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_ints, get_object
from catalog_format.iceberg.metadata.schemas import Schema, schema_id_of, schema_key
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate

_LAST_ADDED = -1


def add_schema(draft: TableDraft, schema: Schema) -> int:
    """Add a schema, unless an equal one exists, and return its id. Raises `InvalidArgumentError`."""
    last_column_id = max(draft.last_column_id, schema.highest_field_id)
    schema.check_format_version(draft.format_version)
    schema_id, exists = _reused_or_new_id(draft, schema)
    if exists and last_column_id == draft.last_column_id:
        # "Last added" means added by this build: a schema that was there before leaves it unset.
        added_here = draft.last_added_schema_id is not None and schema_id in draft.added_schema_ids
        draft.last_added_schema_id = schema_id if added_here else None
        return schema_id
    draft.last_column_id = last_column_id
    if not exists:
        draft.schemas = [*draft.schemas, schema.to_json(schema_id)]
    draft.added_schema_ids.add(schema_id)
    draft.last_added_schema_id = schema_id
    draft.has_changes = draft.layout_changed = True
    return schema_id


def set_current_schema(draft: TableDraft, schema_id: int) -> None:
    """Make a known schema the current one; -1 is the one added last. Raises `InvalidArgumentError`."""
    if schema_id == _LAST_ADDED:
        if draft.last_added_schema_id is None:
            raise InvalidArgumentError("Cannot set last added schema: no schema has been added")
        schema_id = draft.last_added_schema_id
    if schema_id == draft.current_schema_id:
        return
    if draft.schema(schema_id) is None:
        raise InvalidArgumentError(f"Cannot set current schema to unknown schema: {schema_id}")
    draft.current_schema_id = schema_id
    draft.has_changes = draft.layout_changed = True


def remove_schemas(draft: TableDraft, schema_ids: set[int]) -> None:
    """Remove those that exist. Raises `InvalidArgumentError` for the current one."""
    if draft.current_schema_id in schema_ids:
        raise InvalidArgumentError("Cannot remove the current schema")
    if schema_ids:
        draft.schemas = [schema for schema in draft.schemas if schema_id_of(schema) not in schema_ids]
        draft.has_changes = draft.layout_changed = True


def parse_add_schema(update: JsonObject) -> TableUpdate:
    schema = Schema(get_object(update, "schema"))
    return lambda draft: add_schema(draft, schema)


def parse_set_current_schema(update: JsonObject) -> TableUpdate:
    schema_id = get_int(update, "schema-id")
    return lambda draft: set_current_schema(draft, schema_id)


def parse_remove_schemas(update: JsonObject) -> TableUpdate:
    schema_ids = set(get_ints(update, "schema-ids"))
    return lambda draft: remove_schemas(draft, schema_ids)


def _reused_or_new_id(draft: TableDraft, schema: Schema) -> tuple[int, bool]:
    key, new_id = schema_key(schema.raw), draft.current_schema_id
    for existing in draft.schemas:
        existing_id = schema_id_of(existing)
        if schema_key(existing) == key:
            return existing_id, True
        new_id = max(new_id, existing_id + 1)
    return new_id, False
