"""Updates of a table as a whole: uuid and format version (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_string
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


def parse_assign_uuid(update: JsonObject) -> TableUpdate:
    uuid = get_string(update, "uuid")
    return lambda draft: assign_uuid(draft, uuid)


def parse_upgrade_format_version(update: JsonObject) -> TableUpdate:
    version = get_int(update, "format-version")
    return lambda draft: upgrade_format_version(draft, version)
