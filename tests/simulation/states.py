"""What a version holds, as a plain mapping, and what can be seen of it: the simulator's own idea of a catalog.

Written apart from the catalog's tree, staging and conflict rules, so that it can judge them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catalog_format.changes import Verb
from catalog_format.keys import Identifier, ObjectType, identifier_of, namespace_key, table_key, type_of, view_key
from tests.simulation.engine import rows_after

Json = dict[str, Any]

REBASES = "treeline.rebase-appends"
"""Whether plain commits that append join others."""
DEFAULT_PROPERTY = "write.parquet.compression-codec"
"""Every new table gets it."""


class IllegalError(Exception):
    """A change that must never have been applied to this state."""


@dataclass(frozen=True)
class Thing:
    """A namespace, table or view. `location` tells its metadata file; None while nobody has looked."""

    properties: Mapping[str, str]
    snapshots: tuple[int, ...] = ()
    """Snapshot ids, oldest first; the last one is main's head."""
    location: str | None = None
    rows: tuple[str, ...] = ()
    """Sorted, each as often as it is there."""

    @property
    def head(self) -> int | None:
        return self.snapshots[-1] if self.snapshots else None

    def is_like(self, other: Thing) -> bool:
        return (self.properties, self.snapshots, self.rows) == (other.properties, other.snapshots, other.rows)


Things = dict[bytes, Thing]
"""Key to object, of one version."""


@dataclass(frozen=True)
class Wanted:
    """One change, as it was asked for: `request` is the JSON of the object's kind, parsed."""

    verb: Verb
    key: bytes
    target: bytes | None = None
    request: Json = field(default_factory=dict)

    @property
    def keys(self) -> tuple[bytes, ...]:
        return (self.key,) if self.target is None else (self.key, self.target)

    @property
    def replaces(self) -> bool:
        """Whether it puts something in the place of all that the object is."""
        return "metadata" in self.request

    @property
    def only_appends(self) -> bool:
        """Whether all that it does is to add rows."""
        updates = self.request.get("updates", []) if type_of(self.key) is ObjectType.TABLE else []
        added = [update["snapshot"] for update in updates if update["action"] == "add-snapshot"]
        return len(updates) == 2 * len(added) > 0 and all(snapshot["summary"]["operation"] == "append" for snapshot in added)

    @property
    def aspects(self) -> frozenset[str]:
        """What of the object it writes, for telling whether two updates may stand side by side."""
        found: set[str] = set()
        for update in self.request.get("updates", []) if type_of(self.key) is not ObjectType.NAMESPACE else []:
            found |= {f"property {name}" for name in update.get("updates", {})} | {
                f"property {name}" for name in update.get("removals", [])
            }
            if update["action"] in {"add-snapshot", "set-snapshot-ref"}:
                found.add("main")
        if type_of(self.key) is ObjectType.NAMESPACE:
            found |= {f"property {name}" for name in [*self.request.get("updates", {}), *self.request.get("removals", [])]}
        return frozenset(found)


def is_user_key(key: bytes) -> bool:
    return key[:1] in {b"B", b"C", b"D"}


def twin_of(key: bytes) -> bytes | None:
    """The key of the view that would have a table's name, and the other way round."""
    match type_of(key):
        case ObjectType.TABLE:
            return view_key(identifier_of(key))
        case ObjectType.VIEW:
            return table_key(identifier_of(key))
    return None


def children_of(things: Iterable[bytes], namespace: Identifier) -> list[bytes]:
    return [key for key in things if len(identifier_of(key)) == len(namespace) + 1 and identifier_of(key)[:-1] == namespace]


def apply(things: Things, wanted: Wanted, *, joins: bool = False) -> None:
    """Do what was asked for, to a state in which it must be legal. Raises `IllegalError` if it is not.

    `joins`: snapshots may be put on top of others than those that they were made on.
    """
    match wanted.verb:
        case Verb.CREATE:
            _check_free(things, wanted.key)
            things[wanted.key] = _made(wanted)
        case Verb.UPDATE:
            things[wanted.key] = _updated(_present(things, wanted.key), wanted, joins)
        case Verb.DROP:
            _present(things, wanted.key)
            if type_of(wanted.key) is ObjectType.NAMESPACE and (left := children_of(things, identifier_of(wanted.key))):
                raise IllegalError(f"{wanted.key!r} was dropped although it held {left}")
            del things[wanted.key]
        case Verb.MOVE:
            assert wanted.target is not None
            moved = _present(things, wanted.key)
            _check_free(things, wanted.target)
            del things[wanted.key]
            things[wanted.target] = moved


def _present(things: Things, key: bytes) -> Thing:
    if key not in things:
        raise IllegalError(f"{key!r} was changed although it does not exist")
    return things[key]


def _check_free(things: Things, key: bytes) -> None:
    parent, twin = identifier_of(key)[:-1], twin_of(key)
    if key in things or (twin is not None and twin in things):
        raise IllegalError(f"{key!r} was made although its name is taken")
    if parent and namespace_key(parent) not in things:
        raise IllegalError(f"{key!r} was made although its parent does not exist")


def _properties_in(wanted: Wanted) -> dict[str, str]:
    request = wanted.request
    found = request["updates"] if type_of(wanted.key) is ObjectType.NAMESPACE else request["metadata"].get("properties", {})
    return {name: value for name, value in found.items() if name != DEFAULT_PROPERTY}


def _made(wanted: Wanted) -> Thing:
    made = Thing(_properties_in(wanted))
    for snapshot in wanted.request.get("metadata", {}).get("snapshots") or ():
        made = _with_snapshot(made, snapshot)
    return made


def _with_snapshot(thing: Thing, snapshot: Json) -> Thing:
    try:
        rows = rows_after(thing.rows, snapshot)
    except ValueError:
        raise IllegalError(f"snapshot {snapshot['snapshot-id']} removed rows that were not there any more: {snapshot['summary']}") from None
    return replace(thing, snapshots=(*thing.snapshots, snapshot["snapshot-id"]), rows=rows)


def _updated(thing: Thing, wanted: Wanted, joins: bool) -> Thing:
    if wanted.replaces:
        return _made(wanted)
    if type_of(wanted.key) is ObjectType.NAMESPACE:
        kept = {name: value for name, value in thing.properties.items() if name not in wanted.request["removals"]}
        return Thing({**kept, **wanted.request["updates"]})
    after = replace(thing, location=None)
    joins = joins or (thing.properties.get(REBASES) == "true" and wanted.only_appends)
    for requirement in wanted.request["requirements"]:
        if not joins and requirement["type"] == "assert-ref-snapshot-id" and requirement["snapshot-id"] != after.head:
            raise IllegalError(f"{wanted.key!r} was changed although its head was {after.head}, not {requirement['snapshot-id']}")
    for update in wanted.request["updates"]:
        match update["action"]:
            case "set-properties":
                after = replace(after, properties={**after.properties, **update["updates"]})
            case "add-snapshot":
                after = _with_snapshot(after, update["snapshot"])
    return after
