"""What each view update does to a draft: a parser an action, in one registry.

A parser reads the update's JSON and gives what it does (`ViewUpdate`), so that a malformed request is known as such before
anything of it is applied. Source: REST specification, schema `ViewUpdate`; Iceberg Java `MetadataUpdateParser` and `ViewMetadata.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import shared_updates
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_object, get_string
from catalog_format.iceberg.metadata.schemas import INITIAL_SCHEMA_ID, Schema, schema_id_of, schema_key
from catalog_format.iceberg.metadata.view_draft import ViewDraft, ViewUpdate
from catalog_format.iceberg.metadata.view_versions import check_representations, checked_version, same_version

_LAST_ADDED = -1


def add_schema(draft: ViewDraft, schema: Schema) -> int:
    """Add a schema, unless an equal one exists, and return its id."""
    key, new_id = schema_key(schema.raw), INITIAL_SCHEMA_ID
    for existing in draft.schemas:
        existing_id: int = schema_id_of(existing)
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
    if all(schema_id_of(schema) != schema_id for schema in draft.schemas):
        raise InvalidArgumentError(f"Cannot add version with unknown schema: {schema_id}")
    check_representations(version)
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


def upgrade_format_version(draft: ViewDraft, version: int) -> None:
    """Raises `InvalidArgumentError` for an older version; one that is too new is for the build to refuse."""
    if version < draft.format_version:
        raise InvalidArgumentError(f"Cannot downgrade v{draft.format_version} view to v{version}")
    if version != draft.format_version:
        draft.format_version = version
        draft.has_changes = True


def _parse_assign_uuid(update: JsonObject) -> ViewUpdate:
    uuid = get_string(update, "uuid")
    return lambda draft: assign_uuid(draft, uuid)


def _parse_upgrade_format_version(update: JsonObject) -> ViewUpdate:
    version = get_int(update, "format-version")
    return lambda draft: upgrade_format_version(draft, version)


def _parse_add_schema(update: JsonObject) -> ViewUpdate:
    schema = Schema(get_object(update, "schema"))
    return lambda draft: add_schema(draft, schema)


def _parse_add_view_version(update: JsonObject) -> ViewUpdate:
    version = checked_version(get_object(update, "view-version"))
    return lambda draft: add_version(draft, version)


def _parse_set_current_view_version(update: JsonObject) -> ViewUpdate:
    version_id = get_int(update, "view-version-id")
    return lambda draft: set_current_version(draft, version_id)


VIEW_UPDATES: Final[dict[str, Callable[[JsonObject], ViewUpdate]]] = {
    "assign-uuid": _parse_assign_uuid,
    "upgrade-format-version": _parse_upgrade_format_version,
    "set-location": shared_updates.parse_set_location,
    "set-properties": shared_updates.parse_set_properties,
    "remove-properties": shared_updates.parse_remove_properties,
    "add-schema": _parse_add_schema,
    "add-view-version": _parse_add_view_version,
    "set-current-view-version": _parse_set_current_view_version,
}
