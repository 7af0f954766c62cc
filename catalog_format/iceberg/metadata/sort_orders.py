"""Sort orders: parsing, binding to a schema, equality (Iceberg Java `SortOrder`, `UnboundSortOrder`)."""

from __future__ import annotations

from collections.abc import Mapping
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

UNSORTED_ORDER_ID: Final = 0
INITIAL_SORT_ORDER_ID: Final = 1


@dataclass(frozen=True, slots=True)
class SortField:
    """One field of an order; `raw` is the JSON it came from."""

    transform: Transform
    source_id: int
    direction: str
    null_order: str
    raw: JsonObject

    def __str__(self) -> str:
        return f"{self.transform}({self.source_id}) {self.direction.upper()} {self.null_order.upper().replace('-', ' ')}"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order; one without fields is the unsorted order, whose id is always 0."""

    fields: tuple[SortField, ...]
    raw: JsonObject

    @property
    def is_unsorted(self) -> bool:
        return not self.fields

    def same_fields(self, other: SortOrder) -> bool:
        """Equal in everything but the id (Java `sameOrder`)."""
        return _identity(self) == _identity(other)

    def renumbered(self, source_ids: Mapping[int, int]) -> SortOrder:
        """The order over other column ids."""
        return replace(self, fields=tuple(replace(field, source_id=source_ids[field.source_id]) for field in self.fields))

    def to_json(self, order_id: int) -> JsonObject:
        """The JSON form under that id; members that this code does not know are kept."""
        fields = [
            {
                **field.raw,
                "transform": field.transform.text,
                "source-id": field.source_id,
                "direction": field.direction,
                "null-order": field.null_order,
            }
            for field in self.fields
        ]
        return {**self.raw, "order-id": order_id, "fields": fields}

    def check_compatible(self, schema: Schema) -> None:
        """Raise `InvalidArgumentError` unless each field's source column exists and suits its transform."""
        for field in self.fields:
            source = schema.fields.get(field.source_id)
            if source is None:
                raise InvalidArgumentError(f"Cannot find source column for sort field: {field}")
            if not source.type.is_primitive:
                raise InvalidArgumentError(f"Cannot sort by non-primitive source field: {source.type}")
            if not field.transform.accepts(source.type):
                raise InvalidArgumentError(f"Invalid source type {source.type} for transform: {field.transform}")


def parse_sort_order(raw: object) -> SortOrder:
    """An order from its JSON form; `order-id` may be missing. Raises `InvalidArgumentError`."""
    node = as_object(raw, "sort order")
    fields = tuple(_parse_field(as_object(item, "sort field")) for item in get_array(node, "fields"))
    order_id = get_int_or_none(node, "order-id")
    if order_id is not None and not fields and order_id != UNSORTED_ORDER_ID:
        raise InvalidArgumentError("Unsorted order ID must be 0")
    if order_id == UNSORTED_ORDER_ID and fields:
        raise InvalidArgumentError("Sort order ID 0 is reserved for unsorted order")
    return SortOrder(fields, node)


def _parse_field(node: JsonObject) -> SortField:
    transform = parse_transform(get_string(node, "transform"))
    source_id = get_int(node, "source-id")
    direction = get_string(node, "direction").lower()
    if direction not in ("asc", "desc"):
        raise InvalidArgumentError(f"Invalid sort direction: {direction}")
    null_order = get_string(node, "null-order").lower()
    if null_order not in ("nulls-first", "nulls-last"):
        raise InvalidArgumentError(f"Unexpected null order: {null_order}")
    return SortField(transform, source_id, direction, null_order, node)


def _identity(order: SortOrder) -> list[tuple[str, int, str, str]]:
    return [(field.transform.text, field.source_id, field.direction, field.null_order) for field in order.fields]
