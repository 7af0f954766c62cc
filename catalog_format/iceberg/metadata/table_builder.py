"""Builds new table metadata from old metadata and a list of updates (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import table_fields
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_long
from catalog_format.iceberg.metadata.properties import PREVIOUS_VERSIONS_MAX, PREVIOUS_VERSIONS_MAX_DEFAULT, property_as_int
from catalog_format.iceberg.metadata.snapshots import NO_SNAPSHOT_ID
from catalog_format.iceberg.metadata.table_checks import (
    check_layout,
    check_logs,
    check_snapshots_and_refs,
    check_table,
    default_spec,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate
from catalog_format.iceberg.metadata.update_parser import parse_table_updates
from catalog_format.ids import Ids

DEFAULT_FORMAT_VERSION = 2
_MIN_NULL_CURRENT_SNAPSHOT_VERSION = 3
# Written in some states only: an old value must not survive into a state that has none.
_CONDITIONAL_MEMBERS: Final = frozenset({"schema", "partition-spec", "last-sequence-number", "next-row-id", "encryption-keys"})


class TableMetadataBuilder:
    """One build: updates are applied in order, then `build` gives the new metadata.

    The base is never changed; what the updates leave alone is shared with the result, not copied. A builder whose
    `apply` has raised is of no further use. Members that this code does not know are kept.
    """

    def __init__(self, base: JsonObject | None, *, ids: Ids | None = None, format_version: int = DEFAULT_FORMAT_VERSION) -> None:
        """Start from the base, or from nothing (`ids` then gives the uuid, and `format_version` counts).

        Raises `InvalidArgumentError` if the base is no table metadata.
        """
        if base is not None:
            self.draft = TableDraft.from_base(base)
        elif ids is not None:
            self.draft = TableDraft.empty(format_version, ids.uuid())
        else:
            raise ValueError("ids are needed to build from nothing")

    @property
    def has_changes(self) -> bool:
        """Whether any update changed something; if not, there is nothing to commit."""
        return self.draft.has_changes

    def apply(self, update: JsonObject) -> TableMetadataBuilder:
        """Parse and apply one update of the REST specification's `TableUpdate`; raises as `apply_all` does."""
        return self.apply_all([update])

    def apply_all(self, updates: Iterable[JsonObject]) -> TableMetadataBuilder:
        """Parse updates, then apply them in order.

        Raises `InvalidArgumentError` if one is malformed or unknown, and as `carry_out` does.
        """
        return self.carry_out(parse_table_updates(updates))

    def carry_out(self, updates: Iterable[TableUpdate]) -> TableMetadataBuilder:
        """Apply parsed updates in order.

        Raises `InvalidArgumentError` if one does not fit the table, and `ConflictError` if it carries a sequence number
        or a first row id that the table has passed: refresh and try again.
        """
        for update in updates:
            update(self.draft)
        return self

    def build(self, now_ms: int, previous_metadata_location: str | None = None) -> JsonObject:
        """The new metadata; the base itself if nothing changed.

        `now_ms` becomes `last-updated-ms`. `previous_metadata_location` is the file that holds the base, for the
        metadata log; None leaves the log as it is (a base that was never written, such as one of a group of commits).

        Raises `InvalidArgumentError` if the updates together make invalid metadata.
        """
        draft = self.draft
        if not draft.has_changes:
            if draft.base is None:
                raise InvalidArgumentError("Cannot create a table without updates")
            return draft.base
        check_table(draft)
        if draft.base is None or draft.layout_changed:
            check_layout(draft)
        if draft.history_changed:
            check_snapshots_and_refs(draft)
        snapshot_log = _snapshot_log(draft, now_ms)
        metadata_log = _metadata_log(draft, previous_metadata_location)
        check_logs(snapshot_log, metadata_log, now_ms)
        return _to_json(draft, now_ms, snapshot_log, metadata_log)


