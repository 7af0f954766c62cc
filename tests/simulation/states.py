"""What a version holds, as a plain mapping, and what can be seen of it: the simulator's own idea of a catalog.

Written apart from the catalog's tree, staging and conflict rules, so that it can judge them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catalog_format.changes import Verb
from catalog_format.keys import Identifier, ObjectType, identifier_of, namespace_key, table_key, type_of, view_key

Json = dict[str, Any]

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

    @property
    def head(self) -> int | None:
        return self.snapshots[-1] if self.snapshots else None

    def is_like(self, other: Thing) -> bool:
        return self.properties == other.properties and self.snapshots == other.snapshots


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
    snapshots = wanted.request.get("metadata", {}).get("snapshots") or ()
    return Thing(_properties_in(wanted), tuple(snapshot["snapshot-id"] for snapshot in snapshots))


def _updated(thing: Thing, wanted: Wanted, joins: bool) -> Thing:
    if wanted.replaces:
        return _made(wanted)
    if type_of(wanted.key) is ObjectType.NAMESPACE:
        kept = {name: value for name, value in thing.properties.items() if name not in wanted.request["removals"]}
        return Thing({**kept, **wanted.request["updates"]})
    after = replace(thing, location=None)
    for requirement in wanted.request["requirements"]:
        if not joins and requirement["type"] == "assert-ref-snapshot-id" and requirement["snapshot-id"] != after.head:
            raise IllegalError(f"{wanted.key!r} was changed although its head was {after.head}, not {requirement['snapshot-id']}")
    for update in wanted.request["updates"]:
        match update["action"]:
            case "set-properties":
                after = replace(after, properties={**after.properties, **update["updates"]})
            case "add-snapshot":
                after = replace(after, snapshots=(*after.snapshots, update["snapshot"]["snapshot-id"]))
    return after
