"""Partition and sort transforms (Iceberg Java `Transforms`; spec, section "Partition Transforms")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.field_types import FieldType

_WITH_WIDTH = re.compile(r"(\w+)\[(\d+)\]")
_TIMESTAMPS = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_DATES = _TIMESTAMPS | {"date"}
_TRUNCATABLE = frozenset({"int", "long", "string", "binary", "decimal"})
_BUCKETABLE = _TRUNCATABLE | _DATES | {"time", "fixed", "uuid"}
_SOURCES: Final = {
    "year": _DATES,
    "month": _DATES,
    "day": _DATES,
    "hour": _TIMESTAMPS,
    "bucket": _BUCKETABLE,
    "truncate": _TRUNCATABLE,
}
_UNSORTABLE = frozenset({"geometry", "geography", "variant"})


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform: its name and canonical text. One that this code does not know keeps the text it came with."""

    name: str
    text: str

    def accepts(self, source: FieldType) -> bool:
        """Whether the transform can be applied to the type; an unknown transform is assumed to."""
        if self.name == "identity":
            return source.is_primitive and source.kind not in _UNSORTABLE
        kinds = _SOURCES.get(self.name)
        return kinds is None or source.kind in kinds

    def __str__(self) -> str:
        return self.text


def parse_transform(text: str) -> Transform:
    """A transform from its text, such as `day` or `bucket[16]`. Raises `InvalidArgumentError` for a width of 0."""
    lowered = text.lower()
    if match := _WITH_WIDTH.fullmatch(lowered):
        name, width = match[1], int(match[2])
        if name == "bucket":
            if width <= 0:
                raise InvalidArgumentError(f"Invalid number of buckets: {width} (must be > 0)")
            return Transform(name, f"bucket[{width}]")
        if name == "truncate":
            if width <= 0:
                raise InvalidArgumentError(f"Invalid truncate width: {width} (must be > 0)")
            return Transform(name, f"truncate[{width}]")
    if lowered in ("identity", "year", "month", "day", "hour", "void"):
        return Transform(lowered, lowered)
    return Transform("unknown", text)
