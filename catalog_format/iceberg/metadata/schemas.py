"""Schemas: index of fields by id and name, validation, fresh ids, equality (Iceberg Java `Schema`, `TypeUtil`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import orjson

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.default_values import check_default
from catalog_format.iceberg.metadata.field_types import MIN_FORMAT_VERSIONS, FieldType, parse_type, type_key
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_array,
    get_bool,
    get_int,
    get_int_or_none,
    get_ints,
    get_string,
    get_string_or_none,
    shown,
    without_nulls,
)

INITIAL_SCHEMA_ID: Final = 0
_DEFAULT_VALUES_FORMAT_VERSION = 3
# Far beyond real schemas and far below Python's recursion limit.
_MAX_DEPTH = 150


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a schema, nested ones included."""

    field_id: int
    name: str
    full_name: str
    type: FieldType
    required: bool
    parent_id: int | None
    initial_default: Any


class Schema:
    """One schema of the JSON form, parsed and validated.

    Attributes: `raw` (the JSON it came from, never changed), `schema_id`, `fields` (by id), `identifier_field_ids`,
    `highest_field_id`.
    """

    def __init__(self, raw: object) -> None:
        """Parse. Raises `InvalidArgumentError` for anything Iceberg Java's `SchemaParser` or `Schema` refuses."""
        self.raw = as_object(raw, "schema")
        if self.raw.get("type") != "struct":
            raise InvalidArgumentError(f"Cannot create schema, not a struct type: {shown(self.raw.get('type'))}")
        get_int_or_none(self.raw, "schema-id")
        self.schema_id = schema_id_of(self.raw)
        self.fields: dict[int, Field] = {}
        self._ids_by_name: dict[str, int] = {}
        self._ids_by_short_name: dict[str, int] = {}
        self._visit_struct(self.raw, None, (), ())
        identifiers = get_ints(self.raw, "identifier-field-ids") if self.raw.get("identifier-field-ids") is not None else []
        self.identifier_field_ids = frozenset(identifiers)
        for field_id in identifiers:
            self._check_identifier_field(field_id)
        self.highest_field_id = max(self.fields, default=0)

    def find(self, name: str) -> Field | None:
        """A field by its full name (`a.b`), or by its short one (`list.x` for `list.element.x`). Raises on an empty name."""
        if not name:
            raise InvalidArgumentError("Invalid column name: (empty)")
        field_id = self._ids_by_name.get(name, self._ids_by_short_name.get(name))
        return None if field_id is None else self.fields[field_id]

    def check_format_version(self, format_version: int) -> None:
        """Raise `InvalidArgumentError` if a type or a default needs a later format version (Java `checkCompatibility`)."""
        problems = []
        for field in sorted(self.fields.values(), key=lambda item: item.field_id):
            needed = MIN_FORMAT_VERSIONS.get(field.type.kind, 1)
            if format_version < needed:
                problems.append(f"Invalid type for {field.full_name}: {field.type} is not supported until v{needed}")
            if field.initial_default is not None and format_version < _DEFAULT_VALUES_FORMAT_VERSION:
                problems.append(
                    f"Invalid initial default for {field.full_name}: non-null default ({shown(field.initial_default)}) "
                    f"is not supported until v{_DEFAULT_VALUES_FORMAT_VERSION}"
                )
        if problems:
            raise InvalidArgumentError(f"Invalid schema for v{format_version}:\n- " + "\n- ".join(problems))

    def _visit_struct(self, raw: JsonObject, parent_id: int | None, path: tuple[str, ...], short_path: tuple[str, ...]) -> None:
        for item in get_array(raw, "fields"):
            node = as_object(item, "struct field")
            name = get_string(node, "name")
            field_type = parse_type(node.get("type"))
            required = get_bool(node, "required")
            get_string_or_none(node, "doc")
            for key in ("initial-default", "write-default"):
                check_default(field_type, node.get(key))
            field = Field(get_int(node, "id"), name, ".".join((*path, name)), field_type, required, parent_id, node.get("initial-default"))
            self._add(field, node["type"], (*path, name), (*short_path, name))

    def _add(self, field: Field, raw_type: Any, path: tuple[str, ...], short_path: tuple[str, ...]) -> None:
        if field.required and field.type.kind == "unknown":
            raise InvalidArgumentError(f"Cannot create required field with unknown type: {field.name}")
        if len(path) > _MAX_DEPTH:
            raise InvalidArgumentError(f"Invalid schema: fields are nested more than {_MAX_DEPTH} levels deep")
        if (other_id := self._ids_by_name.get(field.full_name)) is not None:
            raise InvalidArgumentError(f"Invalid schema: multiple fields for name {field.full_name}: {other_id} and {field.field_id}")
        if (other := self.fields.get(field.field_id)) is not None:
            raise InvalidArgumentError(f"Invalid schema: multiple fields for id {field.field_id}: {other.full_name} and {field.full_name}")
        self.fields[field.field_id] = field
        self._ids_by_name[field.full_name] = field.field_id
        self._ids_by_short_name.setdefault(".".join(short_path), field.field_id)
        match field.type.kind:
            case "struct":
                self._visit_struct(raw_type, field.field_id, path, short_path)
            case "list":
                self._add_member(field, raw_type, "element", get_bool(raw_type, "element-required"), path, short_path)
            case "map":
                self._add_member(field, raw_type, "key", True, path, short_path)
                self._add_member(field, raw_type, "value", get_bool(raw_type, "value-required"), path, short_path)

    def _add_member(
        self, parent: Field, raw: JsonObject, name: str, required: bool, path: tuple[str, ...], short_path: tuple[str, ...]
    ) -> None:
        member_type = parse_type(raw.get(name))
        # Short names leave out a struct between a list or map and its fields, except below a map's key.
        short = short_path if member_type.kind == "struct" and name != "key" else (*short_path, name)
        member = Field(get_int(raw, f"{name}-id"), name, ".".join((*path, name)), member_type, required, parent.field_id, None)
        self._add(member, raw[name], (*path, name), short)

    def _check_identifier_field(self, field_id: int) -> None:
        field = self.fields.get(field_id)
        if field is None:
            raise InvalidArgumentError(f"Cannot add fieldId {field_id} as an identifier field: field does not exist")
        refused = f"Cannot add field {field.name} as an identifier field"
        if not field.type.is_primitive:
            raise InvalidArgumentError(f"{refused}: not a primitive type field")
        if not field.required:
            raise InvalidArgumentError(f"{refused}: not a required field")
        if field.type.kind in ("float", "double"):
            raise InvalidArgumentError(f"{refused}: must not be float or double field")
        for parent in self.parents(field):
            if parent.type.kind != "struct":
                raise InvalidArgumentError(f"{refused}: must not be nested in {parent.full_name}")
            if not parent.required:
                raise InvalidArgumentError(f"{refused}: must not be nested in an optional field {parent.full_name}")

    def to_json(self, schema_id: int) -> JsonObject:
        """The JSON form under that id, for storing; members that this code does not know are kept.

        Null members of fields are left out: Java cannot read a null default.
        """
        return {**_stored_struct(self.raw), "type": "struct", "schema-id": schema_id}

    def parents(self, field: Field) -> list[Field]:
        """The fields that contain this one, innermost first."""
        found = []
        while field.parent_id is not None:
            field = self.fields[field.parent_id]
            found.append(field)
        return found


