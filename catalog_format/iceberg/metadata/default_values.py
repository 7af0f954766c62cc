"""Default values of columns, as JSON (spec, appendix D, "JSON single-value serialization"; Iceberg Java `SingleValueParser`).

A default that Java cannot read would make the whole table unreadable, so that all is refused that it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.field_types import FieldType
from catalog_format.iceberg.metadata.json_fields import shown

_DATE = r"[+-]?\d{4,9}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_TIMESTAMP = f"{_DATE}T{_TIME}"
_ZONED = rf"{_TIMESTAMP}\+00:00"


def check_default(field_type: FieldType, value: object) -> None:
    """Raise `InvalidArgumentError` unless the JSON value can be a default of the type; null always can."""
    if value is None:
        return
    accepts = _ACCEPTS.get(field_type.kind)
    if accepts is None:
        raise InvalidArgumentError(f"Invalid default value for {field_type}: {shown(value)} (must be null)")
    if not accepts(value, field_type):
        raise InvalidArgumentError(f"Cannot parse default as a {field_type} value: {shown(value)}")


def _integer(bits: int) -> Callable[[object, FieldType], bool]:
    limit = 1 << (bits - 1)
    return lambda value, field_type: isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _text(pattern: str) -> Callable[[object, FieldType], bool]:
    compiled = re.compile(pattern, re.DOTALL)
    return lambda value, field_type: isinstance(value, str) and compiled.fullmatch(value) is not None


def _decimal(value: object, field_type: FieldType) -> bool:
    try:
        exponent = Decimal(value).as_tuple().exponent if isinstance(value, str) else None
    except InvalidOperation:
        return False
    scale = int(field_type.text.removesuffix(")").rpartition(",")[2])
    return isinstance(exponent, int) and -exponent == scale


def _fixed(value: object, field_type: FieldType) -> bool:
    length = int(field_type.text.removeprefix("fixed[").removesuffix("]"))
    return isinstance(value, str) and re.fullmatch(f"[0-9a-fA-F]{{{2 * length}}}", value) is not None


_ACCEPTS: Final[dict[str, Callable[[object, FieldType], bool]]] = {
    "boolean": lambda value, field_type: isinstance(value, bool),
    "int": _integer(32),
    "long": _integer(64),
    "float": lambda value, field_type: isinstance(value, float),
    "double": lambda value, field_type: isinstance(value, float),
    "decimal": _decimal,
    "string": _text(".*"),
    "uuid": _text("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "date": _text(_DATE),
    "time": _text(_TIME),
    "timestamp": _text(_TIMESTAMP),
    "timestamp_ns": _text(_TIMESTAMP),
    "timestamptz": _text(_ZONED),
    "timestamptz_ns": _text(_ZONED),
    "fixed": _fixed,
    "binary": _text("([0-9a-fA-F]{2})*"),
}
