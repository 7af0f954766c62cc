"""Rows through PyIceberg: every way to write them, every way to read them; in the catalog and in transactions."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import GreaterThan, In
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from tests.integration.pyiceberg_client.conftest import Site, ids_of, numbers

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


def test_append_overwrite_delete(site: Site) -> None:
    table = site.create("t", numbers(1, 2, 3))
    table.overwrite(numbers(20), overwrite_filter="id == 2", snapshot_properties={"job": "nightly"})
    table.delete(In("id", [3, 4]))
    table.append(numbers(5, 6))
    table.delete("id == 20")
    whole = site.create("whole", numbers(1, 2, 3))
    whole.overwrite(numbers(7))
    for place in site.states():
        table = place.load("t")
        assert ids_of(table) == [1, 5, 6] and ids_of(place.load("whole")) == [7]
        operations = [snapshot.summary.operation.value for snapshot in table.metadata.snapshots if snapshot.summary]
        assert (operations[0], operations[-1]) == ("append", "delete") and set(operations) == {"append", "overwrite", "delete"}
        assert [snapshot.sequence_number for snapshot in table.metadata.snapshots] == list(range(1, len(operations) + 1))
        assert any((snapshot.summary or {}).get("job") == "nightly" for snapshot in table.metadata.snapshots)


def test_upsert(site: Site) -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "word", StringType()), identifier_field_ids=[1])
    table = site.catalog.create_table(site.name("t"), schema)

    def rows(**words: str) -> pa.Table:
        return pa.table({"id": [int(key[1:]) for key in words], "word": list(words.values())}, schema=schema.as_arrow())

    table.append(rows(_1="one", _2="two"))
    both = table.upsert(rows(_2="TWO", _3="three"))
    assert (both.rows_updated, both.rows_inserted) == (1, 1)
    only_new = table.upsert(rows(_1="ONE", _4="four"), when_matched_update_all=False)
    assert (only_new.rows_updated, only_new.rows_inserted) == (0, 1)
    only_old = table.upsert(rows(_1="uno", _5="five"), join_cols=["id"], when_not_matched_insert_all=False)
    assert (only_old.rows_updated, only_old.rows_inserted) == (1, 0)
    for place in site.states():
        words = place.load("t").scan().to_arrow().sort_by("id").to_pydict()
        assert words == {"id": [1, 2, 3, 4], "word": ["uno", "TWO", "three", "four"]}


def test_dynamic_partition_overwrite(site: Site) -> None:
    """Exactly the partitions that the new rows lie in are replaced."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "city", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "city"))
    table = site.catalog.create_table(site.name("t"), schema, partition_spec=spec)

    def rows(**of: int) -> pa.Table:
        return pa.table({"id": pa.array(list(of.values()), pa.int64()), "city": list(of)})

    table.append(rows(rome=1, oslo=2))
    table.append(rows(rome=3))
    table.dynamic_partition_overwrite(rows(rome=10, bern=4))
    for place in site.states():
        table = place.load("t")
        assert table.scan().to_arrow().sort_by("id").to_pydict() == {"id": [2, 4, 10], "city": ["oslo", "bern", "rome"]}
        partitions = {row["partition"]["city"]: row["record_count"] for row in table.inspect.partitions().to_pylist()}
        assert partitions == {"rome": 1, "oslo": 1, "bern": 1}


def test_files_written_by_others_are_added(site: Site) -> None:
    table = site.create("t", numbers(1))
    path = f"{table.location()}/data/from-elsewhere.parquet"
    with table.io.new_output(path).create() as stream:
        pq.write_table(numbers(7, 8), stream)
    table.add_files([path])
    with pytest.raises(ValueError, match="already referenced"):
        table.add_files([path])
    for place in site.states():
        assert ids_of(place.load("t")) == [1, 7, 8]
        assert path in place.load("t").inspect.files().column("file_path").to_pylist()


def test_scans(site: Site) -> None:
    days = [date(2026, 1, day) for day in (1, 2, 3, 4)]
    table = site.create("t", pa.table({"id": pa.array([1, 2], pa.int64()), "day": days[:2]}))
    with table.update_spec() as spec:
        spec.add_identity("day")
    table.append(pa.table({"id": pa.array([3, 4], pa.int64()), "day": days[2:]}))
    for place in site.states():
        table = place.load("t")
        snapshots = [entry.snapshot_id for entry in table.history()]
        assert table.scan(row_filter=GreaterThan("id", 2), selected_fields=("day",)).to_arrow().column("day").to_pylist() == days[2:]
        assert ids_of(table, row_filter="day >= '2026-01-02' and day < '2026-01-04'") == [2, 3]
        assert table.scan(row_filter="day = '2026-01-03'").count() == 1
        assert table.scan(limit=3).to_arrow().num_rows == 3
        assert len(list(table.scan(row_filter="day = '2026-01-04'").plan_files())) == 1, "partitions are pruned"
        assert sum(batch.num_rows for batch in table.scan().to_arrow_batch_reader()) == 4
        assert ids_of(table, snapshot_id=snapshots[0]) == [1, 2]
        added = table.incremental_append_scan(from_snapshot_id_exclusive=snapshots[0]).to_arrow()
        assert sorted(added.column("id").to_pylist()) == [3, 4]


def test_metadata_tables(site: Site) -> None:
    table = site.create("t", numbers(1, 2))
    table.append(numbers(3))
    table.delete("id == 3")
    for place in site.states():
        inspect = place.load("t").inspect
        assert inspect.snapshots().column("operation").to_pylist() == ["append", "append", "delete"]
        assert inspect.history().column("is_current_ancestor").to_pylist() == [True] * 3
        assert inspect.files().column("record_count").to_pylist() == [2]
        assert inspect.entries().num_rows >= 1 and inspect.manifests().num_rows >= 1
        assert inspect.all_data_files().num_rows >= 2
        assert inspect.refs().to_pylist()[0]["name"] == "main"
        assert inspect.partitions().column("record_count").to_pylist() == [2]
        logged = inspect.metadata_log_entries().column("file").to_pylist()
        assert logged[-1] == place.load("t").metadata_location and len(set(logged)) == 4
