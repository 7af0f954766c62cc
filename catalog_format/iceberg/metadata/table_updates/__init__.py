"""What each table update does to a draft: one function an action, in one registry.

Source: REST specification, schema `TableUpdate`; Iceberg Java `MetadataUpdateParser` and `TableMetadata.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.table_draft import TableDraft
from catalog_format.iceberg.metadata.table_updates import (
    encryption_key,
    partition_spec,
    schema,
    snapshot,
    sort_order,
    statistics,
    table,
)

TABLE_UPDATES: Final[dict[str, Callable[[TableDraft, JsonObject], None]]] = {
    "assign-uuid": table.apply_assign_uuid,
    "upgrade-format-version": table.apply_upgrade_format_version,
    "enable-row-lineage": table.apply_enable_row_lineage,
    "set-location": table.apply_set_location,
    "set-properties": table.apply_set_properties,
    "remove-properties": table.apply_remove_properties,
    "add-schema": schema.apply_add_schema,
    "set-current-schema": schema.apply_set_current_schema,
    "remove-schemas": schema.apply_remove_schemas,
    "add-spec": partition_spec.apply_add_spec,
    "set-default-spec": partition_spec.apply_set_default_spec,
    "remove-partition-specs": partition_spec.apply_remove_partition_specs,
    "add-sort-order": sort_order.apply_add_sort_order,
    "set-default-sort-order": sort_order.apply_set_default_sort_order,
    "add-snapshot": snapshot.apply_add_snapshot,
    "remove-snapshots": snapshot.apply_remove_snapshots,
    "set-snapshot-ref": snapshot.apply_set_snapshot_ref,
    "remove-snapshot-ref": snapshot.apply_remove_snapshot_ref,
    "set-statistics": statistics.apply_set_statistics,
    "remove-statistics": statistics.apply_remove_statistics,
    "set-partition-statistics": statistics.apply_set_partition_statistics,
    "remove-partition-statistics": statistics.apply_remove_partition_statistics,
    "add-encryption-key": encryption_key.apply_add_encryption_key,
    "remove-encryption-key": encryption_key.apply_remove_encryption_key,
}
