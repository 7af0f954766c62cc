"""Requirements: those that hold, those that do not with the message clients know, and malformed ones."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import ConflictError, InvalidArgumentError, RequirementFailedError
from catalog_format.iceberg.metadata import parse_table_requirements, parse_view_requirements
from tests.unit.iceberg.examples import Json, apply, set_ref, table_with_snapshots

TABLE = apply(table_with_snapshots(2), set_ref("old", 1, "tag")) | {"table-uuid": "AA-11"}


def _check_table(requirement: Any, base: Json | None) -> None:
    for check in parse_table_requirements([requirement]):
        check(base)


def _check_view(requirement: Json, base: Json) -> None:
    for check in parse_view_requirements([requirement]):
        check(base)


@pytest.mark.parametrize(
    "requirement",
    [
        {"type": "assert-table-uuid", "uuid": "aa-11"},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
        {"type": "assert-ref-snapshot-id", "ref": "new", "snapshot-id": None},
        {"type": "assert-ref-snapshot-id", "ref": "new"},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "Assert-Last-Assigned-Partition-Id", "last-assigned-partition-id": 1000},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
    ],
)
def test_requirements_that_hold(requirement: Json) -> None:
    _check_table(requirement, TABLE)


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ({"type": "assert-create"}, "table already exists"),
        ({"type": "assert-table-uuid", "uuid": "BB"}, "UUID does not match: expected AA-11 != BB"),
        (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
            "branch main has changed: expected id 1 != 2",
        ),
        ({"type": "assert-ref-snapshot-id", "ref": "old", "snapshot-id": 2}, "tag old has changed: expected id 2 != 1"),
        ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}, "branch main was created concurrently"),
        ({"type": "assert-ref-snapshot-id", "ref": "x", "snapshot-id": 1}, "branch or tag x is missing, expected 1"),
        (
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2},
            "last assigned field id changed: expected id 2 != 3",
        ),
        ({"type": "assert-current-schema-id", "current-schema-id": 1}, "current schema changed: expected id 1 != 0"),
        (
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
            "last assigned partition id changed: expected id 999 != 1000",
        ),
        ({"type": "assert-default-spec-id", "default-spec-id": 3}, "default partition spec changed: expected id 3 != 0"),
        ({"type": "assert-default-sort-order-id", "default-sort-order-id": 3}, "default sort order changed: expected id 3 != 0"),
    ],
)
def test_requirements_that_fail_say_what_java_says(requirement: Json, message: str) -> None:
    with pytest.raises(RequirementFailedError) as failed:
        _check_table(requirement, TABLE)
    assert str(failed.value) == f"Requirement failed: {message}"
    assert isinstance(failed.value, ConflictError)


def test_requirements_without_a_table() -> None:
    _check_table({"type": "assert-create"}, None)
    _check_table({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}, None)
    _check_table({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 2}, None)
    for requirement in (
        {"type": "assert-table-uuid", "uuid": "u"},
        {"type": "assert-ref-snapshot-id", "ref": "main"},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-default-spec-id", "default-spec-id": 0},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
    ):
        with pytest.raises(RequirementFailedError, match="table does not exist"):
            _check_table(requirement, None)


@pytest.mark.parametrize(
    "requirement",
    [
        {},
        [],
        {"type": "assert-nothing"},
        {"type": "assert-view-uuid", "uuid": "u"},
        {"type": "assert-table-uuid"},
        {"type": "assert-ref-snapshot-id", "snapshot-id": 1},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": "1"},
        {"type": "assert-last-assigned-field-id"},
        {"type": "assert-current-schema-id", "current-schema-id": "0"},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": None},
        {"type": "assert-default-spec-id", "default-spec-id": 0.5},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": True},
    ],
)
def test_malformed_requirements_are_the_clients_mistake(requirement: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        _check_table(requirement, TABLE)


def test_the_requirement_of_views() -> None:
    view = {"view-uuid": "aa"}
    _check_view({"type": "assert-view-uuid", "uuid": "AA"}, view)
    with pytest.raises(RequirementFailedError, match="Requirement failed: view UUID does not match: expected aa != bb"):
        _check_view({"type": "assert-view-uuid", "uuid": "bb"}, view)
    with pytest.raises(InvalidArgumentError, match="Cannot validate requirement against a view: assert-create"):
        _check_view({"type": "assert-create"}, view)
    with pytest.raises(InvalidArgumentError, match="Unknown update requirement: x"):
        _check_view({"type": "x"}, view)
