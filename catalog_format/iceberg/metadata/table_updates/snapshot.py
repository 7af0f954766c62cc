"""Updates of a table's snapshots and of the references to them (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import ConflictError, InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_long_or_none, get_longs, get_object, get_string
from catalog_format.iceberg.metadata.snapshots import (
    MAIN_BRANCH,
    NO_SNAPSHOT_ID,
    check_retention,
    checked_snapshot,
    parse_ref,
    same_ref,
    sequence_number,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate
from catalog_format.iceberg.metadata.table_fields import MIN_FORMAT_VERSION_ROW_LINEAGE
from catalog_format.iceberg.metadata.table_updates.statistics import remove_statistics_of

_LONG_LIMIT = 1 << 63


def add_snapshot(draft: TableDraft, snapshot: JsonObject) -> None:
    """Add a checked snapshot. Raises `InvalidArgumentError`, and `ConflictError` if the table has passed its numbers."""
    for present, what in ((draft.schemas, "schema"), (draft.specs, "partition spec"), (draft.sort_orders, "sort order")):
        if not present:
            raise InvalidArgumentError(f"Attempting to add a snapshot before a {what} is added")
    snapshot_id, sequence = snapshot["snapshot-id"], sequence_number(snapshot)
    if snapshot_id in draft.snapshots_by_id:
        raise InvalidArgumentError(f"Snapshot already exists for id: {snapshot_id}")
    has_parent = snapshot.get("parent-snapshot-id") is not None
    if draft.format_version > 1 and has_parent and sequence <= draft.last_sequence_number:
        raise ConflictError(
            f"Cannot add snapshot with sequence number {sequence} older than last sequence number {draft.last_sequence_number}"
        )
    if draft.format_version >= MIN_FORMAT_VERSION_ROW_LINEAGE:
        _advance_next_row_id(draft, snapshot)
    draft.last_sequence_number = sequence
    draft.append_snapshot(snapshot)
    draft.added_snapshot_ids.add(snapshot_id)
    draft.has_changes = draft.history_changed = True


def remove_snapshots(draft: TableDraft, snapshot_ids: set[int]) -> None:
    """Remove those that exist, with their statistics and the references to them."""
    removed = snapshot_ids & draft.snapshots_by_id.keys()
    if removed:
        draft.drop_snapshots(removed)
        draft.snapshots_removed = draft.has_changes = draft.history_changed = True
        remove_statistics_of(draft, removed)
    for name in [name for name, ref in draft.refs.items() if ref["snapshot-id"] not in draft.snapshots_by_id]:
        remove_snapshot_ref(draft, name)


def set_snapshot_ref(draft: TableDraft, name: str, ref: JsonObject) -> None:
    """Make a branch or tag lead to a snapshot. Raises `InvalidArgumentError`."""
    check_retention(ref)
    existing = draft.refs.get(name)
    if existing is not None and same_ref(existing, ref):
        return
    snapshot_id = ref["snapshot-id"]
    snapshot = draft.snapshots_by_id.get(snapshot_id)
    if snapshot is None:
        raise InvalidArgumentError(f"Cannot set {name} to unknown snapshot: {snapshot_id}")
    if name == MAIN_BRANCH:
        if ref["type"] != "branch":
            raise InvalidArgumentError(f"Cannot set {MAIN_BRANCH} to a tag, it must be a branch")
        draft.current_snapshot_id = snapshot_id
        if snapshot_id in draft.added_snapshot_ids:
            draft.added_main_snapshot_ids.add(snapshot_id)
            draft.snapshot_log_additions.append((snapshot["timestamp-ms"], snapshot_id))
        else:
            # A rollback to an existing snapshot happens now, not when that snapshot was made.
            draft.snapshot_log_additions.append((None, snapshot_id))
    draft.refs = {**draft.refs, name: ref}
    draft.has_changes = draft.history_changed = True


def remove_snapshot_ref(draft: TableDraft, name: str) -> None:
    if name == MAIN_BRANCH:
        draft.current_snapshot_id = NO_SNAPSHOT_ID
    if name in draft.refs:
        draft.refs = {key: ref for key, ref in draft.refs.items() if key != name}
        draft.has_changes = draft.history_changed = True


def parse_add_snapshot(update: JsonObject) -> TableUpdate:
    snapshot = checked_snapshot(get_object(update, "snapshot"))
    return lambda draft: add_snapshot(draft, snapshot)


def parse_remove_snapshots(update: JsonObject) -> TableUpdate:
    snapshot_ids = set(get_longs(update, "snapshot-ids"))
    return lambda draft: remove_snapshots(draft, snapshot_ids)


def parse_set_snapshot_ref(update: JsonObject) -> TableUpdate:
    name = get_string(update, "ref-name")
    ref = parse_ref({key: value for key, value in update.items() if key not in ("action", "ref-name")})
    return lambda draft: set_snapshot_ref(draft, name, ref)


def parse_remove_snapshot_ref(update: JsonObject) -> TableUpdate:
    name = get_string(update, "ref-name")
    return lambda draft: remove_snapshot_ref(draft, name)


def _advance_next_row_id(draft: TableDraft, snapshot: JsonObject) -> None:
    first_row_id = get_long_or_none(snapshot, "first-row-id")
    if first_row_id is None:
        raise InvalidArgumentError("Cannot add a snapshot: first-row-id is null")
    if first_row_id < draft.next_row_id:
        raise ConflictError(f"Cannot add a snapshot, first-row-id is behind table next-row-id: {first_row_id} < {draft.next_row_id}")
    # Counted from the snapshot's own first row id, so that next-row-id stays above all that are assigned even if a
    # writer left a gap (Java adds to the table's next-row-id, which is the same without one).
    draft.next_row_id = first_row_id + snapshot["added-rows"]
    if draft.next_row_id >= _LONG_LIMIT:
        raise InvalidArgumentError(f"Cannot add a snapshot: row ids end at {_LONG_LIMIT - 1}, and it needs them up to {draft.next_row_id}")
