"""Reading table metadata of any format version: what older writers left out is filled in (Iceberg Java `TableMetadataParser`)."""

from __future__ import annotations

from typing import Any

from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    get_array,
    get_int,
    get_int_or_none,
    get_long,
    get_long_or_none,
    get_object,
    get_string_map,
)
from catalog_format.iceberg.metadata.partition_specs import INITIAL_SPEC_ID, parse_partition_spec
from catalog_format.iceberg.metadata.schemas import INITIAL_SCHEMA_ID
from catalog_format.iceberg.metadata.snapshots import INITIAL_SEQUENCE_NUMBER, MAIN_BRANCH, NO_SNAPSHOT_ID
from catalog_format.iceberg.metadata.sort_orders import UNSORTED_ORDER_ID

INITIAL_ROW_ID = 0
MIN_FORMAT_VERSION_ROW_LINEAGE = 3


def format_version_of(metadata: JsonObject) -> int:
    return get_int(metadata, "format-version")


def schemas_of(metadata: JsonObject) -> list[JsonObject]:
    """All schemas; v1 may hold a single one, as `schema`. Raises `InvalidArgumentError`."""
    if metadata.get("schemas") is None and format_version_of(metadata) == 1:
        return [{"schema-id": INITIAL_SCHEMA_ID, **get_object(metadata, "schema")}]
    return get_array(metadata, "schemas")


def current_schema_id_of(metadata: JsonObject) -> int:
    if metadata.get("schemas") is None and format_version_of(metadata) == 1:
        return get_int_or_none(get_object(metadata, "schema"), "schema-id") or INITIAL_SCHEMA_ID
    return get_int(metadata, "current-schema-id")


def specs_of(metadata: JsonObject) -> list[JsonObject]:
    """All partition specs; v1 may hold only the fields of one, as `partition-spec`. Raises `InvalidArgumentError`."""
    if metadata.get("partition-specs") is None and format_version_of(metadata) == 1:
        fields = get_array(metadata, "partition-spec")
        numbered = [{"field-id": 1000 + index, **field} for index, field in enumerate(fields)]
        return [{"spec-id": INITIAL_SPEC_ID, "fields": numbered}]
    return get_array(metadata, "partition-specs")


def default_spec_id_of(metadata: JsonObject) -> int:
    if metadata.get("partition-specs") is None and format_version_of(metadata) == 1:
        return INITIAL_SPEC_ID
    return get_int(metadata, "default-spec-id")


def last_partition_id_of(metadata: JsonObject) -> int:
    last = get_int_or_none(metadata, "last-partition-id")
    if last is not None:
        return last
    return max(parse_partition_spec(spec).last_assigned_field_id for spec in specs_of(metadata))


def sort_orders_of(metadata: JsonObject) -> list[JsonObject]:
    if metadata.get("sort-orders") is None and format_version_of(metadata) == 1:
        return [{"order-id": UNSORTED_ORDER_ID, "fields": []}]
    return get_array(metadata, "sort-orders")


def default_sort_order_id_of(metadata: JsonObject) -> int:
    if metadata.get("sort-orders") is None and format_version_of(metadata) == 1:
        return UNSORTED_ORDER_ID
    return get_int(metadata, "default-sort-order-id")


def properties_of(metadata: JsonObject) -> dict[str, str]:
    return {} if metadata.get("properties") is None else get_string_map(metadata, "properties")


def current_snapshot_id_of(metadata: JsonObject) -> int:
    """The current snapshot's id, -1 if there is none: null (v3), -1 (v1, v2) or absent."""
    current = get_long_or_none(metadata, "current-snapshot-id")
    return NO_SNAPSHOT_ID if current is None else current


def refs_of(metadata: JsonObject) -> dict[str, JsonObject]:
    """References by name; without any `refs` the current snapshot is branch main. Raises `InvalidArgumentError`."""
    if metadata.get("refs") is not None:
        return get_object(metadata, "refs")
    current = current_snapshot_id_of(metadata)
    return {} if current == NO_SNAPSHOT_ID else {MAIN_BRANCH: {"snapshot-id": current, "type": "branch"}}


def last_sequence_number_of(metadata: JsonObject) -> int:
    return get_long(metadata, "last-sequence-number") if format_version_of(metadata) > 1 else INITIAL_SEQUENCE_NUMBER


def next_row_id_of(metadata: JsonObject) -> int:
    if format_version_of(metadata) < MIN_FORMAT_VERSION_ROW_LINEAGE:
        return INITIAL_ROW_ID
    return get_long(metadata, "next-row-id")


def list_of(metadata: JsonObject, key: str) -> list[Any]:
    """An optional list, such as `snapshots`; [] if it is absent. Raises `InvalidArgumentError`."""
    return [] if metadata.get(key) is None else get_array(metadata, key)
