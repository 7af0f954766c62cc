"""What the types of bodies are made of: JSON that is described in full and taken as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

Json = dict[str, Any]
WRONG_ENTRY = "wrong_entry"
"""The type of the error about an entry of `Properties`; its context names the `key`."""


@dataclass(frozen=True, slots=True)
class DescribedAs:
    """The document shows `kind`; requests are read by the annotated type alone, unknown members and all."""

    kind: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(json_schema=handler.generate_schema(self.kind), python_schema=handler(source))


@dataclass(frozen=True, slots=True)
class StopAtFirst:
    """A list is read until its first wrong item: bodies can be large, and so would the list of errors be."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return cast(CoreSchema, {**handler(source), "fail_fast": True})


@dataclass(frozen=True, slots=True)
class _Strings:
    """Every value is a string; this too stops at the first that is not."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_all_strings, core_schema.dict_schema(strict=True))


def _all_strings(entries: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, value in entries.items():
        if not isinstance(value, str):
            raise PydanticCustomError(WRONG_ENTRY, "not a string", {"key": key})
    return entries


Properties = Annotated[dict[str, str], _Strings(), DescribedAs(dict[str, str])]
Levels = Annotated[list[str], StopAtFirst()]
"""A namespace, from its top level down."""
