"""Default values of columns, as JSON (spec, appendix D, "JSON single-value serialization"; Iceberg Java `SingleValueParser`).

A default that Java cannot read would make the whole table unreadable, so that all is refused that it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.field_types import FieldType
from catalog_format.iceberg.metadata.json_fields import shown

# Years beyond four digits carry a sign; a year 0 does not (Java `DateTimeFormatter.ISO_LOCAL_DATE`).
_DATE = r"(?!-0000)(-?\d{4}|[+-]\d{5,9})-(\d{2})-(\d{2})"
_TIME = r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_DATES, _TIMES = re.compile(_DATE, re.ASCII), re.compile(_TIME, re.ASCII)
_TIMESTAMPS, _ZONED = re.compile(f"{_DATE}T{_TIME}", re.ASCII), re.compile(rf"{_DATE}T{_TIME}\+00:00", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_NANOS_A_SECOND = 1_000_000_000
_SECONDS_A_DAY = 86_400
# The calendar repeats itself.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


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
    return lambda value, field_type: isinstance(value, int) and not isinstance(value, bool) and _fits(value, bits)


def _text(pattern: str) -> Callable[[object, FieldType], bool]:
    compiled = re.compile(pattern, re.DOTALL)
    return lambda value, field_type: isinstance(value, str) and compiled.fullmatch(value) is not None


def _is_date(value: object, field_type: FieldType) -> bool:
    match = _DATES.fullmatch(value) if isinstance(value, str) else None
    days = None if match is None else _days(*match.groups())
    return days is not None and _fits(days, 32)


def _is_time(value: object, field_type: FieldType) -> bool:
    match = _TIMES.fullmatch(value) if isinstance(value, str) else None
    return match is not None and _nanos(*match.groups()) is not None


def _moment(pattern: re.Pattern[str], unit_nanos: int) -> Callable[[object, FieldType], bool]:
    """A date and time whose distance from 1970, in units of so many nanoseconds, is a 64-bit integer."""

    def accepts(value: object, field_type: FieldType) -> bool:
        match = pattern.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return False
        days, nanos = _days(*match.groups()[:3]), _nanos(*match.groups()[3:])
        if days is None or nanos is None:
            return False
        return _fits((days * _SECONDS_A_DAY * _NANOS_A_SECOND + nanos) // unit_nanos, 64)

    return accepts


def _days(year: str, month: str, day: str) -> int | None:
    """Days since 1970; None if there is no such day."""
    cycles, year_of_cycle = divmod(int(year), _CYCLE_YEARS)
    try:
        same_day = date(_CYCLE_YEARS + year_of_cycle, int(month), int(day))
    except ValueError:
        return None
    return same_day.toordinal() - _EPOCH + (cycles - 1) * _CYCLE_DAYS


def _nanos(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    """Nanoseconds since midnight; None if there is no such time."""
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        return None
    return (int(hour) * 3600 + int(minute) * 60 + int(second or 0)) * _NANOS_A_SECOND + int((fraction or "").ljust(9, "0"))


def _fits(number: int, bits: int) -> bool:
    limit = 1 << (bits - 1)
    return -limit <= number < limit


def _decimal(value: object, field_type: FieldType) -> bool:
    # Python's decimals may have spaces around them and underscores within, Java's may not.
    if not isinstance(value, str) or "_" in value or value != value.strip():
        return False
    try:
        exponent = Decimal(value).as_tuple().exponent
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
    "date": _is_date,
    "time": _is_time,
    "timestamp": _moment(_TIMESTAMPS, 1000),
    "timestamp_ns": _moment(_TIMESTAMPS, 1),
    "timestamptz": _moment(_ZONED, 1000),
    "timestamptz_ns": _moment(_ZONED, 1),
    "fixed": _fixed,
    "binary": _text("([0-9a-fA-F]{2})*"),
}
