"""What each view update does to a draft: one function an action, in one registry.

Source: REST specification, schema `ViewUpdate`; Iceberg Java `MetadataUpdateParser` and `ViewMetadata.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_object, get_string
from catalog_format.iceberg.metadata.properties import properties_to_remove, properties_to_set
from catalog_format.iceberg.metadata.schemas import INITIAL_SCHEMA_ID, Schema, schema_key
from catalog_format.iceberg.metadata.view_draft import ViewDraft
from catalog_format.iceberg.metadata.view_versions import check_dialects, checked_version, same_version

_LAST_ADDED = -1


def add_schema(draft: ViewDraft, schema: Schema) -> int:
    """Add a schema, unless an equal one exists, and return its id."""
    key, new_id = schema_key(schema.raw), INITIAL_SCHEMA_ID
    for existing in draft.schemas:
        existing_id: int = existing.get("schema-id", INITIAL_SCHEMA_ID)
        if schema_key(existing) == key:
            return existing_id
        new_id = max(new_id, existing_id + 1)
    draft.schemas = [*draft.schemas, schema.to_json(new_id)]
    draft.last_added_schema_id = new_id
    draft.has_changes = True
    return new_id


def add_version(draft: ViewDraft, version: JsonObject) -> int:
    """Add a version, unless one that behaves the same exists, and return its id. Raises `InvalidArgumentError`."""
    version_id = version["version-id"]
    for existing in draft.versions:
        if same_version(existing, version):
            existing_id: int = existing["version-id"]
            # "Last added" means added by this build: a version that was there before leaves it unset.
            draft.last_added_version_id = existing_id if existing_id in draft.added_version_ids else None
            return existing_id
        version_id = max(version_id, existing["version-id"] + 1)
    schema_id = version["schema-id"]
    if schema_id == _LAST_ADDED:
        if draft.last_added_schema_id is None:
            raise InvalidArgumentError("Cannot set last added schema: no schema has been added")
        schema_id = draft.last_added_schema_id
    if all(schema.get("schema-id", INITIAL_SCHEMA_ID) != schema_id for schema in draft.schemas):
        raise InvalidArgumentError(f"Cannot add version with unknown schema: {schema_id}")
    check_dialects(version)
    draft.versions = [*draft.versions, {**version, "version-id": version_id, "schema-id": schema_id}]
    draft.added_version_ids.add(version_id)
    draft.last_added_version_id = version_id
    draft.has_changes = True
    return int(version_id)


def set_current_version(draft: ViewDraft, version_id: int) -> None:
    """Make a known version the current one; -1 is the one added last. Raises `InvalidArgumentError`."""
    if version_id == _LAST_ADDED:
        if draft.last_added_version_id is None:
            raise InvalidArgumentError("Cannot set last version id: no current version id has been set")
        version_id = draft.last_added_version_id
    if version_id == draft.current_version_id:
        return
    version = next((version for version in draft.versions if version["version-id"] == version_id), None)
    if version is None:
        raise InvalidArgumentError(f"Cannot set current version to unknown version: {version_id}")
    draft.current_version_id = version_id
    # A version that comes back becomes current now, not when it was made.
    timestamp = version["timestamp-ms"] if version_id in draft.added_version_ids else None
    draft.version_log_addition = (timestamp, version_id)
    draft.has_changes = True


def assign_uuid(draft: ViewDraft, uuid: str) -> None:
    """Give the view its uuid. Raises `InvalidArgumentError` if it has another."""
    if draft.uuid is not None and uuid != draft.uuid:
        raise InvalidArgumentError("Cannot reassign uuid")
    if draft.uuid is None:
        draft.uuid = uuid
        draft.has_changes = True


def set_location(draft: ViewDraft, location: str) -> None:
    if location != draft.location:
        draft.location = location
        draft.has_changes = True


def set_properties(draft: ViewDraft, updates: dict[str, str]) -> None:
    if updates:
        draft.properties = {**draft.properties, **updates}
        draft.has_changes = True


def _apply_assign_uuid(draft: ViewDraft, update: JsonObject) -> None:
    assign_uuid(draft, get_string(update, "uuid"))


def _apply_upgrade_format_version(draft: ViewDraft, update: JsonObject) -> None:
    version = get_int(update, "format-version")
    if version < draft.format_version:
        raise InvalidArgumentError(f"Cannot downgrade v{draft.format_version} view to v{version}")
    if version != draft.format_version:
        draft.format_version = version
        draft.has_changes = True


def _apply_set_location(draft: ViewDraft, update: JsonObject) -> None:
    set_location(draft, get_string(update, "location"))


def _apply_set_properties(draft: ViewDraft, update: JsonObject) -> None:
    set_properties(draft, properties_to_set(update))


def _apply_remove_properties(draft: ViewDraft, update: JsonObject) -> None:
    removals = set(properties_to_remove(update))
    if removals:
        draft.properties = {key: value for key, value in draft.properties.items() if key not in removals}
        draft.has_changes = True


def _apply_add_schema(draft: ViewDraft, update: JsonObject) -> None:
    add_schema(draft, Schema(get_object(update, "schema")))


def _apply_add_view_version(draft: ViewDraft, update: JsonObject) -> None:
    add_version(draft, checked_version(get_object(update, "view-version")))


def _apply_set_current_view_version(draft: ViewDraft, update: JsonObject) -> None:
    set_current_version(draft, get_int(update, "view-version-id"))


VIEW_UPDATES: Final[dict[str, Callable[[ViewDraft, JsonObject], None]]] = {
    "assign-uuid": _apply_assign_uuid,
    "upgrade-format-version": _apply_upgrade_format_version,
    "set-location": _apply_set_location,
    "set-properties": _apply_set_properties,
    "remove-properties": _apply_remove_properties,
    "add-schema": _apply_add_schema,
    "add-view-version": _apply_add_view_version,
    "set-current-view-version": _apply_set_current_view_version,
}
