"""Updates of a table's statistics files, one a snapshot of each kind (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_array,
    get_ints,
    get_long,
    get_object,
    get_string,
    get_string_map,
    without_nulls,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate


def set_statistics(draft: TableDraft, file: JsonObject) -> None:
    draft.statistics = [*_others(draft.statistics, {file["snapshot-id"]}), file]
    draft.has_changes = True


def remove_statistics(draft: TableDraft, snapshot_id: int) -> None:
    kept = _others(draft.statistics, {snapshot_id})
    if len(kept) != len(draft.statistics):
        draft.statistics = kept
        draft.has_changes = True


def set_partition_statistics(draft: TableDraft, file: JsonObject) -> None:
    draft.partition_statistics = [*_others(draft.partition_statistics, {file["snapshot-id"]}), file]
    draft.has_changes = True


def remove_partition_statistics(draft: TableDraft, snapshot_id: int) -> None:
    kept = _others(draft.partition_statistics, {snapshot_id})
    if len(kept) != len(draft.partition_statistics):
        draft.partition_statistics = kept
        draft.has_changes = True


def remove_statistics_of(draft: TableDraft, snapshot_ids: set[int]) -> None:
    """Drop the files of both kinds that describe those snapshots."""
    draft.statistics = _others(draft.statistics, snapshot_ids)
    draft.partition_statistics = _others(draft.partition_statistics, snapshot_ids)


def checked_statistics(raw: object) -> JsonObject:
    """The file, once all that readers rely on is known to be there. Raises `InvalidArgumentError`."""
    file = checked_partition_statistics(raw)
    get_long(file, "file-footer-size-in-bytes")
    return {**file, "blob-metadata": [_checked_blob(item) for item in get_array(file, "blob-metadata")]}


def checked_partition_statistics(raw: object) -> JsonObject:
    """The same of a partition statistics file, which has less to say."""
    file = as_object(raw, "statistics file")
    get_long(file, "snapshot-id")
    get_string(file, "statistics-path")
    get_long(file, "file-size-in-bytes")
    return file


def parse_set_statistics(update: JsonObject) -> TableUpdate:
    file = checked_statistics(get_object(update, "statistics"))
    return lambda draft: set_statistics(draft, file)


def parse_remove_statistics(update: JsonObject) -> TableUpdate:
    snapshot_id = get_long(update, "snapshot-id")
    return lambda draft: remove_statistics(draft, snapshot_id)


def parse_set_partition_statistics(update: JsonObject) -> TableUpdate:
    file = checked_partition_statistics(get_object(update, "partition-statistics"))
    return lambda draft: set_partition_statistics(draft, file)


def parse_remove_partition_statistics(update: JsonObject) -> TableUpdate:
    snapshot_id = get_long(update, "snapshot-id")
    return lambda draft: remove_partition_statistics(draft, snapshot_id)


def _others(files: list[JsonObject], snapshot_ids: set[int]) -> list[JsonObject]:
    return [file for file in files if file["snapshot-id"] not in snapshot_ids]


def _checked_blob(raw: object) -> JsonObject:
    blob = without_nulls(as_object(raw, "blob metadata"))
    get_string(blob, "type")
    get_long(blob, "snapshot-id")
    get_long(blob, "sequence-number")
    get_ints(blob, "fields")
    if "properties" in blob:
        get_string_map(blob, "properties")
    return blob
