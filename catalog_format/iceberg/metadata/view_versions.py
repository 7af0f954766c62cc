"""Versions of a view: checking their JSON, SQL dialects, equality (Iceberg Java `ViewVersionParser`, `ViewMetadata.Builder`)."""

from __future__ import annotations

from typing import Any

from catalog_format.errors import InvalidArgumentError, InvalidViewVersionError
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_array,
    get_int,
    get_long,
    get_string,
    get_string_map,
    get_string_or_none,
    get_strings,
    without_nulls,
)


def checked_version(raw: object) -> JsonObject:
    """The version, once all that readers rely on is known to be there; null members are left out.

    Raises `InvalidArgumentError`.
    """
    version = without_nulls(as_object(raw, "view version"))
    get_int(version, "version-id")
    get_int(version, "schema-id")
    get_long(version, "timestamp-ms")
    get_string_map(version, "summary")
    get_strings(version, "default-namespace")
    get_string_or_none(version, "default-catalog")
    for item in get_array(version, "representations"):
        representation = as_object(item, "view representation")
        if get_string(representation, "type").lower() == "sql":
            get_string(representation, "sql")
            get_string(representation, "dialect")
    return version


def check_representations(version: JsonObject) -> None:
    """Raise `InvalidArgumentError` for what is not SQL, and `InvalidViewVersionError` for two queries in one dialect."""
    unsupported = sorted({item["type"] for item in version["representations"] if item["type"].lower() != "sql"})
    if unsupported:
        raise InvalidArgumentError(f"Found unsupported view representations: [{', '.join(unsupported)}]")
    seen = set()
    for dialect in _dialects(version):
        if dialect in seen:
            raise InvalidViewVersionError(f"Invalid view version: Cannot add multiple queries for dialect {dialect}")
        seen.add(dialect)


def sql_dialects(version: JsonObject) -> set[str]:
    """The dialects, in lower case, that the version has a query in."""
    return set(_dialects(version))


def same_version(one: JsonObject, other: JsonObject) -> bool:
    """Whether both would behave the same: ids and timestamps aside."""
    return _identity(one) == _identity(other)


def _dialects(version: JsonObject) -> list[str]:
    return [item["dialect"].lower() for item in version["representations"] if item["type"].lower() == "sql"]


def _identity(version: JsonObject) -> tuple[Any, ...]:
    representations = [
        ("sql", item["sql"], item["dialect"]) if item["type"].lower() == "sql" else item for item in version["representations"]
    ]
    return (
        version["summary"],
        representations,
        version.get("default-catalog"),
        version["default-namespace"],
        version["schema-id"],
    )
