"""Avro object container files as rows of physical values, so that what is not understood is written again as it was read.

Dates, decimals and the like are not converted: a value that Python's types cannot hold would otherwise be lost.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import orjson
from fastavro.types import AvroMessage, Schema

from catalog_format.errors import CorruptFileError

Row = dict[str, Any]

_HEADER: Final[Schema] = fastavro.parse_schema(
    {
        "type": "record",
        "name": "org.apache.avro.file.Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_SCHEMA_KEY: Final = "avro.schema"
_RESERVED_PREFIX: Final = "avro."
_CODEC: Final = "deflate"


@dataclass(frozen=True)
class AvroRows:
    """What an Avro file holds; shared, so never to be changed."""

    schema: dict[str, Any]
    """The writer's, with all attributes (field ids, logical types)."""
    metadata: Mapping[str, str]
    """The file's key-value pairs, without those of Avro itself."""
    rows: tuple[Row, ...]


def decode_rows(data: bytes, location: str, without: Container[int] = ()) -> AvroRows:
    """All rows, without the fields of these ids. Raises `CorruptFileError` for bytes that are no such file."""
    try:
        schema, metadata, rows = _opened(data, without)
        return AvroRows(schema, metadata, tuple(map(_as_row, rows)))
    except Exception as error:
        # Damaged bytes lead a decoder anywhere; each way out means the same.
        raise CorruptFileError(f"{location} cannot be read as an Avro file of Iceberg's: {error or type(error).__name__}") from error


def rows_in(data: bytes) -> tuple[dict[str, Any], Iterator[Row]]:
    """The writer's schema and the rows, one at a time, for who needs little of each. Damaged bytes raise anything, at any row."""
    schema, _, rows = _opened(data, ())
    return schema, map(_as_row, rows)


def encode_rows(schema: Mapping[str, Any], metadata: Mapping[str, str], rows: Iterable[Row], location: str) -> bytes:
    """The file to be written at a location: the same arguments give the same bytes."""
    out = io.BytesIO()
    sync = hashlib.md5(location.encode(), usedforsecurity=False).digest()
    fastavro.writer(out, dict(schema), rows, codec=_CODEC, metadata=dict(metadata), sync_marker=sync)
    return out.getvalue()


def _opened(data: bytes, without: Container[int]) -> tuple[dict[str, Any], dict[str, str], Iterable[AvroMessage]]:
    source = io.BytesIO(data)
    header: Any = fastavro.schemaless_reader(source, _HEADER, None)
    schema = orjson.loads(header["meta"][_SCHEMA_KEY])
    # The same blocks behind a header whose schema has physical types only: the reader converts nothing then.
    header["meta"][_SCHEMA_KEY] = orjson.dumps(_physical(schema))
    plain = io.BytesIO()
    fastavro.schemaless_writer(plain, _HEADER, header)
    plain.write(data[source.tell() :])
    plain.seek(0)
    metadata = {key: value.decode() for key, value in header["meta"].items() if not key.startswith(_RESERVED_PREFIX)}
    wanted = None if without == () else fastavro.parse_schema(_physical(_without(schema, without)))
    return schema, metadata, fastavro.reader(plain, wanted)


def _without(avro: Any, field_ids: Container[int]) -> Any:
    """A record's schema without the fields of these ids, also in the records within it."""
    if not isinstance(avro, dict) or "fields" not in avro:
        return avro
    kept = (field for field in avro["fields"] if field.get("field-id") not in field_ids)
    return avro | {"fields": [field | {"type": _without(field["type"], field_ids)} for field in kept]}


def _as_row(row: AvroMessage) -> Row:
    if not isinstance(row, dict):
        raise ValueError("a row is no record")
    return row


def _physical(avro: Any) -> Any:
    if isinstance(avro, list):
        return [_physical(part) for part in avro]
    if not isinstance(avro, dict):
        return avro
    return {
        key: _physical(value) if key in {"type", "fields", "items", "values"} else value
        for key, value in avro.items()
        if key != "logicalType"
    }
