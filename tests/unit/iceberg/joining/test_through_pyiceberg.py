"""Both changes written and read by PyIceberg, with rows in real files: appends, overwrites and deletes of formats 1 and 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadataUtil

from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining import ManifestReader, TableJoiner
from catalog_format.iceberg.metadata import TableMetadataBuilder, new_table_metadata
from catalog_format.ids import SeededIds
from catalog_format.storage import LocalStorage
from tests.unit.iceberg.examples import field, schema, spec

Json = dict[str, Any]


class Client(NoopCatalog):
    """PyIceberg's tables on a state of their own; what they commit is kept."""

    def __init__(self, metadata: Json) -> None:
        super().__init__("client")
        self.metadata = metadata
        self.updates: list[Json] = []

    @property
    def table(self) -> Table:
        metadata = TableMetadataUtil.parse_raw(orjson.dumps(self.metadata).decode())
        return Table(("t",), metadata, "here", PyArrowFileIO(), self)

    def load_table(self, identifier: Any) -> Table:
        return self.table

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        plain = [update.model_dump(mode="json", by_alias=True, exclude_none=True) for update in updates]
        now = max(update["snapshot"]["timestamp-ms"] for update in plain if update["action"] == "add-snapshot")
        self.metadata = TableMetadataBuilder(self.metadata).apply_all(plain).build(now)
        self.updates += plain
        return CommitTableResponse(metadata=TableMetadataUtil.parse_raw(orjson.dumps(self.metadata).decode()), metadata_location="here")


class Meeting:
    """A table in a folder, and two clients of one state of it."""

    def __init__(self, folder: Path, version: int, **properties: str) -> None:
        columns = schema(field(1, "id", "long"), field(2, "part", "int"))
        location = f"file://{folder}"
        metadata = new_table_metadata(columns, spec((2, "identity", "part")), None, location, properties, version, SeededIds(1), 0)
        first = Client(metadata)
        first.table.append(rows((1, 1), (2, 1), (11, 2), (12, 2)))
        first.table.append(rows((3, 1), (21, 3)))
        self.base = first.metadata
        self.own, self.rival = Client(self.base), Client(self.base)
        self.store = LocalStorage(folder)
        reader = ManifestReader(lambda location: (self.store, location.removeprefix(f"file://{folder}/")))
        self.joiner = TableJoiner(reader, SeededIds(2))
        self.prefix = f"file://{folder}/"

    async def join(self) -> tuple[list[int], Json]:
        """The ids that PyIceberg reads afterwards, sorted, and the summary."""
        heads = {"main": self.base["current-snapshot-id"]}
        joined = await self.joiner.join(self.rival.metadata, heads, self.own.updates, schema_id=0)
        for file in joined.files:
            assert await self.store.put_if_absent(file.location.removeprefix(self.prefix), file.data)
        now = max(update["snapshot"]["timestamp-ms"] for update in joined.updates if update["action"] == "add-snapshot")
        after = Client(TableMetadataBuilder(self.rival.metadata).apply_all(joined.updates).build(now))
        found = sorted(after.table.scan().to_arrow().column("id").to_pylist())
        files = after.table.inspect.data_files().num_rows
        summary: Json = after.metadata["snapshots"][-1]["summary"]
        assert (summary["total-records"], summary["total-data-files"]) == (str(len(found)), str(files))
        return found, summary


def rows(*pairs: tuple[int, int]) -> pa.Table:
    columns = {"id": pa.array([one for one, _ in pairs], pa.int64()), "part": pa.array([part for _, part in pairs], pa.int32())}
    return pa.table(columns)


@pytest.mark.parametrize("merge", ["false", "true"])
@pytest.mark.parametrize("version", [1, 2])
async def test_appends(version: int, merge: str, tmp_path: Path) -> None:
    properties = {"commit.manifest-merge.enabled": merge, "commit.manifest.min-count-to-merge": "2"}
    meeting = Meeting(tmp_path, version, **properties)
    meeting.own.table.append(rows((100, 1)))
    meeting.own.table.append(rows((101, 2)))
    meeting.rival.table.append(rows((200, 1)))
    assert (await meeting.join())[0] == [1, 2, 3, 11, 12, 21, 100, 101, 200]


@pytest.mark.parametrize("version", [1, 2])
async def test_deletes_and_overwrites(version: int, tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, version)
    meeting.own.table.delete("part = 1 and id = 2")
    meeting.own.table.append(rows((100, 3)))
    meeting.own.table.overwrite(rows((112, 2)), "part = 2 and id = 12")
    meeting.rival.table.delete("part = 3")
    meeting.rival.table.append(rows((200, 1)))
    assert (await meeting.join())[0] == [1, 3, 11, 100, 112, 200]


async def test_dynamic_overwrites_of_two_partitions(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2)
    meeting.own.table.dynamic_partition_overwrite(rows((101, 1)))
    meeting.rival.table.dynamic_partition_overwrite(rows((102, 2)))
    assert (await meeting.join())[0] == [21, 101, 102]


async def test_both_rewrote_one_file(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2)
    meeting.own.table.delete("id = 1")
    meeting.rival.table.delete("id = 2")
    with pytest.raises(ConflictError, match=r"overwrite and overwrite: both removed file://.*part=1/.*\.parquet"):
        await meeting.join()
