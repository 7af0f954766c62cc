"""Updates that do the same to tables and to views: location and properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from catalog_format.iceberg.metadata.json_fields import JsonObject, get_string
from catalog_format.iceberg.metadata.properties import properties_to_remove, properties_to_set


class Draft(Protocol):
    """What table and view drafts have in common."""

    location: str | None
    properties: dict[str, str]
    has_changes: bool


SharedUpdate = Callable[[Draft], None]


def set_location(draft: Draft, location: str) -> None:
    if location != draft.location:
        draft.location = location
        draft.has_changes = True


def set_properties(draft: Draft, updates: dict[str, str]) -> None:
    """Set properties. Any counts as a change, even to the value it has, as in Java."""
    if updates:
        draft.properties = {**draft.properties, **updates}
        draft.has_changes = True


def remove_properties(draft: Draft, removals: set[str]) -> None:
    """Remove properties. Any counts as a change, even of one that is not there, as in Java."""
    if removals:
        draft.properties = {key: value for key, value in draft.properties.items() if key not in removals}
        draft.has_changes = True


def parse_set_location(update: JsonObject) -> SharedUpdate:
    location = get_string(update, "location")
    return lambda draft: set_location(draft, location)


def parse_set_properties(update: JsonObject) -> SharedUpdate:
    updates = properties_to_set(update)
    return lambda draft: set_properties(draft, updates)


def parse_remove_properties(update: JsonObject) -> SharedUpdate:
    removals = set(properties_to_remove(update))
    return lambda draft: remove_properties(draft, removals)
