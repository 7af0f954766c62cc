"""What commits touch, and what differs between two states, as sets of small aspects (`commutation`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from catalog_format.iceberg.metadata import table_fields
from catalog_format.iceberg.metadata.commutation import Aspect, Aspects
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_object, get_string
from catalog_format.iceberg.metadata.properties import properties_to_remove, properties_to_set
from catalog_format.iceberg.metadata.update_actions import action_of


def touched_by(updates: Iterable[JsonObject]) -> Aspects:
    """What table updates touch. Raises `InvalidArgumentError` if one is malformed."""
    return frozenset(aspect for update in updates for aspect in _touched(update, _TABLE_ASPECTS))


def view_touched_by(updates: Iterable[JsonObject]) -> Aspects:
    """What view updates touch. Raises `InvalidArgumentError` if one is malformed."""
    return frozenset(aspect for update in updates for aspect in _touched(update, _VIEW_ASPECTS))


def properties_touched_by(updates: Mapping[str, str], removals: Iterable[str]) -> Aspects:
    """What an update of a namespace's properties touches."""
    return frozenset(("property", key) for key in (*updates, *removals))


def difference(base: JsonObject, winner: JsonObject) -> Aspects:
    """What differs between two table metadata. The log of metadata files and the time of the last update do not count.

    Raises `InvalidArgumentError` if one of them is no table metadata.
    """
    found: set[Aspect] = {(family,) for family, read in _TABLE_MEMBERS.items() if _differ(base, winner, read)}
    found |= _changed("property", table_fields.properties_of(base), table_fields.properties_of(winner))
    found |= _changed("ref", table_fields.refs_of(base), table_fields.refs_of(winner))
    for family, member, key in _KEYED_LISTS:
        found |= _changed(family, _by(base, member, key), _by(winner, member, key))
    if base.get("snapshots") is not winner.get("snapshots"):
        before, after = _by(base, "snapshots", "snapshot-id"), _by(winner, "snapshots", "snapshot-id")
        if before != after:
            found.add(("snapshots",))
        if before.keys() - after.keys():
            found.add(("removed-snapshots",))
    return frozenset(found | _unknown_changes(base, winner, _KNOWN_TABLE_MEMBERS))


def view_difference(base: JsonObject, winner: JsonObject) -> Aspects:
    """What differs between two view metadata."""
    found: set[Aspect] = {
        (family,) for family, members in _VIEW_MEMBERS.items() if any(base.get(member) != winner.get(member) for member in members)
    }
    found |= _changed("property", base.get("properties") or {}, winner.get("properties") or {})
    return frozenset(found | _unknown_changes(base, winner, _KNOWN_VIEW_MEMBERS))


def properties_difference(base: Mapping[str, str], winner: Mapping[str, str]) -> Aspects:
    """What differs between two states of a namespace's properties."""
    return frozenset(_changed("property", base, winner))


def _touched(update: JsonObject, table: Mapping[str, Callable[[JsonObject], Iterable[Aspect]]]) -> Iterable[Aspect]:
    action = action_of(update)
    read = table.get(action)
    return [("unknown", action)] if read is None else read(update)


def _fixed(*families: str) -> Callable[[JsonObject], Iterable[Aspect]]:
    return lambda update: [(family,) for family in families]


def _member(family: str, key: str, within: str | None = None) -> Callable[[JsonObject], Iterable[Aspect]]:
    def read(update: JsonObject) -> Iterable[Aspect]:
        node = update if within is None else get_object(update, within)
        return [(family, node.get(key, ""))]

    return read


def _ref(update: JsonObject) -> Iterable[Aspect]:
    return [("ref", get_string(update, "ref-name"))]


def _set_properties(update: JsonObject) -> Iterable[Aspect]:
    return [("property", key) for key in properties_to_set(update)]


def _remove_properties(update: JsonObject) -> Iterable[Aspect]:
    return [("property", key) for key in properties_to_remove(update)]


