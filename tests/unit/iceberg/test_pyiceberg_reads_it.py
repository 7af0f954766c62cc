"""An independent reader, PyIceberg, takes what the builders make."""

from __future__ import annotations

import orjson
import pytest
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.view.metadata import ViewMetadata

from catalog_format.iceberg.metadata import new_view_metadata
from catalog_format.ids import SeededIds
from tests.unit.iceberg.examples import Json, apply, schema, table, table_with_snapshots
from tests.unit.iceberg.test_aspects import VERSION
from tests.unit.iceberg.test_table_builder import MANY


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tables(version: int) -> None:
    states: list[Json] = [table(version), table_with_snapshots(3, version)]
    if version == 2:
        states.append(apply(states[1], *MANY))
    for state in states:
        read = TableMetadataUtil.parse_obj(orjson.loads(orjson.dumps(state)))
        assert read.format_version == version
        assert len(read.snapshots) == len(state["snapshots"])
        current = state["current-snapshot-id"]
        assert read.current_snapshot_id == (None if current == -1 else current)


def test_views() -> None:
    view = new_view_metadata(schema(), VERSION, "s3://b/v", {}, SeededIds(1))
    assert ViewMetadata.model_validate(view).current_version_id == 1
