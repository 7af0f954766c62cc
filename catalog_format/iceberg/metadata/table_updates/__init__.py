"""What each table update does to a draft: a parser an action, in one registry.

A parser reads the update's JSON and gives what it does (`TableUpdate`), so that a malformed request is known as such before
anything of it is applied. Source: REST specification, schema `TableUpdate`; Iceberg Java `MetadataUpdateParser` and
`TableMetadata.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog_format.iceberg.metadata import shared_updates
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.table_draft import TableUpdate
from catalog_format.iceberg.metadata.table_updates import (
    encryption_key,
    partition_spec,
    schema,
    snapshot,
    sort_order,
    statistics,
    table,
)

TABLE_UPDATES: Final[dict[str, Callable[[JsonObject], TableUpdate]]] = {
    "assign-uuid": table.parse_assign_uuid,
    "upgrade-format-version": table.parse_upgrade_format_version,
    "set-location": shared_updates.parse_set_location,
    "set-properties": shared_updates.parse_set_properties,
    "remove-properties": shared_updates.parse_remove_properties,
    "add-schema": schema.parse_add_schema,
    "set-current-schema": schema.parse_set_current_schema,
    "remove-schemas": schema.parse_remove_schemas,
    "add-spec": partition_spec.parse_add_spec,
    "set-default-spec": partition_spec.parse_set_default_spec,
    "remove-partition-specs": partition_spec.parse_remove_partition_specs,
    "add-sort-order": sort_order.parse_add_sort_order,
    "set-default-sort-order": sort_order.parse_set_default_sort_order,
    "add-snapshot": snapshot.parse_add_snapshot,
    "remove-snapshots": snapshot.parse_remove_snapshots,
    "set-snapshot-ref": snapshot.parse_set_snapshot_ref,
    "remove-snapshot-ref": snapshot.parse_remove_snapshot_ref,
    "set-statistics": statistics.parse_set_statistics,
    "remove-statistics": statistics.parse_remove_statistics,
    "set-partition-statistics": statistics.parse_set_partition_statistics,
    "remove-partition-statistics": statistics.parse_remove_partition_statistics,
    "add-encryption-key": encryption_key.parse_add_encryption_key,
    "remove-encryption-key": encryption_key.parse_remove_encryption_key,
}
