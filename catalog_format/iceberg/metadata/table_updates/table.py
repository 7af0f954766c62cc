"""Updates of a table as a whole: uuid, format version, location, properties (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_string
from catalog_format.iceberg.metadata.properties import properties_to_remove, properties_to_set
from catalog_format.iceberg.metadata.table_draft import SUPPORTED_FORMAT_VERSION, TableDraft, TableUpdate


def assign_uuid(draft: TableDraft, uuid: str) -> None:
    if uuid != draft.uuid:
        draft.uuid = uuid
        draft.has_changes = True


def upgrade_format_version(draft: TableDraft, version: int) -> None:
    """Raises `InvalidArgumentError` for a version that is older, or too new."""
    if version > SUPPORTED_FORMAT_VERSION:
        raise InvalidArgumentError(
            f"Cannot upgrade table to unsupported format version: v{version} (supported: v{SUPPORTED_FORMAT_VERSION})"
        )
    if version < draft.format_version:
        raise InvalidArgumentError(f"Cannot downgrade v{draft.format_version} table to v{version}")
    if version != draft.format_version:
        draft.format_version = version
        draft.has_changes = True


def set_location(draft: TableDraft, location: str) -> None:
    if location != draft.location:
        draft.location = location
        draft.has_changes = True


def set_properties(draft: TableDraft, updates: dict[str, str]) -> None:
    """Set properties. Any counts as a change, even to the value it has, as in Java."""
    if updates:
        draft.properties = {**draft.properties, **updates}
        draft.has_changes = True


def remove_properties(draft: TableDraft, removals: set[str]) -> None:
    """Remove properties. Any counts as a change, even of one that is not there, as in Java."""
    if removals:
        draft.properties = {key: value for key, value in draft.properties.items() if key not in removals}
        draft.has_changes = True


def parse_assign_uuid(update: JsonObject) -> TableUpdate:
    uuid = get_string(update, "uuid")
    return lambda draft: assign_uuid(draft, uuid)


def parse_upgrade_format_version(update: JsonObject) -> TableUpdate:
    version = get_int(update, "format-version")
    return lambda draft: upgrade_format_version(draft, version)


def parse_set_location(update: JsonObject) -> TableUpdate:
    location = get_string(update, "location")
    return lambda draft: set_location(draft, location)


def parse_set_properties(update: JsonObject) -> TableUpdate:
    updates = properties_to_set(update)
    return lambda draft: set_properties(draft, updates)


def parse_remove_properties(update: JsonObject) -> TableUpdate:
    removals = set(properties_to_remove(update))
    return lambda draft: remove_properties(draft, removals)
