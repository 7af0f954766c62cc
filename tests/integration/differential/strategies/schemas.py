"""Schemas of every type, with defaults, documentation and identifier fields; mostly good ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.integration.differential.outcome import Json

DEFAULTS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [7, -(1 << 31)],
    "long": [7, (1 << 63) - 1],
    "float": [1.5, -0.25],
    "double": [1.5, 1e100],
    "date": ["2026-02-28", "1969-12-31"],
    "time": ["22:31:08.123456", "00:00"],
    "timestamp": ["2026-02-28T22:31:08.123456", "1969-12-31T23:59:59"],
    "timestamptz": ["2026-02-28T22:31:08.123456+00:00"],
    "timestamp_ns": ["2026-02-28T22:31:08.123456789"],
    "timestamptz_ns": ["2026-02-28T22:31:08.123456789+00:00"],
    "string": ["", "iceberg ❄"],
    "uuid": ["f79c3e09-677c-4bbd-a479-3f349cb785e7"],
    "fixed[4]": ["01020aff"],
    "binary": ["", "000102FF"],
    "decimal(9, 2)": ["14.20", "-0.01"],
    "decimal(38, 0)": ["12345678901234567890123456789012345678"],
    "variant": [],
    "unknown": [],
    "geometry": [],
    "geometry(EPSG:4326)": [],
    "geography": [],
    "geography(OGC:CRS84, karney)": [],
}
"""Every primitive type with good defaults."""
_V3_ONLY = ("timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geography")
_OLD_TYPES = [name for name in DEFAULTS if not name.startswith(_V3_ONLY)]
_IDENTIFYING = ("boolean", "int", "long", "date", "string", "uuid", "decimal(9, 2)")
ODD_DEFAULTS: list[Any] = [
    *[None, "", "x", 0, 1, 1.0, True, [], {}],
    # The ends of numbers.
    *[1 << 31, (1 << 31) - 1, 1 << 63, (1 << 63) - 1, -(1 << 63), 3.4028235e38, 3.5e38, -3.5e38, 1e-46, 16777217, 0.1],
    *["14.2", "1e2", "1.420E1", "1E-2", "+14.20", "14,20", ".20", "14.", " 14.20", "14.20 ", "1_0.20", "NaN", "0x10", "12345678901.20"],
    # Days and times that there are not, and other spellings of those that there are.
    *["2026-2-28", "2026-02-30", "2023-02-29", "2024-02-29", "2026-13-01", "-0001-01-01", "0000-01-01", "-0000-01-01"],
    *["+2026-01-01", "12026-01-01", "+12026-02-28", "+5881580-07-11", "+5881580-07-12", "-5877641-06-23"],
    *["24:00", "22:31:60", "22:31:08.", "22:31:08,5", "22:31:08.123456789", "22:31:08.1234567891"],
    *["2026-02-28 22:31:08", "2026-02-28T22:31", "2026-02-28T24:00:00", "2026-02-28t22:31:08", "2026-02-28T22:31:08.1234567891"],
    *["2262-04-11T23:47:16.854775807", "2262-04-11T23:47:16.854775808"],
    *["+294247-01-10T04:00:54.775807", "+294247-01-10T04:00:54.775808"],
    *["-290308-12-21T19:59:05.224192", "-290308-12-21T19:59:05.224191"],
    *["2026-02-28T22:31:08Z", "2026-02-28T22:31:08+01:00", "2026-02-28T22:31:08-00:00", "2026-02-28T22:31:08+00"],
    *["0g", "012", "01020AFF", "0102 0aff", "F79C3E09-677C-4BBD-A479-3F349CB785E7", "f79c3e09677c4bbda4793f349cb785e7", "1-1-1-1-1"],
]
SPELLINGS = {
    "decimal(9, 2)": ["decimal(9,2)", "DECIMAL( 9 , 2 )"],
    "fixed[4]": ["FIXED[ 4 ]"],
    "long": ["LONG"],
    "geometry": ["Geometry(OGC:CRS84)", "geometry( EPSG:3857 )"],
    "geography": ["geography(OGC:CRS84)", "GEOGRAPHY(x, Spherical)"],
}
ODD_TYPES = [
    "decimal(39, 2)",
    "decimal(9)",
    "fixed[]",
    "fixed[0]",
    "int32",
    "",
    "geography(OGC:CRS84, none)",
    "geometry()",
    "decimal(2, 9)",
]
_NAMES = ["a", "b", "A", "element", "❄", "data"]
_ODD_NAMES = ["a.b", "a.element", "id", ""]

CORE: list[Json] = [
    {"id": 1, "name": "id", "required": True, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
    {"id": 3, "name": "at", "required": False, "type": "timestamptz"},
]
"""The columns that specs and sort orders are made of."""


def rarely(draw: st.DrawFn, one_in: int) -> bool:
    """True once in so many times. Shrinks to false."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


