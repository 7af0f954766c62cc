"""Metadata files: bytes to JSON and back, compressed where the file's name says so (Iceberg Java `TableMetadataParser`)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping

import orjson

from catalog_format.errors import CorruptFileError, InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.properties import METADATA_COMPRESSION

_SUFFIX = ".metadata.json"
_EXTENSIONS = {"none": _SUFFIX, "gzip": ".gz" + _SUFFIX}
# The fastest level: metadata is repetitive enough, and every commit waits for it.
_LEVEL = 1


def metadata_file_extension(properties: Mapping[str, str], default_codec: str = "none") -> str:
    """The ending of a new metadata file's name, by `write.metadata.compression-codec`; it decides how the file is written.

    Java's default codec is `none` for tables and `gzip` for views. Raises `InvalidArgumentError` for an unknown codec.
    """
    codec = properties.get(METADATA_COMPRESSION, default_codec)
    extension = _EXTENSIONS.get(codec.lower())
    if extension is None:
        raise InvalidArgumentError(f"Invalid codec name: {codec}")
    return extension


def encode_metadata(metadata: JsonObject, location: str) -> bytes:
    """The bytes of the metadata file at that location. Raises `InvalidArgumentError` if the name is no metadata file's."""
    # A copy is as large as it looks: orjson leaves a multiple of that unused behind its text, and metadata stays in caches.
    data = bytes(memoryview(orjson.dumps(metadata)))
    # No time in the header: equal metadata gives equal bytes.
    return gzip.compress(data, _LEVEL, mtime=0) if _is_compressed(location) else data


def metadata_json(data: bytes, location: str) -> bytes:
    """The plain JSON in the bytes of the file at that location.

    Raises `CorruptFileError` if they cannot be decompressed, `InvalidArgumentError` if the name is no metadata file's.
    """
    if not _is_compressed(location):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptFileError(f"Metadata file is truncated or altered: {location} ({error})") from error


def parse_metadata(plain: bytes, location: str) -> JsonObject:
    """The metadata in plain JSON that came from the file at that location. Raises `CorruptFileError`."""
    try:
        metadata = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise CorruptFileError(f"Metadata file is truncated or altered: {location} ({error})") from error
    if not isinstance(metadata, dict):
        raise CorruptFileError(f"Metadata file does not hold a JSON object: {location}")
    return metadata


def decode_metadata(data: bytes, location: str) -> JsonObject:
    """The metadata in the bytes of the file at that location; raises as `metadata_json` and `parse_metadata` do."""
    return parse_metadata(metadata_json(data, location), location)


def _is_compressed(location: str) -> bool:
    name = location.rpartition("/")[2]
    if _SUFFIX not in name:
        raise InvalidArgumentError(f"{location} is not a valid metadata file: its name has no {_SUFFIX}")
    # Early versions put the codec last.
    return name.endswith(_SUFFIX + ".gz") or name.rpartition(_SUFFIX)[0].endswith(".gz")
