"""Namespaces as an object kind: nothing but properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from catalog_format.changes import Change, Verb
from catalog_format.errors import AlreadyExistsError, ConflictError, NoSuchNamespaceError
from catalog_format.keys import Identifier, ObjectType
from catalog_format.kinds import ApplyContext, Upload
from catalog_format.objects import NamespaceDefinition


def properties_request(updates: Mapping[str, str], removals: Sequence[str] = ()) -> bytes:
    """Request of a CREATE or an UPDATE."""
    return orjson.dumps({"updates": dict(updates), "removals": list(removals)})


class NamespaceKind:
    """State: a `NamespaceDefinition`."""

    object_type = ObjectType.NAMESPACE
    twin = None

    def missing(self, identifier: Identifier) -> NoSuchNamespaceError:
        return NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(identifier)}")

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        return AlreadyExistsError(f"Namespace already exists: {'.'.join(identifier)}")

    async def open(self, definition: bytes) -> NamespaceDefinition:
        return NamespaceDefinition.from_bytes(definition)

    def apply(
        self, identifier: Identifier, state: NamespaceDefinition | None, change: Change, context: ApplyContext
    ) -> NamespaceDefinition:
        request = orjson.loads(change.request)
        if state is None:
            if change.verb is Verb.UPDATE:
                raise self.missing(identifier)
            return NamespaceDefinition(request["updates"])
        kept = {key: value for key, value in state.properties.items() if key not in set(request["removals"])}
        after = kept | request["updates"]
        return state if after == state.properties else NamespaceDefinition(after)

    async def store(self, identifier: Identifier, state: NamespaceDefinition, upload: Upload) -> bytes:
        return state.to_bytes()

    async def replay(
        self,
        identifier: Identifier,
        base: NamespaceDefinition,
        winner: NamespaceDefinition,
        changes: Sequence[Change],
        context: ApplyContext,
    ) -> NamespaceDefinition:
        """Settings of different properties join; two of one property do not."""
        theirs = {
            key for key in base.properties.keys() | winner.properties.keys() if base.properties.get(key) != winner.properties.get(key)
        }
        ours: set[str] = set()
        for change in changes:
            request = orjson.loads(change.request)
            ours.update(request["updates"], request["removals"])
        both = sorted(theirs & ours)
        if both:
            raise ConflictError(f"both changed the property {both[0]!r}")
        for change in changes:
            winner = self.apply(identifier, winner, change, context)
        return winner

    def foresees(self, change: Change) -> bool:
        return False

    async def look_ahead(self, definition: bytes, change: Change, *, replays: bool) -> None:
        """Nothing is asked for."""

    async def reconcile(
        self, identifier: Identifier, state: NamespaceDefinition, change: Change, context: ApplyContext, refusal: ConflictError
    ) -> tuple[NamespaceDefinition, Change]:
        raise refusal

    def files(self, definition: bytes) -> Sequence[str]:
        return ()

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        return {}