@st.composite
def schemas(draw: st.DrawFn, format_version: int, *, odd: bool = False) -> Json:
    """A schema that the format version can hold; with `odd`, now and then one that no table can have."""
    ids = count(4)
    names = draw(st.lists(st.sampled_from(_NAMES), max_size=3, unique=True))
    core = [dict(field) for field in CORE if not rarely(draw, 8)]
    fields = core + [_field(draw, name, ids, format_version, 2, odd) for name in names]
    if odd and rarely(draw, 12) and fields:
        fields = [*fields, {**draw(st.sampled_from(fields)), **draw(st.sampled_from([{}, {"id": 90}, {"name": "other"}]))}]
    schema: Json = {"type": "struct", "schema-id": draw(st.integers(0, 3)), "fields": fields}
    candidates = [field["id"] for field in fields if field["required"] and field["type"] in _IDENTIFYING]
    if rarely(draw, 4):
        pool = candidates if not odd else [1, 2, 4, 5, 6, 99]
        if pool:
            schema["identifier-field-ids"] = draw(st.lists(st.sampled_from(pool), unique=True, max_size=2))
    return schema


def _field(draw: st.DrawFn, name: str, ids: Iterator[int], version: int, depth: int, odd: bool) -> Json:
    field_id = next(ids)
    if odd and rarely(draw, 25):
        field_id = draw(st.sampled_from([0, -1, 1, 2147483647, 200]))
    if odd and rarely(draw, 25):
        name = draw(st.sampled_from(_ODD_NAMES))
    kind = _type(draw, ids, version, depth, odd)
    field: Json = {"id": field_id, "name": name, "required": draw(st.booleans()), "type": kind}
    if kind == "unknown" and not odd:
        field["required"] = False
    if rarely(draw, 4):
        field["doc"] = draw(st.sampled_from(["", "a column", "❄"]))
    for member in ("initial-default", "write-default"):
        if rarely(draw, 3):
            good = DEFAULTS.get(kind, []) if isinstance(kind, str) else []
            if odd and rarely(draw, 3):
                field[member] = draw(st.sampled_from(ODD_DEFAULTS))
            elif good and (version > 2 or odd):
                field[member] = draw(st.sampled_from(good))
    return field


def _type(draw: st.DrawFn, ids: Iterator[int], version: int, depth: int, odd: bool) -> Any:
    shape = draw(st.integers(0, 9)) if depth else 0
    if shape < 6:
        # Types of other format versions are for the updates to be refused.
        plain: str = draw(st.sampled_from(list(DEFAULTS) if version > 2 or (odd and rarely(draw, 4)) else _OLD_TYPES))
        if odd and rarely(draw, 10):
            return draw(st.sampled_from([*SPELLINGS.get(plain, []), *ODD_TYPES]))
        return plain
    if shape < 8:
        return {
            "type": "struct",
            "fields": [
                _field(draw, name, ids, version, depth - 1, odd)
                for name in draw(st.lists(st.sampled_from(_NAMES), max_size=2, unique=True))
            ],
        }
    if shape == 8:
        element_id = next(ids)
        return {
            "type": "list",
            "element-id": element_id,
            **_nested(draw, "element", ids, version, depth, odd),
            "element-required": draw(st.booleans()),
        }
    key_id, value_id = next(ids), next(ids)
    return {
        "type": "map",
        "key-id": key_id,
        **_nested(draw, "key", ids, version, depth, odd),
        "value-id": value_id,
        **_nested(draw, "value", ids, version, depth, odd),
        "value-required": draw(st.booleans()),
    }


def _nested(draw: st.DrawFn, member: str, ids: Iterator[int], version: int, depth: int, odd: bool) -> Json:
    kind = _type(draw, ids, version, depth - 1, odd)
    # Nothing required can be unknown, and keys always are.
    return {member: "int" if kind == "unknown" and not odd else kind}
