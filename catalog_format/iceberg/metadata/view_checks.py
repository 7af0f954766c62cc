"""What must hold of view metadata that others wrote (Iceberg Java `ViewMetadataParser`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, as_object, check_distinct, get_array, get_int, get_long
from catalog_format.iceberg.metadata.schemas import Schema
from catalog_format.iceberg.metadata.view_draft import SUPPORTED_VIEW_FORMAT_VERSION, ViewDraft
from catalog_format.iceberg.metadata.view_versions import checked_version


def check_view(metadata: JsonObject) -> None:
    """Raise `InvalidArgumentError` for anything but the whole metadata of a view."""
    for version in get_array(metadata, "versions"):
        checked_version(version)
    draft = ViewDraft.from_base(metadata)
    if not 0 < draft.format_version <= SUPPORTED_VIEW_FORMAT_VERSION:
        raise InvalidArgumentError(f"Unsupported format version: {draft.format_version}")
    schema_ids = [Schema(schema).schema_id for schema in draft.schemas]
    check_distinct("schema", schema_ids)
    check_distinct("view version", (version["version-id"] for version in draft.versions))
    for version in draft.versions:
        if version["schema-id"] not in schema_ids:
            raise InvalidArgumentError(f"View version {version['version-id']} names an unknown schema: {version['schema-id']}")
    for entry in draft.version_log:
        node = as_object(entry, "view history entry")
        get_long(node, "timestamp-ms")
        get_int(node, "version-id")