def schema_id_of(raw: JsonObject) -> int:
    """The id under which a schema is stored; the oldest writers left out the first one's."""
    return int(raw.get("schema-id") or INITIAL_SCHEMA_ID)


def with_fresh_ids(schema: Schema, schema_id: int) -> Schema:
    """The schema with ids 1, 2, … in the order of Java's `TypeUtil.assignFreshIds`: a struct's fields first, then what each holds.

    Raises `InvalidArgumentError`.
    """
    counter = count(1)
    new_ids: dict[int, int] = {}

    def renumber(old_id: int) -> int:
        new_ids[old_id] = next(counter)
        return new_ids[old_id]

    fresh = {**_renumbered_struct(schema.raw, renumber), "schema-id": schema_id}
    if schema.identifier_field_ids:
        fresh["identifier-field-ids"] = sorted(new_ids[field_id] for field_id in schema.identifier_field_ids)
    return Schema(fresh)


def schema_key(raw: JsonObject) -> Hashable:
    """A value that is equal for schemas that differ in nothing but the schema id (Java `Schema.sameSchema`)."""
    return _struct_key(raw), frozenset(raw.get("identifier-field-ids") or ())


def _renumbered_struct(raw: JsonObject, renumber: Callable[[int], int]) -> JsonObject:
    ids = [renumber(field["id"]) for field in raw["fields"]]
    fields = [
        {**field, "id": new_id, "type": _renumbered(field["type"], renumber)} for field, new_id in zip(raw["fields"], ids, strict=True)
    ]
    return {**raw, "fields": fields}


def _renumbered(raw: Any, renumber: Callable[[int], int]) -> Any:
    if isinstance(raw, str):
        return raw
    match raw["type"]:
        case "struct":
            return _renumbered_struct(raw, renumber)
        case "list":
            element_id = renumber(raw["element-id"])
            return {**raw, "element-id": element_id, "element": _renumbered(raw["element"], renumber)}
        case _:
            key_id, value_id = renumber(raw["key-id"]), renumber(raw["value-id"])
            key, value = _renumbered(raw["key"], renumber), _renumbered(raw["value"], renumber)
            return {**raw, "key-id": key_id, "key": key, "value-id": value_id, "value": value}


def _stored_struct(raw: JsonObject) -> JsonObject:
    return {**raw, "fields": [{**without_nulls(field), "type": _stored(field["type"])} for field in raw["fields"]]}


def _stored(raw: Any) -> Any:
    if isinstance(raw, str):
        return raw
    match raw["type"]:
        case "struct":
            return _stored_struct(raw)
        case "list":
            return {**raw, "element": _stored(raw["element"])}
        case _:
            return {**raw, "key": _stored(raw["key"]), "value": _stored(raw["value"])}


def _struct_key(raw: JsonObject) -> Hashable:
    return tuple(
        (
            field["id"],
            field["name"],
            field["required"],
            field.get("doc"),
            _default_key(field.get("initial-default")),
            _default_key(field.get("write-default")),
            _type_key(field["type"]),
        )
        for field in raw["fields"]
    )


def _type_key(raw: Any) -> Hashable:
    if isinstance(raw, str):
        return type_key(raw)
    match raw["type"]:
        case "struct":
            return "struct", _struct_key(raw)
        case "list":
            return "list", raw["element-id"], raw["element-required"], _type_key(raw["element"])
        case _:
            return "map", raw["key-id"], raw["value-id"], raw["value-required"], _type_key(raw["key"]), _type_key(raw["value"])


def _default_key(value: Any) -> bytes | None:
    # As bytes, because Python takes true and 1 for equal.
    return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
