"""Updates of a table as a whole: uuid, format version, location, properties (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_string
from catalog_format.iceberg.metadata.properties import properties_to_remove, properties_to_set
from catalog_format.iceberg.metadata.table_draft import SUPPORTED_FORMAT_VERSION, TableDraft
from catalog_format.iceberg.metadata.table_fields import MIN_FORMAT_VERSION_ROW_LINEAGE


def set_location(draft: TableDraft, location: str) -> None:
    if location != draft.location:
        draft.location = location
        draft.has_changes = True


def set_properties(draft: TableDraft, updates: dict[str, str]) -> None:
    """Set properties. Any counts as a change, even to the value it has, as in Java."""
    if updates:
        draft.properties = {**draft.properties, **updates}
        draft.has_changes = True


def apply_assign_uuid(draft: TableDraft, update: JsonObject) -> None:
    uuid = get_string(update, "uuid")
    if uuid != draft.uuid:
        draft.uuid = uuid
        draft.has_changes = True


def apply_upgrade_format_version(draft: TableDraft, update: JsonObject) -> None:
    version = get_int(update, "format-version")
    if version > SUPPORTED_FORMAT_VERSION:
        raise InvalidArgumentError(
            f"Cannot upgrade table to unsupported format version: v{version} (supported: v{SUPPORTED_FORMAT_VERSION})"
        )
    if version < draft.format_version:
        raise InvalidArgumentError(f"Cannot downgrade v{draft.format_version} table to v{version}")
    if version != draft.format_version:
        draft.format_version = version
        draft.has_changes = True


def apply_enable_row_lineage(draft: TableDraft, update: JsonObject) -> None:
    """An early v3 draft switched row lineage on by itself; it is now part of v3, so that there is nothing to do."""
    if draft.format_version < MIN_FORMAT_VERSION_ROW_LINEAGE:
        raise InvalidArgumentError(
            f"Cannot use row lineage with format version {draft.format_version} (v{MIN_FORMAT_VERSION_ROW_LINEAGE} or later only)"
        )


def apply_set_location(draft: TableDraft, update: JsonObject) -> None:
    set_location(draft, get_string(update, "location"))


def apply_set_properties(draft: TableDraft, update: JsonObject) -> None:
    set_properties(draft, properties_to_set(update))


def apply_remove_properties(draft: TableDraft, update: JsonObject) -> None:
    removals = set(properties_to_remove(update))
    if removals:
        draft.properties = {key: value for key, value in draft.properties.items() if key not in removals}
        draft.has_changes = True
