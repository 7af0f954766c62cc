"""The working state of a view metadata build: what the updates so far have made of the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_array, get_int, get_string, get_string_map

# There is one version of the view format.
SUPPORTED_VIEW_FORMAT_VERSION = 1

ViewUpdate = Callable[["ViewDraft"], object]
"""A well-formed update: what it does to a draft. Raises `InvalidArgumentError` if it does not fit."""


@dataclass
class ViewDraft:
    """State of one build. Collections start as the base's own and are replaced, never changed in place."""

    base: JsonObject | None
    format_version: int
    uuid: str | None
    location: str | None
    schemas: list[JsonObject]
    versions: list[JsonObject]
    current_version_id: int
    version_log: list[JsonObject]
    properties: dict[str, str]

    has_changes: bool = False
    last_added_schema_id: int | None = None
    last_added_version_id: int | None = None
    added_version_ids: set[int] = field(default_factory=set)
    # (timestamp in ms, version id) of the last change of the current version; no timestamp stands for the time of the build.
    version_log_addition: tuple[int | None, int] | None = None

    @classmethod
    def from_base(cls, base: JsonObject) -> ViewDraft:
        """A draft that equals the base. Raises `InvalidArgumentError` if the base is no view metadata."""
        draft = cls(
            base=base,
            format_version=get_int(base, "format-version"),
            uuid=get_string(base, "view-uuid"),
            location=get_string(base, "location"),
            schemas=get_array(base, "schemas"),
            versions=get_array(base, "versions"),
            current_version_id=get_int(base, "current-version-id"),
            version_log=get_array(base, "version-log"),
            properties={} if base.get("properties") is None else get_string_map(base, "properties"),
        )
        draft.version(draft.current_version_id)
        return draft

    @classmethod
    def empty(cls) -> ViewDraft:
        """A draft of a view that does not exist yet."""
        return cls(
            base=None,
            format_version=SUPPORTED_VIEW_FORMAT_VERSION,
            uuid=None,
            location=None,
            schemas=[],
            versions=[],
            current_version_id=0,
            version_log=[],
            properties={},
        )

    def version(self, version_id: int) -> JsonObject:
        """The version of that id. Raises `InvalidArgumentError` if there is none."""
        for version in self.versions:
            if version["version-id"] == version_id:
                return version
        known = ", ".join(str(version["version-id"]) for version in self.versions)
        raise InvalidArgumentError(f"Cannot find current version {version_id} in view versions: [{known}]")
