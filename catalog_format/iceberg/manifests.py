"""What manifest lists and manifests name: of each row only the few fields that say so are read, whatever the format version.

Iceberg spec, "Manifests" and "Manifest Lists". Avro fields are found by their field ids, which versions 1, 2 and 3 share.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyiceberg.avro.codecs import AVRO_CODEC_KEY
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.avro.file import META_SCHEMA, SYNC_SIZE, AvroFileHeader
from pyiceberg.avro.reader import DefaultReader, OptionReader, Reader, StructReader
from pyiceberg.avro.resolver import construct_reader
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from catalog_format.errors import CorruptFileError

_DELETED = 2
_LISTED = StructType(
    NestedField(500, "manifest_path", StringType(), required=True),
    NestedField(501, "manifest_length", LongType(), required=False),
    NestedField(504, "added_files_count", IntegerType(), required=False),
    NestedField(505, "existing_files_count", IntegerType(), required=False),
)
_ENTRY = StructType(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(2, "data_file", StructType(NestedField(100, "file_path", StringType(), required=True)), required=True),
)


class ListedManifest(NamedTuple):
    """A manifest, as a manifest list names it."""

    location: str
    length: int | None
    """In bytes; None if not known."""
    is_empty: bool
    """Whether it surely has no live entry."""


def manifests_in(data: bytes, location: str) -> list[ListedManifest]:
    """The manifests that a manifest list names. Raises `CorruptFileError`."""
    return [ListedManifest(row[0], row[1], row[2] == 0 and row[3] == 0) for row in _records(data, _LISTED, location)]


def live_files_in(data: bytes, location: str, length: int | None = None) -> list[str]:
    """Locations of the data files, delete files and deletion vectors (their puffin file, once) that a manifest's live entries name.

    Raises `CorruptFileError`, also if the manifest is not as long as its list says.
    """
    if length is not None and len(data) != length:
        raise CorruptFileError(f"Manifest {location} has {len(data)} bytes instead of {length}: restore it")
    found = dict[str, None]()
    for row in _records(data, _ENTRY, location):
        if row[0] != _DELETED:
            found[row[1][0]] = None
    return list(found)


class _Decoder(StreamingBinaryDecoder):
    """PyIceberg's decoder in Python: its compiled one reads past the end of damaged bytes. This one never goes back either."""

    def skip(self, n: int) -> None:
        if n < 0:
            raise ValueError(f"a length of {n}")
        super().skip(n)


def _records(data: bytes, wanted: StructType, location: str) -> Iterator[Record]:
    """The rows of an Avro object container file, with the wanted fields only."""
    try:
        yield from _decoded(data, wanted)
    except Exception as error:
        # Damaged bytes lead the decoder anywhere; each way out means the same.
        raise CorruptFileError(f"{location} cannot be read as an Avro file of Iceberg's: {error or type(error).__name__}") from error


def _decoded(data: bytes, wanted: StructType) -> Iterator[Record]:
    decoder = _Decoder(data)
    header: AvroFileHeader = construct_reader(META_SCHEMA, {-1: AvroFileHeader}).read(decoder)
    file_schema = AvroSchemaConversion().avro_to_iceberg(_without_logical_types(json.loads(header.meta["avro.schema"])))
    # A writer that names no codec has compressed nothing (Avro spec), which PyIceberg's own reading takes for gzip.
    codec = header.compression_codec() if AVRO_CODEC_KEY in header.meta else None
    reader = _projection(file_schema.as_struct(), wanted)
    while decoder.tell() < len(data):
        count, block = decoder.read_int(), decoder.read_bytes()
        # PyIceberg's `AvroFile` takes a file that ends within a block for a shorter one; here it is an error.
        if decoder.read(SYNC_SIZE) != header.sync:
            raise ValueError("a block does not end where it should")
        plain = codec.decompress(block) if codec is not None else block
        rows = _Decoder(plain)
        for _ in range(count):
            yield reader.read(rows)
        if rows.tell() != len(plain):
            raise ValueError("a block holds something else than its rows")


def _projection(written: StructType, wanted: StructType) -> Reader:
    """A reader of the wanted fields that skips the others; PyIceberg's own cannot leave out a list or a map."""
    positions = {field.field_id: position for position, field in enumerate(wanted.fields)}
    readers: list[tuple[int | None, Reader]] = []
    for field in written.fields:
        position = positions.pop(field.field_id, None)
        inner = None if position is None else wanted.fields[position].field_type
        if isinstance(inner, StructType) and isinstance(field.field_type, StructType):
            reader = _projection(field.field_type, inner)
        else:
            reader = construct_reader(field.field_type)
        readers.append((position, reader if field.required else OptionReader(reader)))
    for position in positions.values():
        if wanted.fields[position].required:
            raise ValueError(f"it has no field {wanted.fields[position].name}")
        readers.append((position, DefaultReader(None)))
    return StructReader(tuple(readers), Record, wanted)


def _without_logical_types(avro: Any) -> Any:
    """The same Avro schema with physical types alone (maps as lists of pairs stay): enough to skip a partition value of any type."""
    if isinstance(avro, list):
        return [_without_logical_types(part) for part in avro]
    if not isinstance(avro, dict):
        return avro
    if isinstance(avro.get("type"), str) and avro.get("logicalType") not in {None, "map"}:
        avro = {key: value for key, value in avro.items() if key != "logicalType"}
    return {key: _without_logical_types(value) if key in {"type", "fields", "items"} else value for key, value in avro.items()}
