"""Updates of a table's statistics files, one a snapshot of each kind (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_array,
    get_integers,
    get_long,
    get_object,
    get_string,
    get_string_map,
    without_nulls,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft


def apply_set_statistics(draft: TableDraft, update: JsonObject) -> None:
    file = get_object(update, "statistics")
    _check_file(file)
    get_long(file, "file-footer-size-in-bytes")
    file = {**file, "blob-metadata": [_checked_blob(item) for item in get_array(file, "blob-metadata")]}
    draft.statistics = [*_others(draft.statistics, {file["snapshot-id"]}), file]
    draft.has_changes = True


def apply_remove_statistics(draft: TableDraft, update: JsonObject) -> None:
    kept = _others(draft.statistics, {get_long(update, "snapshot-id")})
    if len(kept) != len(draft.statistics):
        draft.statistics = kept
        draft.has_changes = True


def apply_set_partition_statistics(draft: TableDraft, update: JsonObject) -> None:
    file = get_object(update, "partition-statistics")
    _check_file(file)
    draft.partition_statistics = [*_others(draft.partition_statistics, {file["snapshot-id"]}), file]
    draft.has_changes = True


def apply_remove_partition_statistics(draft: TableDraft, update: JsonObject) -> None:
    kept = _others(draft.partition_statistics, {get_long(update, "snapshot-id")})
    if len(kept) != len(draft.partition_statistics):
        draft.partition_statistics = kept
        draft.has_changes = True


def remove_statistics_of(draft: TableDraft, snapshot_ids: set[int]) -> None:
    """Drop the files of both kinds that describe those snapshots."""
    draft.statistics = _others(draft.statistics, snapshot_ids)
    draft.partition_statistics = _others(draft.partition_statistics, snapshot_ids)


def _others(files: list[JsonObject], snapshot_ids: set[int]) -> list[JsonObject]:
    return [file for file in files if file["snapshot-id"] not in snapshot_ids]


def _checked_blob(raw: object) -> JsonObject:
    blob = without_nulls(as_object(raw, "blob metadata"))
    get_string(blob, "type")
    get_long(blob, "snapshot-id")
    get_long(blob, "sequence-number")
    get_integers(blob, "fields")
    if "properties" in blob:
        get_string_map(blob, "properties")
    return blob


def _check_file(file: JsonObject) -> None:
    get_long(file, "snapshot-id")
    get_string(file, "statistics-path")
    get_long(file, "file-size-in-bytes")
