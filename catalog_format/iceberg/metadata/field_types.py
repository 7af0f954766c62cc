"""Types of schema fields: parsing, equality, and the format version that introduced each (Iceberg Java `Types`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import shown

NESTED_KINDS: Final = frozenset({"struct", "list", "map"})

# Kinds that older format versions cannot hold, with the first that can (Java `Schema.MIN_FORMAT_VERSIONS`).
MIN_FORMAT_VERSIONS: Final = {
    "timestamp_ns": 3,
    "timestamptz_ns": 3,
    "variant": 3,
    "unknown": 3,
    "geometry": 3,
    "geography": 3,
}

_PLAIN: Final = frozenset(
    {
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "timestamptz_ns",
        "string",
        "uuid",
        "binary",
        "unknown",
        "variant",
    }
)
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_GEOMETRY = re.compile(r"geometry\s*(?:\(\s*([^)]*?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography\s*(?:\(\s*([^,]*?)\s*(?:,\s*(\w*)\s*)?\))?", re.IGNORECASE)
_DEFAULT_CRS = "OGC:CRS84"
_DEFAULT_EDGES = "spherical"
_EDGE_ALGORITHMS = frozenset({"spherical", "vincenty", "thomas", "andoyer", "karney"})
_MAX_DECIMAL_PRECISION = 38


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type: its kind ("int", "decimal", "struct", …) and its canonical text ("decimal(9, 2)")."""

    kind: str
    text: str

    @property
    def is_primitive(self) -> bool:
        return self.kind not in NESTED_KINDS and self.kind != "variant"

    def __str__(self) -> str:
        return self.text


def parse_type_name(name: str) -> FieldType:
    """A type from its name, such as `timestamptz` or `decimal(9, 2)`. Raises `InvalidArgumentError` if unknown."""
    lowered = name.lower()
    if lowered in _PLAIN:
        return FieldType(lowered, lowered)
    if match := _FIXED.fullmatch(lowered):
        return FieldType("fixed", f"fixed[{int(match[1])}]")
    if match := _DECIMAL.fullmatch(lowered):
        precision, scale = int(match[1]), int(match[2])
        if precision > _MAX_DECIMAL_PRECISION:
            raise InvalidArgumentError(f"Decimals with precision larger than 38 are not supported: {precision}")
        return FieldType("decimal", f"decimal({precision}, {scale})")
    if match := _GEOMETRY.fullmatch(name):
        return FieldType("geometry", f"geometry({_crs(match[1])})")
    if match := _GEOGRAPHY.fullmatch(name):
        edges = _DEFAULT_EDGES if match[2] is None else match[2].lower()
        if edges not in _EDGE_ALGORITHMS:
            raise InvalidArgumentError(f"Invalid edge interpolation algorithm: {match[2]}")
        return FieldType("geography", f"geography({_crs(match[1])}, {edges})")
    raise InvalidArgumentError(f"Cannot parse type string to primitive: {name}")


def parse_type(raw: object) -> FieldType:
    """The type of a field's `type` member, without looking inside nested types. Raises `InvalidArgumentError`."""
    if isinstance(raw, str):
        return parse_type_name(raw)
    if isinstance(raw, dict) and isinstance(raw.get("type"), str) and raw["type"] in NESTED_KINDS:
        return FieldType(raw["type"], raw["type"])
    raise InvalidArgumentError(f"Cannot parse type from json: {shown(raw)}")


def type_key(name: str) -> str:
    """A text that is equal for equal types. A name this code does not know stands for itself: stored schemas may be newer."""
    try:
        parsed = parse_type_name(name)
    except InvalidArgumentError:
        return name
    # Coordinate reference systems compare without regard to case (Java `GeometryType.equals`).
    return parsed.text.lower()


def _crs(given: str | None) -> str:
    if given == "":
        raise InvalidArgumentError("Invalid CRS: (empty string)")
    return _DEFAULT_CRS if given is None else given
