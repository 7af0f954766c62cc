"""Metadata files: round trips, names, damage."""

from __future__ import annotations

import gzip

import pytest

from catalog_format.errors import CorruptFileError, InvalidArgumentError
from catalog_format.iceberg.metadata import decode_metadata, encode_metadata, metadata_file_extension, metadata_json, parse_metadata
from tests.unit.iceberg.examples import table_with_snapshots

PLAIN = "s3://b/t/metadata/00001-x.metadata.json"
COMPRESSED = ["s3://b/t/metadata/00001-x.gz.metadata.json", "s3://b/t/metadata/00001-x.metadata.json.gz"]


@pytest.mark.parametrize("location", [PLAIN, *COMPRESSED])
def test_round_trip(location: str) -> None:
    metadata = table_with_snapshots(20)
    data = encode_metadata(metadata, location)
    assert data.startswith(b"\x1f\x8b") is (location in COMPRESSED)
    assert decode_metadata(data, location) == metadata
    assert parse_metadata(metadata_json(data, location), location) == metadata
    if location in COMPRESSED:
        assert data[4:8] == bytes(4), "no time in the header: equal metadata gives equal bytes"


@pytest.mark.parametrize(
    ("properties", "default", "extension"),
    [
        ({}, "none", ".metadata.json"),
        ({}, "gzip", ".gz.metadata.json"),
        ({"write.metadata.compression-codec": "GZIP"}, "none", ".gz.metadata.json"),
        ({"write.metadata.compression-codec": "none"}, "gzip", ".metadata.json"),
    ],
)
def test_the_codec_is_in_the_name(properties: dict[str, str], default: str, extension: str) -> None:
    assert metadata_file_extension(properties, default) == extension


def test_unknown_codecs_and_names_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid codec name: zstd"):
        metadata_file_extension({"write.metadata.compression-codec": "zstd"})
    with pytest.raises(InvalidArgumentError, match="not a valid metadata file"):
        encode_metadata({}, "s3://b/t.metadata.json/data.parquet")
    with pytest.raises(InvalidArgumentError, match="not a valid metadata file"):
        decode_metadata(b"{}", "s3://b/t/v1.json")


@pytest.mark.parametrize("location", [PLAIN, *COMPRESSED])
@pytest.mark.parametrize("kept", [0, 1, 10, 100, -9, -1])
def test_truncated_files_are_corrupt_and_named(location: str, kept: int) -> None:
    with pytest.raises(CorruptFileError) as corrupt:
        decode_metadata(encode_metadata(table_with_snapshots(5), location)[:kept], location)
    assert location in str(corrupt.value)


@pytest.mark.parametrize(
    ("data", "location"),
    [
        (b"[]", PLAIN),
        (b"null", PLAIN),
        (b"\xff\xfe", PLAIN),
        (gzip.compress(b"{}"), PLAIN),
        (b"{}", COMPRESSED[0]),
        (gzip.compress(b"{"), COMPRESSED[0]),
        (gzip.compress(b"{}")[:-8] + b"\x00" * 8, COMPRESSED[1]),
    ],
)
def test_altered_files_are_corrupt_and_named(data: bytes, location: str) -> None:
    with pytest.raises(CorruptFileError) as corrupt:
        decode_metadata(data, location)
    assert location in str(corrupt.value)