def _snapshot_log(draft: TableDraft, now_ms: int) -> list[JsonObject]:
    """The log of current snapshots, without those that were current only inside this build.

    Once a removed snapshot shows up, the history before it goes too: with a gap, time travel would take the snapshot
    before the gap for the one that was current during it.
    """
    log: list[JsonObject] = [] if draft.base is None else table_fields.list_of(draft.base, "snapshot-log")
    if draft.snapshot_log_additions:
        log = log + [
            {"timestamp-ms": now_ms if timestamp is None else timestamp, "snapshot-id": snapshot_id}
            for timestamp, snapshot_id in draft.snapshot_log_additions
        ]
    intermediate = draft.added_main_snapshot_ids - {draft.current_snapshot_id}
    if not intermediate and not draft.snapshots_removed:
        return log
    kept: list[JsonObject] = []
    for entry in log:
        if entry["snapshot-id"] in draft.snapshots_by_id:
            if entry["snapshot-id"] not in intermediate:
                kept.append(entry)
        elif draft.snapshots_removed:
            kept.clear()
    if draft.current_snapshot_id in draft.snapshots_by_id and kept and kept[-1]["snapshot-id"] != draft.current_snapshot_id:
        raise InvalidArgumentError("Cannot set invalid snapshot log: latest entry is not the current snapshot")
    return kept


def _metadata_log(draft: TableDraft, previous_location: str | None) -> list[JsonObject]:
    if draft.base is None:
        return []
    log: list[JsonObject] = table_fields.list_of(draft.base, "metadata-log")
    if previous_location is None:
        return log
    size = max(1, property_as_int(draft.properties, PREVIOUS_VERSIONS_MAX, PREVIOUS_VERSIONS_MAX_DEFAULT))
    entry = {"timestamp-ms": get_long(draft.base, "last-updated-ms"), "metadata-file": previous_location}
    return [*log[max(0, len(log) - size + 1) :], entry]


def _to_json(draft: TableDraft, now_ms: int, snapshot_log: list[JsonObject], metadata_log: list[JsonObject]) -> JsonObject:
    """The members in the order in which Java writes them, then those of the base that this code does not know."""
    version = draft.format_version
    members: dict[str, Any] = {"format-version": version}
    if draft.uuid is not None:
        members["table-uuid"] = draft.uuid
    members["location"] = draft.location
    if version > 1:
        members["last-sequence-number"] = draft.last_sequence_number
    members["last-updated-ms"] = now_ms
    members["last-column-id"] = draft.last_column_id
    if version == 1:
        # Readers that know nothing of lists of schemas and specs look here.
        members["schema"] = draft.current_schema().raw
    members["current-schema-id"] = draft.current_schema_id
    members["schemas"] = draft.schemas
    if version == 1:
        members["partition-spec"] = default_spec(draft)["fields"]
    members["default-spec-id"] = draft.default_spec_id
    members["partition-specs"] = draft.specs
    members["last-partition-id"] = draft.last_partition_id
    members["default-sort-order-id"] = draft.default_sort_order_id
    members["sort-orders"] = draft.sort_orders
    members["properties"] = draft.properties
    has_current = draft.current_snapshot_id != NO_SNAPSHOT_ID
    absent = None if version >= _MIN_NULL_CURRENT_SNAPSHOT_VERSION else NO_SNAPSHOT_ID
    members["current-snapshot-id"] = draft.current_snapshot_id if has_current else absent
    if version >= table_fields.MIN_FORMAT_VERSION_ROW_LINEAGE:
        members["next-row-id"] = draft.next_row_id
    if draft.encryption_keys:
        members["encryption-keys"] = draft.encryption_keys
    members["refs"] = draft.refs
    members["snapshots"] = draft.snapshots
    members["statistics"] = draft.statistics
    members["partition-statistics"] = draft.partition_statistics
    members["snapshot-log"] = snapshot_log
    members["metadata-log"] = metadata_log
    unknown = {key: value for key, value in (draft.base or {}).items() if key not in members and key not in _CONDITIONAL_MEMBERS}
    return members | unknown
