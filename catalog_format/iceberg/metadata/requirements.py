"""Requirements of a commit: what the client says must hold of the table or view it changes.

Source: REST specification, schemas `TableRequirement` and `ViewRequirement`; Iceberg Java `UpdateRequirement` (whose
messages these are, since clients' tests know them) and `UpdateRequirementParser`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog_format.errors import InvalidArgumentError, RequirementFailedError
from catalog_format.iceberg.metadata import table_fields
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_int,
    get_long_or_none,
    get_string,
    get_string_or_none,
)


def requirement_type(requirement: object) -> str:
    """The type of a requirement. Raises `InvalidArgumentError` if it has none."""
    node = as_object(requirement, "update requirement")
    if node.get("type") is None:
        raise InvalidArgumentError("Cannot parse update requirement. Missing field: type")
    return get_string(node, "type").lower()


def check_table_requirement(requirement: JsonObject, base: JsonObject | None) -> None:
    """Check one requirement against a table's metadata, None where there is no table.

    Raises `RequirementFailedError` if it does not hold, `InvalidArgumentError` if it is malformed or unknown.
    """
    kind = requirement_type(requirement)
    check = _TABLE_CHECKS.get(kind)
    if check is None:
        reason = "Cannot validate requirement against a table" if kind in _VIEW_CHECKS else "Unknown update requirement"
        raise InvalidArgumentError(f"{reason}: {kind}")
    check(requirement, base)


def check_view_requirement(requirement: JsonObject, base: JsonObject) -> None:
    """Check one requirement against a view's metadata.

    Raises `RequirementFailedError` if it does not hold, `InvalidArgumentError` if it is malformed or unknown.
    """
    kind = requirement_type(requirement)
    check = _VIEW_CHECKS.get(kind)
    if check is None:
        reason = "Cannot validate requirement against a view" if kind in _TABLE_CHECKS else "Unknown update requirement"
        raise InvalidArgumentError(f"{reason}: {kind}")
    check(requirement, base)


def _existing(base: JsonObject | None) -> JsonObject:
    if base is None:
        raise RequirementFailedError("Requirement failed: table does not exist")
    return base


def _assert_create(requirement: JsonObject, base: JsonObject | None) -> None:
    if base is not None:
        raise RequirementFailedError("Requirement failed: table already exists")


def _assert_table_uuid(requirement: JsonObject, base: JsonObject | None) -> None:
    uuid, actual = get_string(requirement, "uuid"), get_string_or_none(_existing(base), "table-uuid")
    if actual is None or uuid.lower() != actual.lower():
        raise RequirementFailedError(f"Requirement failed: UUID does not match: expected {actual} != {uuid}")


def _assert_ref_snapshot_id(requirement: JsonObject, base: JsonObject | None) -> None:
    name, expected = get_string(requirement, "ref"), get_long_or_none(requirement, "snapshot-id")
    ref = table_fields.refs_of(_existing(base)).get(name)
    if ref is None:
        if expected is not None:
            raise RequirementFailedError(f"Requirement failed: branch or tag {name} is missing, expected {expected}")
        return
    kind = get_string(ref, "type").lower()
    if expected is None:
        raise RequirementFailedError(f"Requirement failed: {kind} {name} was created concurrently")
    if expected != ref["snapshot-id"]:
        raise RequirementFailedError(f"Requirement failed: {kind} {name} has changed: expected id {expected} != {ref['snapshot-id']}")


def _assert_last_assigned_field_id(requirement: JsonObject, base: JsonObject | None) -> None:
    expected = get_int(requirement, "last-assigned-field-id")
    if base is not None and (actual := get_int(base, "last-column-id")) != expected:
        raise RequirementFailedError(f"Requirement failed: last assigned field id changed: expected id {expected} != {actual}")


def _assert_last_assigned_partition_id(requirement: JsonObject, base: JsonObject | None) -> None:
    expected = get_int(requirement, "last-assigned-partition-id")
    if base is not None and (actual := table_fields.last_partition_id_of(base)) != expected:
        raise RequirementFailedError(f"Requirement failed: last assigned partition id changed: expected id {expected} != {actual}")


def _assert_current_schema_id(requirement: JsonObject, base: JsonObject | None) -> None:
    expected, actual = get_int(requirement, "current-schema-id"), table_fields.current_schema_id_of(_existing(base))
    if expected != actual:
        raise RequirementFailedError(f"Requirement failed: current schema changed: expected id {expected} != {actual}")


def _assert_default_spec_id(requirement: JsonObject, base: JsonObject | None) -> None:
    expected, actual = get_int(requirement, "default-spec-id"), table_fields.default_spec_id_of(_existing(base))
    if expected != actual:
        raise RequirementFailedError(f"Requirement failed: default partition spec changed: expected id {expected} != {actual}")


def _assert_default_sort_order_id(requirement: JsonObject, base: JsonObject | None) -> None:
    expected, actual = get_int(requirement, "default-sort-order-id"), table_fields.default_sort_order_id_of(_existing(base))
    if expected != actual:
        raise RequirementFailedError(f"Requirement failed: default sort order changed: expected id {expected} != {actual}")


def _assert_view_uuid(requirement: JsonObject, base: JsonObject) -> None:
    uuid, actual = get_string(requirement, "uuid"), get_string(base, "view-uuid")
    if uuid.lower() != actual.lower():
        raise RequirementFailedError(f"Requirement failed: view UUID does not match: expected {actual} != {uuid}")


_TABLE_CHECKS: Final[dict[str, Callable[[JsonObject, JsonObject | None], None]]] = {
    "assert-create": _assert_create,
    "assert-table-uuid": _assert_table_uuid,
    "assert-ref-snapshot-id": _assert_ref_snapshot_id,
    "assert-last-assigned-field-id": _assert_last_assigned_field_id,
    "assert-last-assigned-partition-id": _assert_last_assigned_partition_id,
    "assert-current-schema-id": _assert_current_schema_id,
    "assert-default-spec-id": _assert_default_spec_id,
    "assert-default-sort-order-id": _assert_default_sort_order_id,
}
_VIEW_CHECKS: Final[dict[str, Callable[[JsonObject, JsonObject], None]]] = {"assert-view-uuid": _assert_view_uuid}
