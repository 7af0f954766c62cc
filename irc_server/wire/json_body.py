"""Reading JSON bodies: typed fields, and errors that name the path of what is wrong."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson

from catalog_format.errors import InvalidArgumentError
from catalog_format.keys import Identifier

T = TypeVar("T")
Json = dict[str, Any]

# Deeper values can be read and not be written again (254 levels, and metadata are put a few levels further down).
_SURELY_SHALLOW = 200
_ROOM = 12

_NAMES = {str: "a string", int: "a number", bool: "a boolean", dict: "an object", list: "an array"}


def parse_object(body: bytes) -> Json:
    """The body as a JSON object. Raises `InvalidArgumentError`."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidArgumentError(f"The body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError("The body must be a JSON object")
    if body.count(b"[") + body.count(b"{") > _SURELY_SHALLOW:
        _check_depth(value)
    return value


def _check_depth(value: object) -> None:
    for _ in range(_ROOM):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise InvalidArgumentError(f"The body is nested too deeply: {error}") from None


def _typed(value: object, kind: type[T], path: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidArgumentError(f"{path} must be {_NAMES[kind]}")
    return value


def required(body: Json, name: str, kind: type[T], within: str = "") -> T:
    """A field that must be there. Raises `InvalidArgumentError` that names it."""
    path = f"{within}.{name}" if within else name
    if body.get(name) is None:
        raise InvalidArgumentError(f"{path} is missing")
    return _typed(body[name], kind, path)


def optional(body: Json, name: str, kind: type[T], within: str = "") -> T | None:
    """A field that may be absent or null."""
    if body.get(name) is None:
        return None
    return _typed(body[name], kind, f"{within}.{name}" if within else name)


def string_map(body: Json, name: str) -> dict[str, str]:
    """An optional object of strings."""
    value = optional(body, name, dict) or {}
    return {key: _typed(entry, str, f"{name}.{key}") for key, entry in value.items()}


def string_list(body: Json, name: str, within: str = "") -> list[str]:
    """An optional array of strings."""
    value: list[object] = optional(body, name, list, within) or []
    path = f"{within}.{name}" if within else name
    return [_typed(entry, str, f"{path}[{index}]") for index, entry in enumerate(value)]


def object_list(body: Json, name: str, within: str = "") -> list[Json]:
    """A required array of objects."""
    value: list[object] = required(body, name, list, within)
    path = f"{within}.{name}" if within else name
    return [_typed(entry, dict, f"{path}[{index}]") for index, entry in enumerate(value)]


def table_identifier(body: Json, name: str, within: str = "") -> Identifier:
    """`{"namespace": […], "name": …}` as levels."""
    value: Json = required(body, name, dict, within)
    path = f"{within}.{name}" if within else name
    levels = string_list(value, "namespace", path)
    if not levels:
        raise InvalidArgumentError(f"{path}.namespace must have at least one level")
    return (*levels, required(value, "name", str, path))
