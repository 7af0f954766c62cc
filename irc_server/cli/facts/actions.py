"""What happened to an object, and what was read, in words and in parts."""

from __future__ import annotations

from dataclasses import dataclass

from catalog_format.changes import Change, Verb
from catalog_format.errors import NewerFormatError
from catalog_format.keys import USER_TYPES, ObjectType, children_range, identifier_of, type_of
from catalog_format.pb import catalog_pb2 as pb

_VERBS = {Verb.CREATE: "create", Verb.UPDATE: "update", Verb.DROP: "drop", Verb.MOVE: "rename"}
_CATALOG = ObjectType.CATALOG.name.lower()
_TOLD_TYPE_NAMES = frozenset(object_type.name.lower() for object_type in USER_TYPES) | {_CATALOG}


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """One change of one object."""

    verb: str
    type: str
    name: tuple[str, ...]
    target: tuple[str, ...] | None
    """Where a rename put it."""
    summary: str

    @property
    def is_told(self) -> bool:
        """Whether it is about something that a user made or about the catalog as a whole, not about Treeline's own bookkeeping."""
        return self.type in _TOLD_TYPE_NAMES

    @property
    def words(self) -> str:
        """Such as "update table ns.t: add-snapshot, set-snapshot-ref"."""
        if self.type == _CATALOG:
            return f"{self.verb} the catalog: {self.summary}"
        target = f" to {'.'.join(self.target)}" if self.target else ""
        return f"{self.verb} {self.type} {'.'.join(self.name)}{target}" + (f": {self.summary}" if self.summary else "")


def action_of(change: Change | pb.Action) -> ActionFacts:
    """A change of a transaction's log, or an action of a root."""
    return ActionFacts(
        _VERBS[Verb(change.verb)],
        type_name(change.key),
        name_of(change.key),
        name_of(change.target) if change.target else None,
        change.summary,
    )


def type_name(key: bytes) -> str:
    """ "table", "view" and so on; the letters themselves for a type that this Treeline does not know."""
    try:
        return type_of(key).name.lower()
    except NewerFormatError:
        return key[:4].decode("utf-8", "replace").rstrip("=")


def name_of(key: bytes) -> tuple[str, ...]:
    return identifier_of(key)


def read_words(key: bytes) -> str:
    """A key that was looked up."""
    return f"{type_name(key)} {'.'.join(name_of(key))}"


def range_words(low: bytes, high: bytes) -> str:
    """A range that was listed, such as "every table in ns"."""
    parent = low[4:-1].decode("utf-8", "replace")
    levels = tuple(parent.split("\x1f")) if parent else ()
    for object_type in ObjectType:
        if (low, high) == children_range(object_type, levels):
            return f"every {object_type.name.lower()} " + (f"in {'.'.join(levels)}" if levels else "at the top")
    return f"{low!r} to {high!r}"
