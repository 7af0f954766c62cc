"""What clients were told of a state, as predicates: a reader's answer is right if some state that it may have seen is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from catalog_format.keys import Identifier, ObjectType, identifier_of, type_of
from tests.simulation.states import Thing, Things, children_of


class Sight(Protocol):
    """Something that was seen."""

    def holds(self, things: Things) -> bool: ...


@dataclass(frozen=True)
class Located:
    """A table or view with this metadata file."""

    key: bytes
    location: str

    def holds(self, things: Things) -> bool:
        thing = things.get(self.key)
        return thing is not None and thing.location == self.location


@dataclass(frozen=True)
class WithProperties:
    """A namespace with exactly these properties."""

    key: bytes
    properties: Mapping[str, str]

    def holds(self, things: Things) -> bool:
        thing = things.get(self.key)
        return thing is not None and thing.properties == self.properties


@dataclass(frozen=True)
class Absent:
    """Nothing under any of these keys."""

    keys: tuple[bytes, ...]

    def holds(self, things: Things) -> bool:
        return any(key not in things for key in self.keys)


@dataclass(frozen=True)
class Present:
    """Something under one of these keys."""

    keys: tuple[bytes, ...]

    def holds(self, things: Things) -> bool:
        return any(key in things for key in self.keys)


@dataclass(frozen=True)
class Children:
    """Exactly these children of one type."""

    object_type: ObjectType
    namespace: Identifier
    names: frozenset[Identifier]

    def holds(self, things: Things) -> bool:
        keys = children_of(things, self.namespace)
        return {identifier_of(key) for key in keys if type_of(key) is self.object_type} == self.names


@dataclass(frozen=True)
class NotEmpty:
    """A namespace with children."""

    namespace: Identifier

    def holds(self, things: Things) -> bool:
        return bool(children_of(things, self.namespace))


@dataclass(frozen=True)
class OtherHead:
    """One of these tables is absent or has another newest snapshot than expected."""

    expected: tuple[tuple[bytes, int | None], ...]

    def holds(self, things: Things) -> bool:
        return any((things.get(key) or Thing({}, (-1,))).head != head for key, head in self.expected)


@dataclass(frozen=True)
class GivenUp:
    """A version that is not kept any more. Says nothing about objects."""

    version: int

    def holds(self, things: Things) -> bool:
        return False
