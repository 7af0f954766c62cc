"""First metadata of tables: by a create request, and by the updates of a staged create."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import shared_updates
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int
from catalog_format.iceberg.metadata.partition_specs import FIRST_PARTITION_FIELD_ID, PartitionSpec, parse_partition_spec
from catalog_format.iceberg.metadata.properties import (
    FORMAT_VERSION,
    check_new_table_properties,
    persisted_properties,
    property_as_int,
)
from catalog_format.iceberg.metadata.requirements import requirement_type
from catalog_format.iceberg.metadata.schemas import INITIAL_SCHEMA_ID, Schema, with_fresh_ids
from catalog_format.iceberg.metadata.sort_orders import SortOrder, parse_sort_order
from catalog_format.iceberg.metadata.table_builder import DEFAULT_FORMAT_VERSION, TableMetadataBuilder
from catalog_format.iceberg.metadata.table_draft import SUPPORTED_FORMAT_VERSION
from catalog_format.iceberg.metadata.table_updates import partition_spec as spec_updates
from catalog_format.iceberg.metadata.table_updates import schema as schema_updates
from catalog_format.iceberg.metadata.table_updates import sort_order as sort_order_updates
from catalog_format.iceberg.metadata.update_actions import action_of
from catalog_format.ids import Ids


def new_table_metadata(
    schema: JsonObject,
    partition_spec: JsonObject | None,
    sort_order: JsonObject | None,
    location: str,
    properties: Mapping[str, str],
    format_version: int | None,
    ids: Ids,
    now_ms: int,
) -> JsonObject:
    """The metadata of a new table, with fresh ids (Iceberg Java `TableMetadata.newTableMetadata`).

    Column ids are assigned anew from 1, partition field ids from 1000. Without a format version the property
    `format-version` decides, else 2. Reserved properties are left out of what is stored, as in Java.

    Raises `InvalidArgumentError`.
    """
    if format_version is None:
        format_version = property_as_int(properties, FORMAT_VERSION, DEFAULT_FORMAT_VERSION)
    if not 1 <= format_version <= SUPPORTED_FORMAT_VERSION:
        raise InvalidArgumentError(f"Unsupported format version: v{format_version} (supported: v{SUPPORTED_FORMAT_VERSION})")
    requested = Schema(schema)
    stored_properties = persisted_properties(properties)
    check_new_table_properties(stored_properties, requested, format_version)
    fresh = with_fresh_ids(requested, INITIAL_SCHEMA_ID)
    spec = _rebound_spec(parse_partition_spec(partition_spec or {"fields": []}), requested, fresh)
    order = _rebound_order(parse_sort_order(sort_order or {"fields": []}), requested, fresh)

    builder = TableMetadataBuilder(None, ids=ids, format_version=format_version)
    draft = builder.draft
    schema_updates.set_current_schema(draft, schema_updates.add_schema(draft, fresh))
    spec_updates.set_default_spec(draft, spec_updates.add_spec(draft, spec))
    sort_order_updates.set_default_sort_order(draft, sort_order_updates.add_sort_order(draft, order))
    shared_updates.set_location(draft, location)
    shared_updates.set_properties(draft, stored_properties)
    return builder.build(now_ms)


def is_create(requirements: Sequence[JsonObject]) -> bool:
    """Whether a commit creates its table (Iceberg Java `CatalogHandlers.isCreate`).

    Raises `InvalidArgumentError` where assert-create stands beside another requirement.
    """
    types = [requirement_type(requirement) for requirement in requirements]
    others = sorted(set(types) - {"assert-create"})
    if "assert-create" in types and others:
        raise InvalidArgumentError(f"Invalid create requirements: [{', '.join(others)}]")
    return "assert-create" in types


def table_metadata_from_updates(updates: Sequence[JsonObject], ids: Ids, now_ms: int) -> JsonObject:
    """The metadata of a table whose staged creation is committed (Iceberg Java `CatalogHandlers.create`).

    The client has assigned all ids; the first upgrade-format-version gives the format version.

    Raises `InvalidArgumentError` and `ConflictError` as `TableMetadataBuilder.apply` does.
    """
    versions = (get_int(update, "format-version") for update in updates if action_of(update) == "upgrade-format-version")
    builder = TableMetadataBuilder(None, ids=ids, format_version=next(versions, DEFAULT_FORMAT_VERSION))
    return builder.apply_all(updates).build(now_ms)


def _rebound_spec(spec: PartitionSpec, requested: Schema, fresh: Schema) -> PartitionSpec:
    """The spec over the fresh schema's columns, found again by name."""
    numbers = count(FIRST_PARTITION_FIELD_ID)
    numbered = spec.assigned(lambda field: next(numbers))
    numbered.check_names(requested)
    numbered.check_compatible(requested)
    sources = _fresh_ids_by_old(requested, fresh)
    for field in spec.fields:
        if field.source_id not in sources:
            raise InvalidArgumentError(f"Cannot find source column for partition field: {field}")
    return spec.renumbered(sources, FIRST_PARTITION_FIELD_ID)


def _rebound_order(order: SortOrder, requested: Schema, fresh: Schema) -> SortOrder:
    order.check_compatible(requested)
    return order.renumbered(_fresh_ids_by_old(requested, fresh))


def _fresh_ids_by_old(requested: Schema, fresh: Schema) -> dict[int, int]:
    by_name = {field.full_name: field_id for field_id, field in fresh.fields.items()}
    return {field_id: by_name[field.full_name] for field_id, field in requested.fields.items()}
