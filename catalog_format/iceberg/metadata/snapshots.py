"""Snapshots and snapshot references: reading and checking their JSON (Iceberg Java `SnapshotParser`, `BaseSnapshot`, `SnapshotRef`)."""

from __future__ import annotations

from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_int_or_none,
    get_long,
    get_long_or_none,
    get_string,
    get_string_map,
    get_string_or_none,
    get_strings,
    without_nulls,
)

MAIN_BRANCH: Final = "main"
NO_SNAPSHOT_ID: Final = -1
INITIAL_SEQUENCE_NUMBER: Final = 0

_LATER_MEMBERS = frozenset({"first-row-id", "added-rows", "key-id"})
_REF_MEMBERS = ("snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms")


def sequence_number(snapshot: JsonObject) -> int:
    """A snapshot's sequence number: 0 where there is none, as in format v1. Raises `InvalidArgumentError`."""
    number = get_long_or_none(snapshot, "sequence-number")
    return INITIAL_SEQUENCE_NUMBER if number is None else number


def checked_snapshot(raw: object) -> JsonObject:
    """The snapshot, once all that readers rely on is known to be there; null members are left out.

    Raises `InvalidArgumentError`.
    """
    snapshot = without_nulls(as_object(raw, "snapshot"))
    for required in ("snapshot-id", "timestamp-ms"):
        get_long(snapshot, required)
    for optional in ("sequence-number", "parent-snapshot-id"):
        get_long_or_none(snapshot, optional)
    get_int_or_none(snapshot, "schema-id")
    get_string_or_none(snapshot, "key-id")
    if "summary" in snapshot:
        get_string_map(snapshot, "summary")
    if "manifest-list" in snapshot:
        get_string(snapshot, "manifest-list")
    else:
        # The oldest writers of format v1 listed the manifests themselves, and knew nothing of what came later.
        get_strings(snapshot, "manifests")
        snapshot = {key: value for key, value in snapshot.items() if key not in _LATER_MEMBERS}
    first_row_id, added_rows = get_long_or_none(snapshot, "first-row-id"), get_long_or_none(snapshot, "added-rows")
    if first_row_id is not None and first_row_id < 0:
        raise InvalidArgumentError(f"Invalid first-row-id (cannot be negative): {first_row_id}")
    if added_rows is not None and added_rows < 0:
        raise InvalidArgumentError(f"Invalid added-rows (cannot be negative): {added_rows}")
    if first_row_id is not None and added_rows is None:
        raise InvalidArgumentError("Invalid added-rows (required when first-row-id is set): null")
    return snapshot


def parse_ref(raw: JsonObject) -> JsonObject:
    """A snapshot reference, without null members and with its type in lower case. Raises `InvalidArgumentError`."""
    ref = without_nulls(raw)
    get_long(ref, "snapshot-id")
    kind = get_string(ref, "type")
    if kind.lower() not in ("branch", "tag"):
        raise InvalidArgumentError(f"Invalid snapshot ref type: {kind}")
    get_int_or_none(ref, "min-snapshots-to-keep")
    get_long_or_none(ref, "max-snapshot-age-ms")
    get_long_or_none(ref, "max-ref-age-ms")
    return {**ref, "type": kind.lower()}


def check_retention(ref: JsonObject) -> None:
    """Raise `InvalidArgumentError` for retention that is not positive, or that tags do not have."""
    is_tag = ref["type"] == "tag"
    keep, snapshot_age, ref_age = ref.get("min-snapshots-to-keep"), ref.get("max-snapshot-age-ms"), ref.get("max-ref-age-ms")
    if is_tag and keep is not None:
        raise InvalidArgumentError("Tags do not support setting minSnapshotsToKeep")
    if keep is not None and keep <= 0:
        raise InvalidArgumentError("Min snapshots to keep must be greater than 0")
    if is_tag and snapshot_age is not None:
        raise InvalidArgumentError("Tags do not support setting maxSnapshotAgeMs")
    if snapshot_age is not None and snapshot_age <= 0:
        raise InvalidArgumentError("Max snapshot age must be greater than 0 ms")
    if ref_age is not None and ref_age <= 0:
        raise InvalidArgumentError("Max reference age must be greater than 0")


def same_ref(one: JsonObject, other: JsonObject) -> bool:
    """Equal in snapshot, type and retention (Java `SnapshotRef.equals`)."""
    return all(one.get(member) == other.get(member) for member in _REF_MEMBERS)
