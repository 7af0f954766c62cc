"""Table properties with a meaning to the catalog (Iceberg Java `TableProperties`, `PropertyUtil`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_string_map, get_strings
from catalog_format.iceberg.metadata.schemas import Schema

FORMAT_VERSION: Final = "format-version"
PREVIOUS_VERSIONS_MAX: Final = "write.metadata.previous-versions-max"
PREVIOUS_VERSIONS_MAX_DEFAULT: Final = 100
METADATA_COMPRESSION: Final = "write.metadata.compression-codec"
COLUMN_METRICS_PREFIX: Final = "write.metadata.metrics.column."

# They steer a request and are never stored.
RESERVED_PROPERTIES: Final = frozenset(
    {
        FORMAT_VERSION,
        "uuid",
        "snapshot-count",
        "current-snapshot-id",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)

# Stored with new tables only, so that a later change of the default leaves existing tables alone.
_NEW_TABLE_PROPERTIES = {"write.parquet.compression-codec": "zstd"}
_COMMIT_PROPERTIES = (
    "commit.retry.num-retries",
    "commit.retry.min-wait-ms",
    "commit.retry.max-wait-ms",
    "commit.retry.total-timeout-ms",
)
_ENCRYPTION_PROPERTIES = frozenset({"encryption.key-id", "encryption.data-key-length"})
_ENCRYPTION_FORMAT_VERSION = 3
_INTEGER = re.compile(r"[+-]?\d{1,10}")
_INT_LIMIT = 1 << 31


def property_as_int(properties: Mapping[str, str], key: str, default: int) -> int:
    """A 32-bit integer property. Raises `InvalidArgumentError` if it is set to something else."""
    value = properties.get(key)
    if value is None:
        return default
    # Java's integers have no spaces around them and no underscores within.
    if not _INTEGER.fullmatch(value) or not -_INT_LIMIT <= int(value) < _INT_LIMIT:
        raise InvalidArgumentError(f"Property {key} must be an integer, but is: {value}")
    return int(value)


def property_as_bool(properties: Mapping[str, str], key: str, default: bool) -> bool:
    """A boolean property: whatever is not `true`, in any case, is false."""
    value = properties.get(key)
    return default if value is None else value.lower() == "true"


def persisted_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What a new table stores of the properties it was asked for (Java `TableMetadata.persistedProperties`)."""
    return _NEW_TABLE_PROPERTIES | {key: value for key, value in properties.items() if key not in RESERVED_PROPERTIES}


def check_new_table_properties(properties: Mapping[str, str], schema: Schema, format_version: int) -> None:
    """What Java checks of new tables only, so that existing ones never break. Raises `InvalidArgumentError`."""
    for key in properties:
        column = key.removeprefix(COLUMN_METRICS_PREFIX)
        if column != key and schema.find(column) is None:
            raise InvalidArgumentError(f"Invalid metrics config, could not find column {column} from table prop {key} in schema")
    for key in _COMMIT_PROPERTIES:
        if property_as_int(properties, key, 0) < 0:
            raise InvalidArgumentError(f"Table property {key} must have non negative integer value")
    if format_version < _ENCRYPTION_FORMAT_VERSION and (found := sorted(_ENCRYPTION_PROPERTIES & properties.keys())):
        raise InvalidArgumentError(f"Invalid properties for v{format_version}: [{', '.join(found)}]")


def properties_to_set(update: JsonObject) -> dict[str, str]:
    """What a set-properties update sets; `updated` is the member's name in early clients. Raises `InvalidArgumentError`."""
    return get_string_map(update, "updated" if "updated" in update and "updates" not in update else "updates")


def properties_to_remove(update: JsonObject) -> list[str]:
    """What a remove-properties update removes; `removed` is the member's name in early clients. Raises `InvalidArgumentError`."""
    return get_strings(update, "removed" if "removed" in update and "removals" not in update else "removals")
