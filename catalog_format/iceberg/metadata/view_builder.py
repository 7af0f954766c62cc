"""Builds view metadata, new or from old metadata and a list of updates (Iceberg Java `ViewMetadata.Builder`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.properties import property_as_bool, property_as_int
from catalog_format.iceberg.metadata.schemas import Schema
from catalog_format.iceberg.metadata.shared_updates import set_location, set_properties
from catalog_format.iceberg.metadata.update_parser import parse_view_updates
from catalog_format.iceberg.metadata.view_draft import SUPPORTED_VIEW_FORMAT_VERSION, ViewDraft, ViewUpdate
from catalog_format.iceberg.metadata.view_updates import (
    add_schema,
    add_version,
    assign_uuid,
    set_current_version,
)
from catalog_format.iceberg.metadata.view_versions import checked_version, sql_dialects
from catalog_format.ids import Ids

VERSION_HISTORY_SIZE = "version.history.num-entries"
REPLACE_DROP_DIALECT_ALLOWED = "replace.drop-dialect.allowed"
_VERSION_HISTORY_SIZE_DEFAULT = 10
_INITIAL_VERSION_ID = 1


class ViewMetadataBuilder:
    """One build: updates are applied in order, then `build` gives the new metadata.

    The base is never changed. A builder whose `apply` has raised is of no further use.
    """

    def __init__(self, base: JsonObject | None, *, ids: Ids | None = None) -> None:
        """Start from the base, or from nothing (`ids` then gives the uuid).

        Raises `InvalidArgumentError` if the base is no view metadata.
        """
        if base is not None:
            self.draft = ViewDraft.from_base(base)
        elif ids is not None:
            self.draft = ViewDraft.empty()
        else:
            raise ValueError("ids are needed to build from nothing")
        self._ids = ids

    @property
    def has_changes(self) -> bool:
        """Whether any update changed something; if not, there is nothing to commit."""
        return self.draft.has_changes

    def apply(self, update: JsonObject) -> ViewMetadataBuilder:
        """Parse and apply one update of the REST specification's `ViewUpdate`; raises as `apply_all` does."""
        return self.apply_all([update])

    def apply_all(self, updates: Iterable[JsonObject]) -> ViewMetadataBuilder:
        """Parse updates, then apply them in order.

        Raises `InvalidArgumentError` if one is malformed, unknown or does not fit the view.
        """
        return self.carry_out(parse_view_updates(updates))

    def carry_out(self, updates: Iterable[ViewUpdate]) -> ViewMetadataBuilder:
        """Apply parsed updates in order. Raises `InvalidArgumentError` if one does not fit the view."""
        for update in updates:
            update(self.draft)
        return self

    def build(self, now_ms: int) -> JsonObject:
        """The new metadata; the base itself if nothing changed.

        `now_ms` is the time at which a version that comes back becomes current. Raises `InvalidArgumentError` if the
        updates together make invalid metadata.
        """
        draft = self.draft
        if not draft.has_changes and draft.base is not None:
            return draft.base
        if draft.location is None:
            raise InvalidArgumentError("Invalid location: null")
        if not draft.versions:
            raise InvalidArgumentError("Invalid view: no versions were added")
        if not 0 < draft.format_version <= SUPPORTED_VIEW_FORMAT_VERSION:
            raise InvalidArgumentError(f"Unsupported format version: {draft.format_version}")
        if draft.uuid is None and self._ids is not None:
            assign_uuid(draft, self._ids.uuid())
        version_log = draft.version_log
        if draft.version_log_addition is not None:
            timestamp, version_id = draft.version_log_addition
            version_log = [*version_log, {"timestamp-ms": now_ms if timestamp is None else timestamp, "version-id": version_id}]
        _check_dialects_kept(draft)
        versions, version_log = _retained(draft, version_log)
        return _to_json(draft, versions, version_log)


def new_view_metadata(schema: JsonObject, view_version: JsonObject, location: str, properties: Mapping[str, str], ids: Ids) -> JsonObject:
    """The metadata of a new view, its first version 1 (Iceberg Java `BaseMetastoreViewCatalog`, builder's `create`).

    The version keeps the client's timestamp and summary. Raises `InvalidArgumentError`.
    """
    version = checked_version({"schema-id": 0, "version-id": _INITIAL_VERSION_ID, **view_version})
    if not version["representations"]:
        raise InvalidArgumentError("Cannot create view without specifying a query")
    builder = ViewMetadataBuilder(None, ids=ids)
    draft = builder.draft
    set_properties(draft, dict(properties))
    set_location(draft, location)
    schema_id = add_schema(draft, Schema(schema))
    set_current_version(draft, add_version(draft, {**version, "version-id": _INITIAL_VERSION_ID, "schema-id": schema_id}))
    # The version log takes the version's own timestamp, since this build adds it; no other time is needed.
    return builder.build(version["timestamp-ms"])


def _check_dialects_kept(draft: ViewDraft) -> None:
    """A query in a dialect that is gone would break that dialect's engines; a property allows it all the same."""
    if draft.base is None or property_as_bool(draft.properties, REPLACE_DROP_DIALECT_ALLOWED, False):
        return
    base_version_id = draft.base["current-version-id"]
    previous = next(version for version in draft.base["versions"] if version["version-id"] == base_version_id)
    before, after = sql_dialects(previous), sql_dialects(draft.version(draft.current_version_id))
    if not before <= after:
        raise InvalidArgumentError(
            f"Cannot replace view due to loss of view dialects ({REPLACE_DROP_DIALECT_ALLOWED}=false):\n"
            f"Previous dialects: [{', '.join(sorted(before))}]\nNew dialects: [{', '.join(sorted(after))}]"
        )


def _retained(draft: ViewDraft, version_log: list[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
    """The versions to keep, newest ids first after the current one, and the log since the last version that is gone."""
    size = property_as_int(draft.properties, VERSION_HISTORY_SIZE, _VERSION_HISTORY_SIZE_DEFAULT)
    if size <= 0:
        raise InvalidArgumentError(f"{VERSION_HISTORY_SIZE} must be positive but was {size}")
    keep = max(size, len(draft.added_version_ids | {draft.current_version_id}))
    if len(draft.versions) <= keep:
        return draft.versions, version_log
    current = draft.version(draft.current_version_id)
    others = sorted((version for version in draft.versions if version is not current), key=_version_id, reverse=True)
    versions = [current, *others[: keep - 1]]
    kept_ids = {version["version-id"] for version in versions}
    kept_log: list[JsonObject] = []
    for entry in version_log:
        if entry["version-id"] in kept_ids:
            kept_log.append(entry)
        else:
            kept_log.clear()
    return versions, kept_log


def _version_id(version: JsonObject) -> int:
    return int(version["version-id"])


def _to_json(draft: ViewDraft, versions: list[JsonObject], version_log: list[JsonObject]) -> JsonObject:
    """The members in the order in which Java writes them, then those of the base that this code does not know."""
    members: dict[str, Any] = {"view-uuid": draft.uuid, "format-version": draft.format_version, "location": draft.location}
    if draft.properties:
        members["properties"] = draft.properties
    members["schemas"] = draft.schemas
    members["current-version-id"] = draft.current_version_id
    members["versions"] = versions
    members["version-log"] = version_log
    unknown = {key: value for key, value in (draft.base or {}).items() if key not in members and key != "properties"}
    return members | unknown
