"""Typed reading of single fields of decoded JSON, with the strictness of Iceberg Java's `JsonUtil`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from catalog_format.errors import InvalidArgumentError

JsonObject = dict[str, Any]

_INT_LIMIT = 1 << 31
_LONG_LIMIT = 1 << 63
_SHOWN_CHARACTERS = 200


def shown(value: object) -> str:
    """The value as JSON for a message, cut to a readable length."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def as_object(value: object, what: str) -> JsonObject:
    """The value as a JSON object. Raises `InvalidArgumentError`."""
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"Cannot parse {what} from non-object value: {shown(value)}")
    return value


def as_array(value: object, what: str) -> list[Any]:
    """The value as a JSON array. Raises `InvalidArgumentError`."""
    if not isinstance(value, list):
        raise InvalidArgumentError(f"Cannot parse {what} from non-array value: {shown(value)}")
    return value


def get_object(node: JsonObject, key: str) -> JsonObject:
    """A required object. Raises `InvalidArgumentError`."""
    value = node.get(key)
    if value is None:
        raise InvalidArgumentError(f"Cannot parse missing field: {key}")
    return as_object(value, key)


def get_array(node: JsonObject, key: str) -> list[Any]:
    """A required array. Raises `InvalidArgumentError`."""
    value = node.get(key)
    if value is None:
        raise InvalidArgumentError(f"Cannot parse missing field: {key}")
    return as_array(value, key)


def get_int(node: JsonObject, key: str) -> int:
    """A required 32-bit integer. Raises `InvalidArgumentError`."""
    return _integer(node, key, "int", "an integer", _INT_LIMIT)


def get_int_or_none(node: JsonObject, key: str) -> int | None:
    """A 32-bit integer; None if absent or null. Raises `InvalidArgumentError`."""
    return None if node.get(key) is None else get_int(node, key)


def get_long(node: JsonObject, key: str) -> int:
    """A required 64-bit integer. Raises `InvalidArgumentError`."""
    return _integer(node, key, "long", "a long", _LONG_LIMIT)


def get_long_or_none(node: JsonObject, key: str) -> int | None:
    """A 64-bit integer; None if absent or null. Raises `InvalidArgumentError`."""
    return None if node.get(key) is None else get_long(node, key)


def get_bool(node: JsonObject, key: str) -> bool:
    """A required boolean. Raises `InvalidArgumentError`."""
    if key not in node:
        raise InvalidArgumentError(f"Cannot parse missing boolean: {key}")
    value = node[key]
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"Cannot parse to a boolean value: {key}: {shown(value)}")
    return value


def get_string(node: JsonObject, key: str) -> str:
    """A required string. Raises `InvalidArgumentError`."""
    if key not in node:
        raise InvalidArgumentError(f"Cannot parse missing string: {key}")
    value = node[key]
    if not isinstance(value, str):
        raise InvalidArgumentError(f"Cannot parse to a string value: {key}: {shown(value)}")
    return value


def get_string_or_none(node: JsonObject, key: str) -> str | None:
    """A string; None if absent or null. Raises `InvalidArgumentError`."""
    return None if node.get(key) is None else get_string(node, key)


def get_string_map(node: JsonObject, key: str) -> dict[str, str]:
    """A required object whose values are all strings. Raises `InvalidArgumentError`."""
    if key not in node:
        raise InvalidArgumentError(f"Cannot parse missing map: {key}")
    value = node[key]
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"Cannot parse string map from non-object value: {key}: {shown(value)}")
    for name in value:
        get_string(value, name)
    return value


def get_strings(node: JsonObject, key: str) -> list[str]:
    """A required array of strings. Raises `InvalidArgumentError`."""
    values = get_array(node, key)
    for value in values:
        if not isinstance(value, str):
            raise InvalidArgumentError(f"Cannot parse string from non-text value in {key}: {shown(value)}")
    return values


def get_ints(node: JsonObject, key: str) -> list[int]:
    """A required array of 32-bit integers. Raises `InvalidArgumentError`."""
    return _integers(node, key, "integer", _INT_LIMIT)


def get_longs(node: JsonObject, key: str) -> list[int]:
    """A required array of 64-bit integers. Raises `InvalidArgumentError`."""
    return _integers(node, key, "long", _LONG_LIMIT)


def check_distinct(what: str, ids: Iterable[int | str]) -> None:
    """Raise `InvalidArgumentError` if an id comes twice."""
    seen: set[int | str] = set()
    for one in ids:
        if one in seen:
            raise InvalidArgumentError(f"Invalid metadata: more than one {what} with id {one}")
        seen.add(one)


def without_nulls(node: JsonObject) -> JsonObject:
    """The same object, or a copy without its null members: some clients write null where readers expect absence."""
    if None not in node.values():
        return node
    return {key: value for key, value in node.items() if value is not None}


def _is_integer(value: object, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _integers(node: JsonObject, key: str, kind: str, limit: int) -> list[int]:
    values = get_array(node, key)
    for value in values:
        if not _is_integer(value, limit):
            raise InvalidArgumentError(f"Cannot parse {kind} from non-{kind} value in {key}: {shown(value)}")
    return values


def _integer(node: JsonObject, key: str, kind: str, phrase: str, limit: int) -> int:
    if key not in node:
        raise InvalidArgumentError(f"Cannot parse missing {kind}: {key}")
    value = node[key]
    if not _is_integer(value, limit):
        raise InvalidArgumentError(f"Cannot parse to {phrase} value: {key}: {shown(value)}")
    return int(value)
