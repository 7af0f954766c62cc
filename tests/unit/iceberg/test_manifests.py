"""What manifest lists and manifests name, whatever the partition's types, and that damage is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimestamptzType,
    UUIDType,
)

from catalog_format.errors import CorruptFileError
from catalog_format.iceberg.manifests import ListedManifest, live_files_in, manifests_in

EXISTING, ADDED, DELETED = 0, 1, 2
PATHS = [(ADDED, "s3://b/1.parquet"), (DELETED, "s3://b/2.parquet"), (EXISTING, "s3://b/3.puffin"), (ADDED, "s3://b/3.puffin")]


def avro(tmp_path: Path, schema: Schema, rows: list[Record], codec: str = "deflate") -> bytes:
    """An Avro file with these rows, as PyIceberg writes it."""
    place = tmp_path / "file.avro"
    output = PyArrowFileIO().new_output(str(place))
    with AvroOutputFile[Record](output, schema, "manifest", metadata={"avro.codec": codec}) as file:
        for row in rows:
            # A block for each: what is cut off between two is a file that ends too early.
            file.write_block([row])
    return place.read_bytes()


def manifest(tmp_path: Path, partition: IcebergType | None = None, value: Any = 1, **options: str) -> bytes:
    """A manifest of version 3: fields that version 2 lacks, a value in the partition, a list and maps to be passed over."""
    statistics = MapType(key_id=117, key_type=IntegerType(), value_id=118, value_type=LongType(), value_required=True)
    bounds = MapType(key_id=126, key_type=IntegerType(), value_id=127, value_type=BinaryType(), value_required=True)
    data_file = StructType(
        NestedField(134, "content", IntegerType(), required=True),
        NestedField(108, "column_sizes", statistics, required=False),
        NestedField(100, "file_path", StringType(), required=True),
        NestedField(102, "partition", StructType(NestedField(1000, "p", partition or DateType(), required=False)), required=True),
        NestedField(125, "lower_bounds", bounds, required=False),
        NestedField(132, "split_offsets", ListType(element_id=133, element_type=LongType(), element_required=True), required=False),
        NestedField(142, "first_row_id", LongType(), required=False),
        NestedField(143, "referenced_data_file", StringType(), required=False),
    )
    schema = Schema(NestedField(0, "status", IntegerType(), required=True), NestedField(2, "data_file", data_file, required=True))
    rows = [Record(status, Record(0, {1: 2}, path, Record(value), {1: b"x"}, [4, 8], None, "s3://b/not-mine")) for status, path in PATHS]
    return avro(tmp_path, schema, rows, **options)


@pytest.mark.parametrize(
    ("partition", "value"),
    [
        (DateType(), 1),
        (TimestamptzType(), 1),
        (TimestampNanoType(), 1),
        (TimestamptzNanoType(), 1),
        (DecimalType(9, 2), None),
        (UUIDType(), None),
        (StringType(), "x"),
    ],
    ids=str,
)
def test_live_entries_are_named_once_whatever_the_partition(tmp_path: Path, partition: IcebergType, value: Any) -> None:
    data = manifest(tmp_path, partition, value)
    assert live_files_in(data, "m", len(data)) == ["s3://b/1.parquet", "s3://b/3.puffin"]


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "zstandard"])
def test_codecs(tmp_path: Path, codec: str) -> None:
    assert len(live_files_in(manifest(tmp_path, codec=codec), "m")) == 2


def test_a_list_says_which_manifests_hold_nothing_live(tmp_path: Path) -> None:
    schema = Schema(
        NestedField(500, "manifest_path", StringType(), required=True),
        NestedField(501, "manifest_length", LongType(), required=True),
        NestedField(504, "added_files_count", IntegerType(), required=False),
        NestedField(505, "existing_files_count", IntegerType(), required=False),
    )
    rows = [Record("a", 10, 1, 0), Record("b", 11, 0, 0), Record("c", 12, None, None)]
    expected = [ListedManifest("a", 10, False), ListedManifest("b", 11, True), ListedManifest("c", 12, False)]
    assert manifests_in(avro(tmp_path, schema, rows), "list") == expected
    bare = Schema(NestedField(500, "manifest_path", StringType(), required=True))
    assert manifests_in(avro(tmp_path, bare, [Record("a")]), "list") == [ListedManifest("a", None, False)]


def test_damage_is_an_error_and_never_a_shorter_answer(tmp_path: Path) -> None:
    data = manifest(tmp_path)
    with pytest.raises(CorruptFileError, match=r"Manifest m has .* bytes instead of"):
        live_files_in(data[:-1], "m", len(data))
    whole, shorter = 2, 0
    for cut in range(len(data)):
        try:
            shorter += len(live_files_in(data[:cut], "m")) < whole
        except CorruptFileError:
            continue
    # Without its length a file that ends between two blocks cannot be told from a whole one.
    assert shorter == len(PATHS) - 1
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        try:
            live_files_in(bytes(damaged), "m", len(data))
        except CorruptFileError:
            continue
    with pytest.raises(CorruptFileError, match="it has no field status"):
        live_files_in(avro(tmp_path, Schema(NestedField(9, "x", LongType(), required=True)), [Record(1)]), "m")
