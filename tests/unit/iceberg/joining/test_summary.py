"""Totals of a summary on top of another parent."""

from __future__ import annotations

import pytest

from catalog_format.iceberg.joining.summary import summary_on
from tests.support.snapshot_writer import position_deletes
from tests.unit.iceberg.joining.harness import data, head, path, table

OWN = {"operation": "overwrite", "added-records": "5", "deleted-records": "2", "total-records": "3", "total-files-size": "9", "x": "y"}


@pytest.mark.parametrize(
    ("parent", "total"),
    [
        ({"total-records": "100"}, "103"),
        ({"total-records": "0"}, "3"),
        (None, "3"),
        ({}, None),
        ({"total-records": "many"}, None),
        ({"total-records": "-9"}, None),
    ],
)
def test_totals_follow_the_parent(parent: dict[str, str] | None, total: str | None) -> None:
    found = summary_on(parent, OWN, (1, 2, 3))
    assert found.get("total-records") == total
    assert found.get("total-files-size") == ("0" if parent is None else None)
    assert {key: found[key] for key in ("operation", "added-records", "x")} == {"operation": "overwrite", "added-records": "5", "x": "y"}
    assert "manifests-created" not in found


def test_manifests_are_counted_where_the_writer_did() -> None:
    found = summary_on(None, {"manifests-created": "9", "manifests-kept": "9", "manifests-replaced": "9"}, (1, 2, 3))
    assert [found[f"manifests-{what}"] for what in ("created", "kept", "replaced")] == ["1", "2", "3"]


async def test_delete_files_that_both_swept_up_are_not_counted_twice() -> None:
    """Appends of Java's remove delete files that apply to nothing any more."""
    lake = await table(2)
    lake.base = lake.apply(lake.base, await lake.writer(50).write("delete", [position_deletes(path(name), 1) for name in ("old", "kept")]))
    winner = lake.apply(lake.base, await lake.writer(200).write("append", [data("rival")], [path("old")]))
    after = await lake.join(winner, await lake.writer(100).write("append", [data("own")], [path("old")]))
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "rival", "own", "kept"}
    summary = head(after)["summary"]
    assert "total-delete-files" not in summary
    assert summary["total-data-files"] == "7"
