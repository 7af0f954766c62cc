"""What PyIceberg does to tables themselves: create, evolve, stage, register, rename, drop; in the catalog and in transactions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform, YearTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from tests.integration.pyiceberg_client.conftest import Site, ids_of, numbers

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

_TYPES = [
    BooleanType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DecimalType(38, 9),
    DateType(),
    TimeType(),
    TimestampType(),
    TimestamptzType(),
    StringType(),
    UUIDType(),
    FixedType(7),
    BinaryType(),
]


def _schema(*more: NestedField) -> Schema:
    """Every type of format 2, and nested ones."""
    plain = [NestedField(number, f"c{number}", kind, doc=f"a {kind}") for number, kind in enumerate(_TYPES, start=1)]
    nested = [
        NestedField(20, "place", StructType(NestedField(21, "city", StringType(), required=True), NestedField(22, "zip", IntegerType()))),
        NestedField(30, "tags", ListType(31, StringType(), element_required=True)),
        NestedField(40, "prices", MapType(41, StringType(), 42, DoubleType(), value_required=False)),
    ]
    return Schema(NestedField(100, "id", LongType(), required=True), *plain, *nested, *more, identifier_field_ids=[100])


def test_create_with_everything(site: Site) -> None:
    spec = PartitionSpec(
        PartitionField(100, 1000, BucketTransform(4), "id_bucket"),
        PartitionField(9, 1001, DayTransform(), "c9_day"),
        PartitionField(11, 1002, TruncateTransform(3), "c11_trunc"),
    )
    order = SortOrder(SortField(2, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST))
    asked = _schema()
    created = site.catalog.create_table(site.name("t"), asked, partition_spec=spec, sort_order=order, properties={"purpose": "test"})
    for place in site.states():
        table = place.load("t")
        assert table.schema() == created.schema() and table.metadata.table_uuid == created.metadata.table_uuid
        assert [(field.name, field.field_type.__class__, field.doc) for field in table.schema().fields] == [
            (field.name, field.field_type.__class__, field.doc) for field in asked.fields
        ]
        assert table.schema().identifier_field_names() == {"id"}
        sources = {field.name: table.schema().find_column_name(field.source_id) for field in table.spec().fields}
        assert sources == {"id_bucket": "id", "c9_day": "c9", "c11_trunc": "c11"}
        assert [str(field.transform) for field in table.spec().fields] == ["bucket[4]", "day", "truncate[3]"]
        assert [(field.direction, field.null_order) for field in table.sort_order().fields] == [(SortDirection.DESC, NullOrder.NULLS_LAST)]
        assert table.properties["purpose"] == "test" and table.format_version == 2
        assert table.location().startswith(place.server.place.root if place.server.place.s3 else f"file://{place.server.place.root}")
        with pytest.raises(TableAlreadyExistsError, match=r"Table already exists: .*t$"):
            place.catalog.create_table(place.name("t"), asked)
        assert place.catalog.create_table_if_not_exists(place.name("t"), asked).metadata.table_uuid == created.metadata.table_uuid
        with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist"):
            place.catalog.create_table(place.name("nowhere", "t"), asked)


def test_formats_1_and_3(site: Site) -> None:
    """Format 1 is written and upgraded; format 3 is created and read, PyIceberg writes no rows to it."""
    old = site.create("old", numbers(1, 2), properties={"format-version": "1"})
    assert old.format_version == 1
    with old.transaction() as change:
        change.upgrade_table_version(2)
    site.load("old").append(numbers(3))
    new = [NestedField(200, "nanos", TimestampNanoType()), NestedField(201, "nothing", UnknownType())]
    site.catalog.create_table(site.name("new"), _schema(*new), properties={"format-version": "3"})
    with site.load("new").update_schema() as schema:
        schema.add_column("level", IntegerType(), default_value=7, required=True)
    for place in site.states():
        assert place.load("old").format_version == 2
        assert ids_of(place.load("old")) == [1, 2, 3]
        table = place.load("new")
        assert (table.format_version, table.metadata.next_row_id) == (3, 0)
        assert table.schema().find_type("nanos") == TimestampNanoType() and table.schema().find_type("nothing") == UnknownType()
        level = table.schema().find_field("level")
        assert (level.required, level.initial_default, level.write_default) == (True, 7, 7)
        assert table.scan().to_arrow().num_rows == 0


def test_schemas_evolve(site: Site) -> None:
    rows = pa.table(
        {
            "id": pa.array([1], pa.int32()),
            "word": ["one"],
            "place": pa.array([{"city": "Rome"}], pa.struct([("city", pa.string())])),
            "gone": [1.5],
        }
    )
    table = site.create("t", rows)
    with table.update_schema(allow_incompatible_changes=True) as schema:
        schema.update_column("id", LongType(), doc="wider").set_identifier_fields("id")
        schema.update_column("id", required=True)
        schema.rename_column("word", "title")
        schema.add_column(("place", "street"), StringType(), doc="and number")
        schema.delete_column("gone")
        schema.add_column("price", DecimalType(9, 2))
        schema.move_before("price", "place")
    with table.update_schema() as schema:
        schema.move_first("title")
        schema.union_by_name(pa.schema([("more", pa.list_(pa.string()))]))
    table.append(
        pa.Table.from_pylist(
            [{"title": "big", "id": 2**40, "place": {"city": "Oslo", "street": "Gate 1"}, "more": ["a", "b"]}], table.schema().as_arrow()
        )
    )
    for place in site.states():
        table = place.load("t")
        assert [field.name for field in table.schema().fields] == ["title", "id", "price", "place", "more"]
        assert table.schema().find_field("id").doc == "wider" and table.schema().identifier_field_names() == {"id"}
        assert table.scan().to_arrow().sort_by("id").select(["id", "title", "place", "more"]).to_pylist() == [
            {"id": 1, "title": "one", "place": {"city": "Rome", "street": None}, "more": None},
            {"id": 2**40, "title": "big", "place": {"city": "Oslo", "street": "Gate 1"}, "more": ["a", "b"]},
        ]
        assert len(table.schemas()) == 3, "each commit one schema"
        first = table.history()[0].snapshot_id
        assert table.scan(snapshot_id=first).to_arrow().column_names == ["id", "word", "place", "gone"], "a snapshot keeps its schema"


def test_partitions_and_sort_orders_evolve(site: Site) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "kind": ["a", "b"], "day": pa.array([18_000, 19_000], pa.date32())})
    table = site.create("t", rows)
    with table.update_spec() as spec:
        spec.add_identity("kind").add_field("day", IdentityTransform(), "d")
    table.append(rows)
    with table.update_spec() as spec:
        spec.remove_field("kind").rename_field("d", "that_day")
    table.append(rows)
    with table.update_spec() as spec:
        spec.add_field("day", YearTransform(), "year_of_day").add_field("id", BucketTransform(2), "shard")
    with table.update_sort_order() as order:
        order.desc("day", IdentityTransform(), NullOrder.NULLS_FIRST).asc("id", BucketTransform(8))
    for place in site.states():
        table = place.load("t")
        fields = [(field.name, str(field.transform)) for field in table.spec().fields]
        assert fields == [("that_day", "identity"), ("year_of_day", "year"), ("shard", "bucket[2]")]
        assert len(table.specs()) == 4 and table.last_partition_id() == 1003
        assert sorted(table.inspect.files().column("spec_id").to_pylist()) == [0, 1, 1, 2, 2]
        assert ids_of(table, row_filter="kind = 'a' and day < '2020-01-01'") == [1, 1, 1]
        written = [(str(field.transform), field.direction.value, field.null_order.value) for field in table.sort_order().fields]
        assert written == [("identity", "desc", "nulls-first"), ("bucket[8]", "asc", "nulls-last")]


def test_several_changes_in_one_commit(site: Site) -> None:
    """PyIceberg's own transaction is one commit of one table, and nothing if it raises."""
    table = site.create("t", numbers(1))
    with table.transaction() as several:
        several.set_properties({"owner": "me", "other": "x"})
        several.append(numbers(2))
        with several.update_schema() as schema:
            schema.add_column("price", DoubleType())
        with several.update_spec() as spec:
            spec.add_identity("word")
    with site.load("t").transaction() as more:
        more.remove_properties("other")
    with pytest.raises(ZeroDivisionError), site.load("t").transaction() as regretted:
        regretted.append(numbers(3))
        raise ZeroDivisionError
    for place in site.states():
        table = place.load("t")
        assert (table.properties["owner"], "other" in table.properties) == ("me", False)
        assert len(table.metadata.metadata_log) == 3, "created, appended, several, one less: three earlier states"
        assert [field.name for field in table.spec().fields] == ["word"]
        assert ids_of(table) == [1, 2] and "price" in table.schema().column_names


