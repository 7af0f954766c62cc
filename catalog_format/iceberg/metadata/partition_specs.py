"""Partition specs: parsing, field ids, binding to a schema, equality (Iceberg Java `PartitionSpec`, `UnboundPartitionSpec`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_array,
    get_int,
    get_int_or_none,
    get_string,
)
from catalog_format.iceberg.metadata.schemas import Schema
from catalog_format.iceberg.metadata.transforms import Transform, parse_transform

INITIAL_SPEC_ID: Final = 0
FIRST_PARTITION_FIELD_ID: Final = 1000
UNPARTITIONED_LAST_FIELD_ID: Final = FIRST_PARTITION_FIELD_ID - 1


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a spec; `field_id` is None until one is assigned, `raw` is the JSON it came from."""

    source_id: int
    field_id: int | None
    name: str
    transform: Transform
    raw: JsonObject

    def __str__(self) -> str:
        return f"{self.field_id}: {self.name}: {self.transform}({self.source_id})"


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """A spec; `spec_id` is None if it came without one."""

    spec_id: int | None
    fields: tuple[PartitionField, ...]
    raw: JsonObject

    @property
    def last_assigned_field_id(self) -> int:
        return max([UNPARTITIONED_LAST_FIELD_ID, *(field.field_id or 0 for field in self.fields)])

    @property
    def has_sequential_ids(self) -> bool:
        return all(field.field_id == FIRST_PARTITION_FIELD_ID + index for index, field in enumerate(self.fields))

    def same_fields(self, other: PartitionSpec) -> bool:
        """Equal in everything but ids of the spec and of its fields (Java `compatibleWith`)."""
        return _identity(self) == _identity(other)

    def assigned(self, next_id: Callable[[PartitionField], int]) -> PartitionSpec:
        """The spec with ids given to the fields that came without one."""
        fields = tuple(field if field.field_id is not None else replace(field, field_id=next_id(field)) for field in self.fields)
        return replace(self, fields=fields)

    def renumbered(self, source_ids: Mapping[int, int], first_field_id: int) -> PartitionSpec:
        """The spec over other column ids, its own field ids counted anew."""
        fields = tuple(
            replace(field, source_id=source_ids[field.source_id], field_id=first_field_id + index)
            for index, field in enumerate(self.fields)
        )
        return replace(self, fields=fields)

    def to_json(self, spec_id: int) -> JsonObject:
        """The JSON form under that id; members that this code does not know are kept."""
        fields = [
            {
                **field.raw,
                "name": field.name,
                "transform": field.transform.text,
                "source-id": field.source_id,
                "field-id": field.field_id,
            }
            for field in self.fields
        ]
        return {**self.raw, "spec-id": spec_id, "fields": fields}

    def check_names(self, schema: Schema) -> None:
        """Raise `InvalidArgumentError` for a field name that is used twice or that is another column's."""
        seen = set()
        for field in self.fields:
            column = schema.find(field.name)
            if field.source_id in schema.fields and column is not None and column.field_id != field.source_id:
                raise InvalidArgumentError(f"Cannot create identity partition sourced from different field in schema: {field.name}")
            if field.name in seen:
                raise InvalidArgumentError(f"Cannot use partition name more than once: {field.name}")
            seen.add(field.name)

    def check_compatible(self, schema: Schema) -> None:
        """Raise `InvalidArgumentError` unless each field's source column exists and suits its transform."""
        for field in self.fields:
            # v1 replaces a deleted field by a void transform, whose source column may be gone.
            if field.transform.name == "void":
                continue
            source = schema.fields.get(field.source_id)
            if source is None:
                raise InvalidArgumentError(f"Cannot find source column for partition field: {field}")
            if not source.type.is_primitive:
                raise InvalidArgumentError(f"Cannot partition by non-primitive source field: {source.type}")
            if not field.transform.accepts(source.type):
                raise InvalidArgumentError(f"Invalid source type {source.type} for transform: {field.transform}")
            for parent in schema.parents(source):
                if parent.type.kind != "struct":
                    raise InvalidArgumentError(f"Invalid partition field parent: {parent.type}")


def spec_id_of(raw: JsonObject) -> int:
    """The id under which a spec is stored."""
    return int(raw.get("spec-id") or INITIAL_SPEC_ID)


def parse_partition_spec(raw: object) -> PartitionSpec:
    """A spec from its JSON form; `spec-id` may be missing. Raises `InvalidArgumentError`."""
    node = as_object(raw, "partition spec")
    fields = []
    for item in get_array(node, "fields"):
        field = as_object(item, "partition field")
        fields.append(
            PartitionField(
                get_int(field, "source-id"),
                get_int_or_none(field, "field-id"),
                get_string(field, "name"),
                parse_transform(get_string(field, "transform")),
                field,
            )
        )
    missing = sum(field.field_id is None for field in fields)
    if 0 < missing < len(fields):
        raise InvalidArgumentError(f"Cannot parse spec with missing field IDs: {missing} missing of {len(fields)} fields.")
    return PartitionSpec(get_int_or_none(node, "spec-id"), tuple(fields), node)


def _identity(spec: PartitionSpec) -> list[tuple[int, str, str]]:
    return [(field.source_id, field.transform.text, field.name) for field in spec.fields]
