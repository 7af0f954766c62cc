"""Reading JSON bodies, with errors that name the path of what is wrong."""

from __future__ import annotations

from typing import TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from catalog_format.errors import InvalidArgumentError
from irc_server.wire.described import WRONG_ENTRY, Json

T = TypeVar("T")

# Deeper values can be read and not be written again (254 levels, and metadata are put a few levels further down).
_SURELY_SHALLOW = 200
_ROOM = 12

_WRONG = {
    "missing": "is missing",
    "too_short": "must not be empty",
    "string_type": "must be a string",
    "bool_type": "must be a boolean",
    "dict_type": "must be an object",
    "list_type": "must be an array",
}


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


def parse_as(kind: TypeAdapter[T], body: bytes) -> T:
    """The body as a type of `wire.requests`. Raises `InvalidArgumentError` that names the first member that is wrong."""
    value = parse_object(body)
    try:
        return kind.validate_python(value, strict=True)
    except ValidationError as error:
        raise InvalidArgumentError(_said(error.errors(include_url=False)[0])) from None


def _check_depth(value: object) -> None:
    for _ in range(_ROOM):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise InvalidArgumentError(f"The body is nested too deeply: {error}") from None


def _said(error: ErrorDetails) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"]).removeprefix(".")
    if error["type"] == WRONG_ENTRY:
        return f"{path}.{error['ctx']['key']} must be a string"
    # Null is how some clients write that they have nothing to say.
    absent = error["input"] is None and not path.endswith("]")
    what = "missing" if absent else error["type"]
    return f"{path} {_WRONG.get(what) or error['msg']}"
