"""Protocol buffers for the second reader: a schema read from FORMAT.md, and a decoder for what proto3 writes.

It imports nothing of Treeline either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


class DamageError(Exception):
    """Something in the catalog is not as FORMAT.md says."""


def require(holds: bool, problem: str) -> None:
    if not holds:
        raise DamageError(problem)


@dataclass(frozen=True)
class FieldType:
    name: str
    type: str
    label: str = ""


@dataclass
class Schema:
    """Messages as {number: field}, enums as {number: name}."""

    messages: dict[str, dict[int, FieldType]] = field(default_factory=dict)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)

    def decode(self, name: str, data: bytes) -> Message:
        """A message as a dict; unset fields have proto3's defaults, unset `optional` and `oneof` fields are left out."""
        fields = self.messages[name]
        message: Message = {one.name: self._default(one) for one in fields.values() if one.label not in {"optional", "oneof"}}
        for number, payload in _wire_fields(data):
            if number not in fields:
                continue
            one = fields[number]
            if one.label == "repeated":
                message[one.name].append(self._value(one.type, payload))
            elif one.label == "map":
                entry = {1: b"", 2: b""} | dict(_wire_fields(_as_bytes(payload)))
                message[one.name][_as_bytes(entry[1]).decode()] = _as_bytes(entry[2]).decode()
            else:
                message[one.name] = self._value(one.type, payload)
        return message

    def _default(self, one: FieldType) -> Any:
        if one.label:
            return {} if one.label == "map" else []
        if one.type in self.enums:
            return self.enums[one.type][0]
        return {"string": "", "bytes": b"", "bool": False}.get(one.type, None if one.type in self.messages else 0)

    def _value(self, type_name: str, payload: int | bytes) -> Any:
        if type_name in self.messages:
            return self.decode(type_name, _as_bytes(payload))
        if type_name == "bytes":
            return payload
        if type_name == "string":
            return _as_bytes(payload).decode()
        require(isinstance(payload, int), f"a field of type {type_name} holds bytes")
        assert isinstance(payload, int)
        if type_name in self.enums:
            require(payload in self.enums[type_name], f"{type_name} has no value {payload}")
            return self.enums[type_name][payload]
        if type_name == "bool":
            return payload != 0
        return payload - (1 << 64) if type_name == "int64" and payload >> 63 else payload


def _as_bytes(payload: int | bytes) -> bytes:
    require(isinstance(payload, bytes), "a number stands where bytes belong")
    assert isinstance(payload, bytes)
    return payload


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        require(at < len(data) and shift < 70, "a number is cut off")
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number & (1 << 64) - 1, at


def _wire_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        require(tag & 7 in {0, 2}, f"wire type {tag & 7} occurs in no message of the format")
        number, at = _varint(data, at)
        if tag & 7 == 0:
            yield tag >> 3, number
        else:
            require(at + number <= len(data), "a field is cut off")
            yield tag >> 3, data[at : at + number]
            at += number


def schema_of(document: str) -> Schema:
    """The messages and enums in the document's `proto` blocks."""
    source = re.sub(r"//[^\n]*", "", "\n".join(re.findall(r"^```proto\n(.*?)^```", document, re.S | re.M)))
    schema = Schema()
    for name, body in re.findall(r"enum (\w+) \{(.*?)\}", source, re.S):
        schema.enums[name] = {int(number): value for value, number in re.findall(r"(\w+) = (\d+);", body)}
    for name, body in re.findall(r"message (\w+) \{(.*?)^\}", source, re.S | re.M):
        in_oneof = "".join(re.findall(r"oneof \w+ \{(.*?)\}", body, re.S))
        found = schema.messages.setdefault(name, {})
        for label, type_name, field_name, number in re.findall(r"(repeated |optional |)(map<[^>]*>|\w+) (\w+) = (\d+);", body):
            kind = "map" if type_name.startswith("map") else label.strip()
            found[int(number)] = FieldType(field_name, type_name, "oneof" if f" {field_name} =" in in_oneof else kind)
    return schema
