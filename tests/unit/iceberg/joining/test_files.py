"""Manifest lists and manifests as files: what old and other writers wrote is read, and what is written is read by PyIceberg."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestContent, read_manifest_list

from catalog_format.errors import ConflictError, CorruptFileError
from catalog_format.iceberg.avro_rows import decode_rows, encode_rows
from catalog_format.iceberg.joining.manifest import decode_manifest
from catalog_format.iceberg.joining.manifest_list import DATA, DELETES, ListedManifest, decode_manifest_list, encode_manifest_list
from catalog_format.iceberg.joining.manifest_rewrite import Target, numbers_in, with_removed
from tests.support.snapshot_writer import ROOT, read_list, read_manifest, storage_bytes
from tests.unit.iceberg.joining.harness import data, head, path, table

Json = dict[str, Any]
SNAPSHOT: Json = {"snapshot-id": 7, "parent-snapshot-id": 6, "sequence-number": 4, "first-row-id": 30}
BOUNDS = [{"contains_null": False, "contains_nan": None, "lower_bound": b"\x01", "upper_bound": b"\x02"}]
LISTED = ListedManifest("s3://b/m.avro", 100, 3, DATA, 4, 2, 7, 1, 2, 3, 10, 20, 30, BOUNDS, None, 40)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_a_list(version: int, tmp_path: Path) -> None:
    listed = [LISTED] if version == 1 else [LISTED, LISTED._replace(path="s3://b/d.avro", content=DELETES, first_row_id=None)]
    encoded = encode_manifest_list(listed, version, SNAPSHOT, "l")
    (tmp_path / "list.avro").write_bytes(encoded)
    found = list(read_manifest_list(PyArrowFileIO().new_input(str(tmp_path / "list.avro"))))
    assert [one.manifest_path for one in found] == [one.path for one in listed]
    assert (found[0].added_rows_count, found[0].existing_files_count, found[0].partition_spec_id) == (10, 2, 3)
    assert found[0].partitions is not None
    assert (found[0].partitions[0].lower_bound, found[0].partitions[0].contains_nan) == (b"\x01", None)
    if version > 1:
        assert [one.content for one in found] == [ManifestContent.DATA, ManifestContent.DELETES]
        assert (found[0].sequence_number, found[0].min_sequence_number) == (4, 2)
    expected = [one if version > 2 else one._replace(first_row_id=None) for one in listed]
    expected = [one if version > 1 else one._replace(sequence_number=0, min_sequence_number=0) for one in expected]
    assert list(decode_manifest_list(encoded, "l")) == expected
    header = fastavro.reader(io.BytesIO(encoded)).metadata
    assert {key: header[key] for key in ("snapshot-id", "parent-snapshot-id", "format-version")} == {
        "snapshot-id": "7",
        "parent-snapshot-id": "6",
        "format-version": str(version),
    }
    assert header.get("sequence-number") == (None if version == 1 else "4")
    assert header.get("first-row-id") == (None if version < 3 else "30")


def test_the_first_snapshot_has_no_parent() -> None:
    encoded = encode_manifest_list([LISTED], 2, {"snapshot-id": 7, "sequence-number": 1}, "l")
    assert fastavro.reader(io.BytesIO(encoded)).metadata["parent-snapshot-id"] == "null"


def test_old_names_of_counts_and_counts_that_are_missing() -> None:
    fields: list[Json] = [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501},
        {"name": "partition_spec_id", "type": "int", "field-id": 502},
        {"name": "added_snapshot_id", "type": "long", "field-id": 503},
        {"name": "added_data_files_count", "type": ["null", "int"], "field-id": 504},
    ]
    row = {"manifest_path": "m", "manifest_length": 1, "partition_spec_id": 0, "added_snapshot_id": 5, "added_data_files_count": 4}
    encoded = encode_rows({"type": "record", "name": "manifest_file", "fields": fields}, {}, [row], "l")
    [listed] = decode_manifest_list(encoded, "l")
    assert (listed.added_files, listed.existing_files, listed.content, listed.sequence_number) == (4, None, DATA, 0)
    assert (listed.live_files, listed.only_adds) == (None, False)
    assert decode_manifest_list(encode_manifest_list([listed], 1, SNAPSHOT, "l"), "l") == (listed,)
    with pytest.raises(ConflictError, match="Manifest m was listed without its existing_files_count"):
        encode_manifest_list([listed], 2, SNAPSHOT, "l")
    with pytest.raises(CorruptFileError, match="l is no manifest list: it has no field of id 500"):
        decode_manifest_list(encode_rows({"type": "record", "name": "x", "fields": fields[1:]}, {}, [row], "l"), "l")


@pytest.mark.parametrize(
    ("avro", "value"),
    [
        ({"type": "int", "logicalType": "date"}, 5_000_000),  # no date that Python has
        ({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}, -(1 << 62)),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 7),
        ({"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}, b"\x00\x00\x00\x07"),
        ({"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}, b"0123456789abcdef"),
        ("string", "ä"),
        ("double", float("inf")),
        ("boolean", True),
    ],
    ids=str,
)
def test_values_of_any_type_are_kept(avro: Any, value: Any) -> None:
    schema = {"type": "record", "name": "x", "fields": [{"name": "p", "type": ["null", avro], "default": None, "field-id": 1000}]}
    encoded = encode_rows(schema, {"k": "v"}, [{"p": value}, {"p": None}], "x")
    file = decode_rows(encoded, "x")
    assert (file.rows, file.metadata) == (({"p": value}, {"p": None}), {"k": "v"})
    assert encode_rows(file.schema, file.metadata, file.rows, "x") == encoded
    assert ("logicalType" in str(avro)) == ("logicalType" in str(file.schema))


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_every_codec_that_java_writes_is_read(codec: str) -> None:
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "x", "fields": [{"name": "p", "type": "long"}]}, [{"p": 1}], codec=codec)
    assert decode_rows(out.getvalue(), "x").rows == ({"p": 1},)


async def test_damaged_manifests_are_never_anything_else() -> None:
    lake = await table(3)
    [_, _, listed] = decode_manifest_list(storage_bytes(lake.memory, head(lake.base)["manifest-list"]), "l")
    whole = storage_bytes(lake.memory, listed.path)
    for position in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        try:
            _ = decode_manifest(bytes(damaged), listed).entries
        except CorruptFileError as error:
            assert listed.path in error.message
    for cut in range(0, len(whole), 9):
        with pytest.raises(CorruptFileError, match=r"bytes instead of"):
            decode_manifest(whole[:cut], listed)


@pytest.mark.parametrize(("written", "now"), [(1, 2), (1, 3), (2, 3)])
async def test_manifests_of_older_formats(written: int, now: int) -> None:
    """Written before the table was upgraded, and rewritten after: with all that the newer format wants said."""
    lake = await table(written)
    rows = decode_manifest_list(storage_bytes(lake.memory, head(lake.base)["manifest-list"]), "l")
    listed = rows[-1]._replace(first_row_id=100 if now == 3 else None)
    manifest = decode_manifest(storage_bytes(lake.memory, listed.path), listed)
    file_ids = [entry.file.id for entry in manifest.entries]
    made = with_removed(manifest, {file_ids[0]}, Target(9, 8, now), f"{ROOT}metadata/new.avro")
    lake.memory._files["metadata/new.avro"] = made.file.data
    header = fastavro.reader(io.BytesIO(made.file.data)).metadata
    assert (header["format-version"], header["content"], header["partition-spec-id"]) == (str(now), "data", "0")
    raw = {"manifest_path": made.listed.path, "sequence_number": 8, "added_snapshot_id": 9, "partition_spec_id": 0, "first_row_id": 500}
    entries = await read_manifest(lake.memory, raw, with_deleted=True)
    assert [status for status, _ in entries] == [2, 0]
    number = 0 if written == 1 else 1
    assert [(one.sequence_number, one.file_sequence_number) for _, one in entries] == [(number, number)] * 2
    assert [one.snapshot_id for _, one in entries] == [9, 1]
    assert (made.listed.deleted_files, made.listed.existing_files, made.listed.added_files) == (1, 1, 0)
    assert (made.listed.sequence_number, made.listed.min_sequence_number, made.listed.length) == (8, number, len(made.file.data))
    if now == 3:
        assert [found.first_row_id for found in numbers_in(manifest).values()] == [100, 110]
        assert entries[1][1].first_row_id == 110


async def test_a_table_that_was_upgraded_while_nobody_looked() -> None:
    """The base is of format 3, but its snapshots and manifests are of format 2: all files get row ids with the next snapshot."""
    lake = await table(2)
    lake.base = lake.apply(lake.base, [{"action": "upgrade-format-version", "format-version": 3}])
    own = await lake.writer(100).write("append", [data("own")])
    winner = lake.apply(lake.base, await lake.writer(200).write("delete", removed=[path("a1")]))
    after = await lake.join(winner, own)
    assert await lake.paths(after) == {"a2", "b1", "b2", "c", "own"}
    listed = await read_list(lake.memory, head(after)["manifest-list"])
    assert all(one["first_row_id"] is not None for one in listed)


async def test_an_append_that_did_not_know_of_the_upgrade() -> None:
    """A plain commit, made in format 2 and joined with a table of format 3."""
    lake = await table(2)
    own = await lake.writer(100).write("append", [data("own")])
    own[0]["snapshot"] |= {"first-row-id": None, "added-rows": None, "key-id": None}
    winner = lake.apply(lake.base, [{"action": "upgrade-format-version", "format-version": 3}])
    winner = lake.apply(winner, await lake.writer(200, winner).write("append", [data("rival")]))
    joined = await lake.joiner.join(winner, {"main": 3}, own, schema_id=None, appends_only=True)
    for file in joined.files:
        await lake.memory.put_if_absent(file.location.removeprefix(ROOT), file.data)
    after = lake.apply(winner, joined.updates)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "c", "own", "rival"}
    assert after["next-row-id"] == winner["next-row-id"] + 10
