"""What must hold of table metadata that others wrote (Iceberg Java `TableMetadataParser`, constructor of `TableMetadata`).

A table that Java cannot read is refused when it is registered, not found out by those who load it.
"""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, as_object, check_distinct, get_int, get_long, get_string
from catalog_format.iceberg.metadata.partition_specs import parse_partition_spec, spec_id_of
from catalog_format.iceberg.metadata.schemas import Schema
from catalog_format.iceberg.metadata.snapshots import check_retention, checked_snapshot, parse_ref, sequence_number
from catalog_format.iceberg.metadata.sort_orders import parse_sort_order
from catalog_format.iceberg.metadata.table_checks import check_layout, check_logs, check_snapshots_and_refs, check_table, default_spec
from catalog_format.iceberg.metadata.table_draft import TableDraft
from catalog_format.iceberg.metadata.table_fields import list_of
from catalog_format.iceberg.metadata.table_updates.encryption_key import checked_key
from catalog_format.iceberg.metadata.table_updates.statistics import checked_partition_statistics, checked_statistics


def check_table_metadata(metadata: JsonObject) -> None:
    """Raise `InvalidArgumentError` for anything but the whole metadata of a table."""
    draft = TableDraft.from_base(metadata)
    if draft.format_version > 1:
        get_int(metadata, "last-partition-id")
    check_table(draft)
    _check_layout(draft)
    _check_history(draft)
    snapshot_log = [_log_entry(item, "snapshot log entry") for item in list_of(metadata, "snapshot-log")]
    for entry in snapshot_log:
        get_long(entry, "snapshot-id")
    metadata_log = [_log_entry(item, "metadata log entry") for item in list_of(metadata, "metadata-log")]
    for entry in metadata_log:
        get_string(entry, "metadata-file")
    check_logs(snapshot_log, metadata_log, get_long(metadata, "last-updated-ms"))
    for file in draft.statistics:
        checked_statistics(file)
    for file in draft.partition_statistics:
        checked_partition_statistics(file)
    check_distinct("encryption key", (checked_key(key)["key-id"] for key in draft.encryption_keys))


def _check_layout(draft: TableDraft) -> None:
    check_distinct("schema", (Schema(schema).schema_id for schema in draft.schemas))
    for spec in draft.specs:
        parse_partition_spec(spec)
    check_distinct("partition spec", map(spec_id_of, draft.specs))
    for order in draft.sort_orders:
        parse_sort_order(order)
    check_distinct("sort order", (get_int(order, "order-id") for order in draft.sort_orders))
    check_layout(draft)
    parse_partition_spec(default_spec(draft)).check_names(draft.current_schema())


def _check_history(draft: TableDraft) -> None:
    snapshots = [checked_snapshot(snapshot) for snapshot in draft.snapshots]
    check_distinct("snapshot", (snapshot["snapshot-id"] for snapshot in snapshots))
    newest = max((sequence_number(snapshot) for snapshot in snapshots), default=0)
    if newest > draft.last_sequence_number:
        raise InvalidArgumentError(
            f"Invalid snapshot with sequence number {newest} greater than last sequence number {draft.last_sequence_number}"
        )
    for name, ref in draft.refs.items():
        check_retention(parse_ref(as_object(ref, f"ref {name}")))
    check_snapshots_and_refs(draft)


def _log_entry(raw: object, what: str) -> JsonObject:
    entry = as_object(raw, what)
    get_long(entry, "timestamp-ms")
    return entry
