"""The list of differences is closed and true: each has an example here, and the documentation tells all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import table_checks
from tests.integration.differential.comparison import Comparison
from tests.integration.differential.differences import DIFFERENCES
from tests.integration.differential.outcome import Json
from tests.unit.iceberg.examples import BASE_FILE, ID, NAME, add_snapshot, append, field, schema, set_ref, table, table_with_snapshots

PAGE = Path(__file__).parents[3] / "docs" / "conformance.md"

_STRAY_SPEC = {"spec-id": 7, "fields": [{"source-id": 1, "field-id": 1000, "transform": "identity", "name": "id"}]}

EXAMPLES: dict[str, tuple[Json, list[Json]]] = {
    "null-members": (table(), [add_snapshot(1, 1, **{"parent-snapshot-id": None}), set_ref("main", 1)]),
    "unreadable-result": (table(), [{"action": "set-location", "location": "/"}]),
    "dangling-ids": (
        table() | {"partition-specs": [*table()["partition-specs"], _STRAY_SPEC]},
        [{"action": "remove-partition-specs", "spec-ids": [7]}, {"action": "set-default-spec", "spec-id": 7}],
    ),
    "format-versions": (table(3), [{"action": "upgrade-format-version", "format-version": 4}]),
    "more-removals-than-snapshots": (table_with_snapshots(1), [{"action": "remove-snapshots", "snapshot-ids": [77, 78]}]),
    "assigned-ids": (table(), [{"action": "add-spec", "spec": {"fields": _STRAY_SPEC["fields"]}}]),
    "stale-first-snapshot": (table_with_snapshots(3), [add_snapshot(9, 2)]),
    "partition-field-ids": (
        table(),
        [{"action": "add-spec", "spec": {"spec-id": 1, "fields": [{"source-id": 1, "transform": "identity", "name": "id"}]}}],
    ),
    "next-row-id": (
        table_with_snapshots(2, 3),
        [add_snapshot(3, 3, 2, **{"first-row-id": 50, "added-rows": 1}), set_ref("main", 3)],
    ),
    "times-as-defaults": (
        table(3),
        [{"action": "add-schema", "schema": schema(field(9, "at", "timestamptz", **{"initial-default": "2026-02-28T22:31:08Z"}))}],
    ),
    "logs-that-are-no-lists": (table() | {"metadata-log": {}}, [{"action": "set-location", "location": "s3://b/u"}]),
    "removed-then-added": (
        table() | {"schemas": [*table()["schemas"], schema(ID) | {"schema-id": 1}]},
        [{"action": "remove-schemas", "schema-ids": [1]}, {"action": "add-schema", "schema": schema(ID, NAME)}],
    ),
}
"""A base and updates for each name."""


@pytest.mark.spark
@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.name)
def test_each_difference_is_real(comparison: Comparison, difference: Any) -> None:
    base, updates = EXAMPLES[difference.name]
    comparison.commit_table(base, BASE_FILE, [], updates)
    assert comparison.seen[difference.name] == 1, comparison.seen


@pytest.mark.spark
def test_what_is_not_on_the_list_fails(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    request = (table(), BASE_FILE, [], [{"action": "set-location", "location": "s3://b/u"}])
    assert comparison.commit_table(*request) is not None
    for broken, said in ((lambda location: location + "/x", "/location: "), (_refuse, "Treeline: refused no")):
        monkeypatch.setattr(table_checks, "strip_trailing_slash", broken)
        with pytest.raises(AssertionError, match=said):
            comparison.commit_table(*request)


def _refuse(location: str) -> str:
    raise InvalidArgumentError("no")


@pytest.mark.spark
def test_an_append_is_agreed_on(comparison: Comparison) -> None:
    after = comparison.commit_table(
        table(), BASE_FILE, [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}], append(1, 1)
    )
    assert after is not None
    assert comparison.seen == {"done": 1}


def test_the_documentation_tells_them_all() -> None:
    told = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text().partition("## Metadata builders")[2].partition("\n## ")[0], re.MULTILINE)
    assert told == [difference.name for difference in DIFFERENCES]
    assert set(EXAMPLES) == set(told)