def test_a_stale_change_is_refused_and_can_be_repeated(site: Site) -> None:
    first = site.create("t", numbers(1))
    second = site.load("t")
    with first.update_schema() as schema:
        schema.add_column("mine", LongType())
    with (
        pytest.raises(CommitFailedException, match="Requirement failed: current schema changed: expected id 0 != 1"),
        second.update_schema() as schema,
    ):
        schema.add_column("yours", LongType())
    second.refresh()
    with second.update_schema() as schema:
        schema.add_column("yours", LongType())
    for place in site.states():
        assert place.load("t").schema().column_names == ["id", "word", "mine", "yours"]


def test_staged_creates(site: Site) -> None:
    """A table and its first rows in one commit; until then there is no table, and no trace if nobody commits."""
    staged = site.catalog.create_table_transaction(site.name("t"), numbers().schema, properties={"purpose": "test"})
    with staged.update_spec() as spec:
        spec.add_identity("word")
    staged.append(numbers(1, 2))
    site.catalog.create_table_transaction(site.name("forgotten"), numbers().schema)
    late = site.catalog.create_table_transaction(site.name("t"), numbers().schema)
    assert site.catalog.list_tables(site.namespace) == []
    with pytest.raises(NoSuchTableError):
        site.load("t")
    staged.commit_transaction()
    with pytest.raises(CommitFailedException, match="already exists"):
        late.commit_transaction()
    with pytest.raises(TableAlreadyExistsError):
        site.catalog.create_table_transaction(site.name("t"), numbers().schema)
    for place in site.states():
        table = place.load("t")
        assert ids_of(table) == [1, 2] and len(table.metadata.snapshots) == 1
        assert table.properties["purpose"] == "test" and [field.name for field in table.spec().fields] == ["word"]
        assert place.catalog.list_tables(place.namespace) == [place.name("t")]


