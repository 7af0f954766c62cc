"""Iceberg's own objects as they stand in bodies. They only describe: what comes in is checked where metadata are built.

Source: the Iceberg table and view specifications, in the JSON of the REST specification.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from catalog_format.iceberg.metadata import TABLE_REQUIREMENTS, TABLE_UPDATES, VIEW_REQUIREMENTS, VIEW_UPDATES

Text = dict[str, str]

StructField = TypedDict(
    "StructField",
    {
        "id": int,
        "name": str,
        "type": "FieldType",
        "required": bool,
        "doc": NotRequired[str],
        "initial-default": NotRequired[Any],
        "write-default": NotRequired[Any],
    },
)


class StructType(TypedDict):
    type: Literal["struct"]
    fields: list[StructField]


ListType = TypedDict("ListType", {"type": Literal["list"], "element-id": int, "element": "FieldType", "element-required": bool})
MapType = TypedDict(
    "MapType",
    {"type": Literal["map"], "key-id": int, "key": "FieldType", "value-id": int, "value": "FieldType", "value-required": bool},
)
FieldType = Annotated[str, Field(examples=["long", "string", "decimal(9,2)", "variant"])] | StructType | ListType | MapType

Schema = TypedDict(
    "Schema",
    {
        "type": Literal["struct"],
        "fields": list[StructField],
        "schema-id": NotRequired[int],
        "identifier-field-ids": NotRequired[list[int]],
    },
)
PartitionField = TypedDict(
    "PartitionField",
    {"source-id": int, "field-id": NotRequired[int], "name": str, "transform": Annotated[str, Field(examples=["identity"])]},
)
PartitionSpec = TypedDict("PartitionSpec", {"spec-id": NotRequired[int], "fields": list[PartitionField]})
SortField = TypedDict(
    "SortField",
    {
        "source-id": int,
        "transform": Annotated[str, Field(examples=["identity"])],
        "direction": Literal["asc", "desc"],
        "null-order": Literal["nulls-first", "nulls-last"],
    },
)
SortOrder = TypedDict("SortOrder", {"order-id": int, "fields": list[SortField]})
Snapshot = TypedDict(
    "Snapshot",
    {
        "snapshot-id": int,
        "parent-snapshot-id": NotRequired[int],
        "sequence-number": NotRequired[int],
        "timestamp-ms": int,
        "manifest-list": NotRequired[str],
        "manifests": NotRequired[list[str]],
        "summary": NotRequired[Text],
        "schema-id": NotRequired[int],
        "first-row-id": NotRequired[int],
        "added-rows": NotRequired[int],
        "key-id": NotRequired[str],
    },
)
SnapshotReference = TypedDict(
    "SnapshotReference",
    {
        "type": Literal["branch", "tag"],
        "snapshot-id": int,
        "max-ref-age-ms": NotRequired[int],
        "max-snapshot-age-ms": NotRequired[int],
        "min-snapshots-to-keep": NotRequired[int],
    },
)
SnapshotLogEntry = TypedDict("SnapshotLogEntry", {"snapshot-id": int, "timestamp-ms": int})
MetadataLogEntry = TypedDict("MetadataLogEntry", {"metadata-file": str, "timestamp-ms": int})
TableMetadata = TypedDict(
    "TableMetadata",
    {
        "format-version": Annotated[int, Field(ge=1, le=3)],
        "table-uuid": str,
        "location": str,
        "last-updated-ms": int,
        "last-column-id": int,
        "schemas": NotRequired[list[Schema]],
        "current-schema-id": NotRequired[int],
        "partition-specs": NotRequired[list[PartitionSpec]],
        "default-spec-id": NotRequired[int],
        "last-partition-id": NotRequired[int],
        "sort-orders": NotRequired[list[SortOrder]],
        "default-sort-order-id": NotRequired[int],
        "properties": NotRequired[Text],
        "current-snapshot-id": NotRequired[int | None],
        "last-sequence-number": NotRequired[int],
        "next-row-id": NotRequired[int],
        "snapshots": NotRequired[list[Snapshot]],
        "refs": NotRequired[dict[str, SnapshotReference]],
        "snapshot-log": NotRequired[list[SnapshotLogEntry]],
        "metadata-log": NotRequired[list[MetadataLogEntry]],
        "statistics": NotRequired[list[dict[str, Any]]],
        "partition-statistics": NotRequired[list[dict[str, Any]]],
        "encryption-keys": NotRequired[list[dict[str, Any]]],
    },
)


class ViewRepresentation(TypedDict):
    type: Annotated[str, Field(examples=["sql"])]
    sql: str
    dialect: str


ViewVersion = TypedDict(
    "ViewVersion",
    {
        "version-id": int,
        "schema-id": int,
        "timestamp-ms": int,
        "summary": Text,
        "representations": list[ViewRepresentation],
        "default-catalog": NotRequired[str],
        "default-namespace": list[str],
    },
)
ViewLogEntry = TypedDict("ViewLogEntry", {"version-id": int, "timestamp-ms": int})
ViewMetadata = TypedDict(
    "ViewMetadata",
    {
        "view-uuid": str,
        "format-version": Annotated[int, Field(ge=1, le=1)],
        "location": str,
        "current-version-id": int,
        "versions": list[ViewVersion],
        "version-log": list[ViewLogEntry],
        "schemas": list[Schema],
        "properties": NotRequired[Text],
    },
)


def _tagged(member: str, words: dict[str, Any]) -> WithJsonSchema:
    """An object whose `member` says what it is; what else is in it depends on that."""
    return WithJsonSchema({"type": "object", "required": [member], "properties": {member: {"type": "string", "enum": sorted(words)}}})


TableUpdate = Annotated[dict[str, Any], _tagged("action", TABLE_UPDATES)]
ViewUpdate = Annotated[dict[str, Any], _tagged("action", VIEW_UPDATES)]
TableRequirement = Annotated[dict[str, Any], _tagged("type", TABLE_REQUIREMENTS)]
ViewRequirement = Annotated[dict[str, Any], _tagged("type", VIEW_REQUIREMENTS)]
