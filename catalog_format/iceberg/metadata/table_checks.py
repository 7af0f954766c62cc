"""What must hold of a finished table metadata build (Iceberg Java: constructor of `TableMetadata`, `Builder.build`)."""

from __future__ import annotations

from collections.abc import Iterable

from catalog_format.errors import ConflictError, InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, shown
from catalog_format.iceberg.metadata.partition_specs import parse_partition_spec, spec_id_of
from catalog_format.iceberg.metadata.snapshots import INITIAL_SEQUENCE_NUMBER, MAIN_BRANCH, NO_SNAPSHOT_ID
from catalog_format.iceberg.metadata.sort_orders import parse_sort_order
from catalog_format.iceberg.metadata.table_draft import SUPPORTED_FORMAT_VERSION, TableDraft

# Commits come from machines whose clocks differ a little.
_CLOCK_TOLERANCE_MS = 60_000


def check_table(draft: TableDraft) -> None:
    """Raise `InvalidArgumentError` for an unsupported format version, or a missing uuid or location; strips the location."""
    version = draft.format_version
    if not 1 <= version <= SUPPORTED_FORMAT_VERSION:
        raise InvalidArgumentError(f"Unsupported format version: v{version} (supported: v{SUPPORTED_FORMAT_VERSION})")
    if version > 1 and draft.uuid is None:
        raise InvalidArgumentError(f"UUID is required in format v{version}")
    if draft.location is None:
        raise InvalidArgumentError(f"Table location is required in format v{version}")
    draft.location = strip_trailing_slash(draft.location)
    if version == 1 and draft.last_sequence_number != INITIAL_SEQUENCE_NUMBER:
        raise InvalidArgumentError(f"Sequence number must be 0 in v1: {draft.last_sequence_number}")


def strip_trailing_slash(location: str) -> str:
    """The location without slashes at its end. Raises `InvalidArgumentError` if nothing is left."""
    while location.endswith("/") and not location.endswith("://"):
        location = location[:-1]
    if not location:
        raise InvalidArgumentError("path must not be null or empty")
    return location


def check_layout(draft: TableDraft) -> None:
    """Raise `InvalidArgumentError` unless current schema, default spec and default sort order exist and fit together."""
    if not draft.specs:
        raise InvalidArgumentError("Partition specs cannot be null or empty")
    if not draft.sort_orders:
        raise InvalidArgumentError("Sort orders cannot be null or empty")
    schema = draft.current_schema()
    parse_partition_spec(default_spec(draft)).check_compatible(schema)
    order = next((order for order in draft.sort_orders if get_int(order, "order-id") == draft.default_sort_order_id), None)
    if order is None:
        raise InvalidArgumentError(f"Cannot find default sort order: {draft.default_sort_order_id}")
    parse_sort_order(order).check_compatible(schema)


def default_spec(draft: TableDraft) -> JsonObject:
    """The default spec. Raises `InvalidArgumentError` if it does not exist."""
    for spec in draft.specs:
        if spec_id_of(spec) == draft.default_spec_id:
            return spec
    raise InvalidArgumentError(f"Cannot find default partition spec: {draft.default_spec_id}")


def check_snapshots_and_refs(draft: TableDraft) -> None:
    """Check sequence numbers, and that references lead to snapshots and main to the current one.

    Raises `InvalidArgumentError`, and `ConflictError` where a snapshot that was added is older than the table.
    """
    if draft.added_snapshot_ids:
        numbers = (snapshot.get("sequence-number") or INITIAL_SEQUENCE_NUMBER for snapshot in draft.snapshots)
        newest = max(numbers, default=INITIAL_SEQUENCE_NUMBER)
        if newest > draft.last_sequence_number:
            # From v2 on the client retries with newer numbers; v1 has none to give.
            error = ConflictError if draft.format_version > 1 else InvalidArgumentError
            raise error(f"Invalid snapshot with sequence number {newest} greater than last sequence number {draft.last_sequence_number}")
    for name, ref in draft.refs.items():
        if ref["snapshot-id"] not in draft.snapshots_by_id:
            raise InvalidArgumentError(f"Snapshot for reference {name} does not exist in the existing snapshots list: {shown(ref)}")
    main = draft.refs.get(MAIN_BRANCH)
    if draft.current_snapshot_id == NO_SNAPSHOT_ID:
        if main is not None:
            raise InvalidArgumentError(f"Current snapshot is not set, but main branch exists: {shown(main)}")
        return
    if main is not None and main["snapshot-id"] != draft.current_snapshot_id:
        raise InvalidArgumentError(f"Current snapshot ID does not match main branch ({draft.current_snapshot_id} != {main['snapshot-id']})")
    if draft.current_snapshot_id not in draft.snapshots_by_id:
        raise InvalidArgumentError("Invalid table metadata: Cannot find current version")


def check_logs(snapshot_log: list[JsonObject], metadata_log: list[JsonObject], now_ms: int) -> None:
    """Raise `InvalidArgumentError` where time in a log, or from its end to now, runs back by more than a minute."""
    if _runs_back(entry["timestamp-ms"] for entry in snapshot_log):
        raise InvalidArgumentError("Expected sorted snapshot log entries")
    if snapshot_log and _runs_back((snapshot_log[-1]["timestamp-ms"], now_ms)):
        raise InvalidArgumentError(
            f"Invalid update timestamp {now_ms}: before last snapshot log entry at {snapshot_log[-1]['timestamp-ms']}"
        )
    if _runs_back(entry["timestamp-ms"] for entry in metadata_log):
        raise InvalidArgumentError("Expected sorted previous metadata log entries")
    if metadata_log and _runs_back((metadata_log[-1]["timestamp-ms"], now_ms)):
        raise InvalidArgumentError(
            f"Invalid update timestamp {now_ms}: before the latest metadata log entry timestamp {metadata_log[-1]['timestamp-ms']}"
        )


def _runs_back(timestamps: Iterable[int]) -> bool:
    previous: int | None = None
    for timestamp in timestamps:
        if previous is not None and timestamp - previous < -_CLOCK_TOLERANCE_MS:
            return True
        previous = timestamp
    return False