def test_register_rename_drop(site: Site) -> None:
    original = site.create("t", numbers(1))
    early = original.metadata_location
    original.append(numbers(2))
    copy = site.catalog.register_table(site.name("copy"), early)
    assert copy.metadata.table_uuid == original.metadata.table_uuid and ids_of(copy) == [1]
    with pytest.raises(TableAlreadyExistsError, match="already exists"):
        site.catalog.register_table(site.name("copy"), original.metadata_location)
    site.catalog.register_table(site.name("copy"), original.metadata_location, overwrite=True)
    site.catalog.create_namespace(site.name("deep"))
    moved = site.catalog.rename_table(site.name("copy"), site.name("deep", "moved"))
    assert moved.name() == site.name("deep", "moved")
    with pytest.raises(TableAlreadyExistsError, match="already exists"):
        site.catalog.rename_table(site.name("t"), site.name("deep", "moved"))
    with pytest.raises(NoSuchTableError, match="Table does not exist"):
        site.catalog.rename_table(site.name("copy"), site.name("again"))
    moved.append(numbers(3))
    for table in ("dropped", "purged"):
        site.create(table, numbers(9))
    site.catalog.drop_table(site.name("dropped"))
    site.catalog.purge_table(site.name("purged"))
    for place in site.states():
        assert place.catalog.list_tables(place.namespace) == [place.name("t")]
        assert place.catalog.list_tables(place.name("deep")) == [place.name("deep", "moved")]
        assert (ids_of(place.load("t")), ids_of(place.load("deep", "moved"))) == ([1, 2], [1, 2, 3]), "two tables since they were copied"
        for gone in ("copy", "dropped", "purged"):
            assert not place.catalog.table_exists(place.name(gone))
            with pytest.raises(NoSuchTableError, match="Table does not exist"):
                place.catalog.drop_table(place.name(gone))
        with pytest.raises(NamespaceAlreadyExistsError):
            place.catalog.create_namespace(place.name("deep"))