_TABLE_ASPECTS: Final[dict[str, Callable[[JsonObject], Iterable[Aspect]]]] = {
    "assign-uuid": _fixed("uuid"),
    "upgrade-format-version": _fixed("format-version"),
    "set-location": _fixed("location"),
    "set-properties": _set_properties,
    "remove-properties": _remove_properties,
    "add-schema": _fixed("schema"),
    "set-current-schema": _fixed("schema"),
    "remove-schemas": _fixed("schema"),
    "add-spec": _fixed("spec"),
    "set-default-spec": _fixed("spec"),
    "remove-partition-specs": _fixed("spec"),
    "add-sort-order": _fixed("sort-order"),
    "set-default-sort-order": _fixed("sort-order"),
    "add-snapshot": _fixed("snapshots"),
    "remove-snapshots": _fixed("snapshots", "removed-snapshots"),
    "set-snapshot-ref": _ref,
    "remove-snapshot-ref": _ref,
    "set-statistics": _member("statistics", "snapshot-id", "statistics"),
    "remove-statistics": _member("statistics", "snapshot-id"),
    "set-partition-statistics": _member("partition-statistics", "snapshot-id", "partition-statistics"),
    "remove-partition-statistics": _member("partition-statistics", "snapshot-id"),
    "add-encryption-key": _member("encryption-key", "key-id", "encryption-key"),
    "remove-encryption-key": _member("encryption-key", "key-id"),
}
_VIEW_ASPECTS: Final[dict[str, Callable[[JsonObject], Iterable[Aspect]]]] = {
    "assign-uuid": _fixed("uuid"),
    "upgrade-format-version": _fixed("format-version"),
    "set-location": _fixed("location"),
    "set-properties": _set_properties,
    "remove-properties": _remove_properties,
    "add-schema": _fixed("view-version"),
    "add-view-version": _fixed("view-version"),
    "set-current-view-version": _fixed("view-version"),
}

_TABLE_MEMBERS: Final[dict[str, tuple[Callable[[JsonObject], Any], ...]]] = {
    "uuid": (lambda metadata: metadata.get("table-uuid"),),
    "format-version": (table_fields.format_version_of,),
    "location": (lambda metadata: metadata.get("location"),),
    "schema": (
        table_fields.current_schema_id_of,
        table_fields.schemas_of,
        lambda metadata: metadata.get("last-column-id"),
    ),
    "spec": (table_fields.default_spec_id_of, table_fields.specs_of, table_fields.last_partition_id_of),
    "sort-order": (table_fields.default_sort_order_id_of, table_fields.sort_orders_of),
    "snapshots": (table_fields.last_sequence_number_of, table_fields.next_row_id_of),
}
_KEYED_LISTS: Final = (
    ("statistics", "statistics", "snapshot-id"),
    ("partition-statistics", "partition-statistics", "snapshot-id"),
    ("encryption-key", "encryption-keys", "key-id"),
)
_VIEW_MEMBERS: Final = {
    "uuid": ("view-uuid",),
    "format-version": ("format-version",),
    "location": ("location",),
    "view-version": ("schemas", "current-version-id", "versions", "version-log"),
}
# Known, and either compared above or of no meaning to a commit. The snapshot log and the current snapshot change only
# with branch main or with the snapshots.
_KNOWN_TABLE_MEMBERS: Final = frozenset(
    {
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schema",
        "current-schema-id",
        "schemas",
        "partition-spec",
        "default-spec-id",
        "partition-specs",
        "last-partition-id",
        "default-sort-order-id",
        "sort-orders",
        "properties",
        "current-snapshot-id",
        "next-row-id",
        "encryption-keys",
        "refs",
        "snapshots",
        "statistics",
        "partition-statistics",
        "snapshot-log",
        "metadata-log",
    }
)
_KNOWN_VIEW_MEMBERS: Final = frozenset({"properties"}.union(*_VIEW_MEMBERS.values()))


def _differ(base: JsonObject, winner: JsonObject, reads: Iterable[Callable[[JsonObject], Any]]) -> bool:
    return any(read(base) != read(winner) for read in reads)


def _changed(family: str, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> set[Aspect]:
    absent = object()
    return {(family, key) for key in before.keys() | after.keys() if before.get(key, absent) != after.get(key, absent)}


def _by(metadata: JsonObject, member: str, key: str) -> dict[Any, JsonObject]:
    return {item[key]: item for item in table_fields.list_of(metadata, member)}


def _unknown_changes(base: JsonObject, winner: JsonObject, known: frozenset[str]) -> set[Aspect]:
    return _changed(
        "unknown",
        {key: value for key, value in base.items() if key not in known},
        {key: value for key, value in winner.items() if key not in known},
    )
