"""Requirements of a commit: what the client says must hold of the table or view it changes.

A parser reads a requirement's JSON and gives the check that it is, so that a malformed request is known as such before
anything of it is checked. Source: REST specification, schemas `TableRequirement` and `ViewRequirement`; Iceberg Java
`UpdateRequirement` (whose messages these are, since clients' tests know them) and `UpdateRequirementParser`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NoReturn

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

TableRequirement = Callable[[JsonObject | None], object]
"""A check of a table's metadata, None where there is no table. Raises `RequirementFailedError` if it does not hold."""
ViewRequirement = Callable[[JsonObject], object]
"""A check of a view's metadata. Raises `RequirementFailedError` if it does not hold."""


def requirement_type(requirement: object) -> str:
    """The type of a requirement. Raises `InvalidArgumentError` if it has none."""
    node = as_object(requirement, "update requirement")
    if node.get("type") is None:
        raise InvalidArgumentError("Cannot parse update requirement. Missing field: type")
    return get_string(node, "type").lower()


def parse_table_requirements(requirements: Iterable[JsonObject]) -> list[TableRequirement]:
    """The checks of a table that these are. Raises `InvalidArgumentError` if one is malformed or unknown."""
    return [_table_requirement(requirement) for requirement in requirements]


def parse_view_requirements(requirements: Iterable[JsonObject]) -> list[ViewRequirement]:
    """The checks of a view that these are. Raises `InvalidArgumentError` if one is malformed or unknown."""
    return [_view_requirement(requirement) for requirement in requirements]


def _table_requirement(requirement: JsonObject) -> TableRequirement:
    kind = requirement_type(requirement)
    if (parse := TABLE_REQUIREMENTS.get(kind)) is not None:
        return parse(requirement)
    _check_known(kind, requirement)

    def refuse(base: JsonObject | None) -> NoReturn:
        raise InvalidArgumentError(f"Cannot validate requirement against a table: {kind}")

    return refuse


def _view_requirement(requirement: JsonObject) -> ViewRequirement:
    kind = requirement_type(requirement)
    if (parse := VIEW_REQUIREMENTS.get(kind)) is not None:
        return parse(requirement)
    _check_known(kind, requirement)

    def refuse(base: JsonObject) -> NoReturn:
        raise InvalidArgumentError(f"Cannot validate requirement against a view: {kind}")

    return refuse


def _check_known(kind: str, requirement: JsonObject) -> None:
    """Raise `InvalidArgumentError` unless some kind of object has such requirements, and this is a well-formed one."""
    for registry in (TABLE_REQUIREMENTS, VIEW_REQUIREMENTS):
        if (parse := registry.get(kind)) is not None:
            parse(requirement)
            return
    raise InvalidArgumentError(f"Unknown update requirement: {kind}")


def _existing(base: JsonObject | None) -> JsonObject:
    if base is None:
        raise RequirementFailedError("Requirement failed: table does not exist")
    return base


def _parse_create(requirement: JsonObject) -> TableRequirement:
    def check(base: JsonObject | None) -> None:
        if base is not None:
            raise RequirementFailedError("Requirement failed: table already exists")

    return check


def _parse_table_uuid(requirement: JsonObject) -> TableRequirement:
    uuid = get_string(requirement, "uuid")

    def check(base: JsonObject | None) -> None:
        actual = get_string_or_none(_existing(base), "table-uuid")
        if actual is None or uuid.lower() != actual.lower():
            raise RequirementFailedError(f"Requirement failed: UUID does not match: expected {actual} != {uuid}")

    return check


def _parse_ref_snapshot_id(requirement: JsonObject) -> TableRequirement:
    name, expected = get_string(requirement, "ref"), get_long_or_none(requirement, "snapshot-id")

    def check(base: JsonObject | None) -> None:
        ref = table_fields.refs_of(_existing(base)).get(name)
        if ref is None:
            if expected is not None:
                raise RequirementFailedError(f"Requirement failed: branch or tag {name} is missing, expected {expected}")
            return
        kind, actual = get_string(ref, "type").lower(), ref["snapshot-id"]
        if expected is None:
            raise RequirementFailedError(f"Requirement failed: {kind} {name} was created concurrently")
        if expected != actual:
            raise RequirementFailedError(f"Requirement failed: {kind} {name} has changed: expected id {expected} != {actual}")

    return check


def _parse_last_assigned_field_id(requirement: JsonObject) -> TableRequirement:
    expected = get_int(requirement, "last-assigned-field-id")

    def check(base: JsonObject | None) -> None:
        if base is not None and (actual := get_int(base, "last-column-id")) != expected:
            raise RequirementFailedError(f"Requirement failed: last assigned field id changed: expected id {expected} != {actual}")

    return check


def _parse_last_assigned_partition_id(requirement: JsonObject) -> TableRequirement:
    expected = get_int(requirement, "last-assigned-partition-id")

    def check(base: JsonObject | None) -> None:
        if base is not None and (actual := table_fields.last_partition_id_of(base)) != expected:
            raise RequirementFailedError(f"Requirement failed: last assigned partition id changed: expected id {expected} != {actual}")

    return check


def _same_id(member: str, what: str, read: Callable[[JsonObject], int]) -> Callable[[JsonObject], TableRequirement]:
    """Parser of a requirement that one id of the table is the one in `member`."""

    def parse(requirement: JsonObject) -> TableRequirement:
        expected = get_int(requirement, member)

        def check(base: JsonObject | None) -> None:
            actual = read(_existing(base))
            if expected != actual:
                raise RequirementFailedError(f"Requirement failed: {what} changed: expected id {expected} != {actual}")

        return check

    return parse


def _parse_view_uuid(requirement: JsonObject) -> ViewRequirement:
    uuid = get_string(requirement, "uuid")

    def check(base: JsonObject) -> None:
        actual = get_string(base, "view-uuid")
        if uuid.lower() != actual.lower():
            raise RequirementFailedError(f"Requirement failed: view UUID does not match: expected {actual} != {uuid}")

    return check


TABLE_REQUIREMENTS: Final[dict[str, Callable[[JsonObject], TableRequirement]]] = {
    "assert-create": _parse_create,
    "assert-table-uuid": _parse_table_uuid,
    "assert-ref-snapshot-id": _parse_ref_snapshot_id,
    "assert-last-assigned-field-id": _parse_last_assigned_field_id,
    "assert-last-assigned-partition-id": _parse_last_assigned_partition_id,
    "assert-current-schema-id": _same_id("current-schema-id", "current schema", table_fields.current_schema_id_of),
    "assert-default-spec-id": _same_id("default-spec-id", "default partition spec", table_fields.default_spec_id_of),
    "assert-default-sort-order-id": _same_id("default-sort-order-id", "default sort order", table_fields.default_sort_order_id_of),
}
VIEW_REQUIREMENTS: Final[dict[str, Callable[[JsonObject], ViewRequirement]]] = {"assert-view-uuid": _parse_view_uuid}
