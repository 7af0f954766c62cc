"""Staging: applying changes to a state that nobody else sees yet, with the catalog's structural rules.

One stage serves a whole group of transactions: each is staged on top of those before it, and one that fails leaves no trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from catalog_format.changes import Change, RecordedChange, Verb
from catalog_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
)
from catalog_format.keys import (
    CATALOG_KEY,
    USER_TYPES,
    Identifier,
    ObjectType,
    children_range,
    identifier_of,
    namespace_key,
    object_key,
    type_of,
)
from catalog_format.kinds import ApplyContext, Kinds, ObjectKind, State, Upload
from catalog_format.reader import Reader


class ObjectInUseError(Exception):
    """An earlier member of the group changed an object that this one drops or moves: stage it in the next group."""


@dataclass(slots=True)
class Slot:
    """What is staged under one key. A fresh state is stored once, by the end of the stage, for everybody who shares it."""

    definition: bytes | None
    state: State | None = None
    fresh: bool = False

    @property
    def exists(self) -> bool:
        return self.fresh or self.definition is not None


class Stage:
    """Changes on top of a reader. Not shared between tasks; one member is staged at a time."""

    def __init__(self, reader: Reader, kinds: Kinds, now_ms: int) -> None:
        self._reader = reader
        self._kinds = kinds
        self._now_ms = now_ms
        self._slots: dict[bytes, Slot] = {}
        self._bookkeeping: dict[bytes, bytes | None] = {}
        # Layer of the member that is being staged.
        self._own: dict[bytes, Slot] = {}
        self._own_bookkeeping: dict[bytes, bytes | None] = {}
        self.applied: list[Change] = []
        """The changes of the member that was staged last, as they took effect."""

    def touched(self, key: bytes) -> bool:
        """Whether an earlier member of the group writes the key."""
        return key in self._slots or key in self._bookkeeping

    def touched_within(self, low: bytes, high: bytes) -> bytes | None:
        """The first key in [low, high) that an earlier member writes."""
        return min((key for key in self._slots if low <= key < high), default=None)

    async def apply(
        self,
        changes: Sequence[Change],
        *,
        check_requirements: bool = True,
        recorded: Mapping[int, RecordedChange] | None = None,
        replayed: Mapping[bytes, State | None] | None = None,
    ) -> dict[bytes, Slot]:
        """Stage one member's changes, in order; the slots it wrote. On an error nothing of it remains.

        `recorded` gives, by position, changes whose results stand: they are taken over without asking the object's kind.
        `replayed` gives, by key, states that hold all that the changes ask of that key; None if they change nothing.
        """
        self._own, self._own_bookkeeping, self.applied = {}, {}, []
        for key, state in replayed.items() if replayed else ():
            if state is not None:
                self._own[key] = Slot(None, state, fresh=True)
        context = ApplyContext(self._now_ms, check_requirements)
        for position, change in enumerate(changes):
            self.applied.append(change)
            if replayed is None or change.key not in replayed:
                await self._apply_one(change, context, recorded.get(position) if recorded else None)
        self._slots.update(self._own)
        self._bookkeeping.update(self._own_bookkeeping)
        return self._own

    def note(self, key: bytes, value: bytes | None) -> None:
        """Stage an entry of Treeline's own (an outcome, an idempotent answer); None takes it out."""
        self._bookkeeping[key] = value

    async def store(self, upload: Upload) -> dict[bytes, Exception]:
        """Write the files that the fresh states need, in parallel; what failed, by key."""
        fresh = [(key, slot) for key, slot in self._slots.items() if slot.fresh]
        outcomes = await asyncio.gather(*(self._store_one(key, slot, upload) for key, slot in fresh), return_exceptions=True)
        failures: dict[bytes, Exception] = {}
        for (key, _), outcome in zip(fresh, outcomes, strict=True):
            if isinstance(outcome, Exception):
                failures[key] = outcome
            elif isinstance(outcome, BaseException):
                raise outcome
        return failures

    def written(self) -> dict[bytes, bytes | None]:
        """Key to definition of everything staged, None for dropped. Call after `store`."""
        return {key: slot.definition for key, slot in self._slots.items()} | self._bookkeeping

    def definition(self, key: bytes, slot: Slot) -> bytes | None:
        """What the group leaves under a key that a member wrote as `slot`: later members' changes are in it too."""
        return self._slots.get(key, slot).definition

    async def state_of(self, key: bytes) -> State | None:
        """The staged state of an object, None if it does not exist."""
        slot = await self._slot(key)
        return await self._opened(self._kind(key), slot) if slot.exists else None

    async def _store_one(self, key: bytes, slot: Slot, upload: Upload) -> None:
        slot.definition = await self._kind(key).store(identifier_of(key), slot.state, upload)
        slot.fresh = False

    async def _apply_one(self, change: Change, context: ApplyContext, standing: RecordedChange | None) -> None:
        if change.key == CATALOG_KEY:
            # About the catalog as a whole: it stands in the log, and changes no entry.
            return
        if type_of(change.key) not in self._kinds:
            if standing is None:
                raise InvalidArgumentError(f"Changes to {type_of(change.key).name.lower()} entries are not for clients")
            self._own_bookkeeping[change.key] = standing.result
            return
        kind = self._kind(change.key)
        slot = await self._slot(change.key)
        identifier = identifier_of(change.key)
        if change.verb is Verb.CREATE:
            if slot.exists:
                raise kind.taken(identifier, kind.object_type)
            await self._check_place(kind, identifier)
        elif not slot.exists and change.verb is not Verb.UPDATE:
            raise kind.missing(identifier)
        match change.verb:
            case Verb.CREATE | Verb.UPDATE:
                if not slot.exists and change.verb is Verb.UPDATE:
                    # An update that creates (`assert-create`): the kind refuses it if it does not.
                    await self._check_new(kind, identifier, slot, change, context, standing)
                else:
                    await self._write(change.key, kind, slot, change, context, standing)
            case Verb.DROP:
                await self._drop(change, kind, slot, identifier)
            case Verb.MOVE:
                await self._move(change, kind, slot)

    async def _check_new(
        self,
        kind: ObjectKind,
        identifier: Identifier,
        slot: Slot,
        change: Change,
        context: ApplyContext,
        standing: RecordedChange | None,
    ) -> None:
        await self._write(change.key, kind, slot, change, context, standing)
        await self._check_place(kind, identifier)

    async def _write(
        self, key: bytes, kind: ObjectKind, slot: Slot, change: Change, context: ApplyContext, standing: RecordedChange | None
    ) -> None:
        if standing is not None:
            self._own[key] = Slot(standing.result)
            return
        before = await self._opened(kind, slot) if slot.exists else None
        identifier = identifier_of(key)
        try:
            after = kind.apply(identifier, before, change, context)
        except ConflictError as refusal:
            if before is None or not context.check_requirements:
                raise
            after, self.applied[-1] = await kind.reconcile(identifier, before, change, context, refusal)
        if after is not before:
            self._own[key] = Slot(slot.definition, after, fresh=True)

    async def _drop(self, change: Change, kind: ObjectKind, slot: Slot, identifier: Identifier) -> None:
        self._refuse_shared(change.key)
        if kind.object_type is ObjectType.NAMESPACE:
            await self._check_empty(identifier)
        if slot.definition is not None:
            version = self._reader.root.version + 1
            self._own_bookkeeping.update(kind.farewell(slot.definition, change, version, self._now_ms))
        self._own[change.key] = Slot(None)

    async def _move(self, change: Change, kind: ObjectKind, slot: Slot) -> None:
        if change.target is None:
            raise InvalidArgumentError("A move needs a target")
        self._refuse_shared(change.key)
        target = identifier_of(change.target)
        taken_by = kind.object_type if (await self._slot(change.target)).exists else await self._twin_at(kind, target)
        if taken_by is not None:
            names = f"{'.'.join(identifier_of(change.key))} to {'.'.join(target)}"
            raise AlreadyExistsError(f"Cannot rename {names}. {taken_by.name.capitalize()} already exists")
        await self._check_place(kind, target)
        self._own[change.target] = replace(slot)
        self._own[change.key] = Slot(None)

    def _refuse_shared(self, key: bytes) -> None:
        """A state that an earlier member made is stored for that member's answer, so it must survive this group."""
        slot = self._slots.get(key)
        if slot is not None and slot.fresh and key not in self._own:
            raise ObjectInUseError

    async def _check_place(self, kind: ObjectKind, identifier: Identifier) -> None:
        """The parent exists and no object of the twin type holds the name."""
        parent = identifier[:-1]
        if parent and not (await self._slot(namespace_key(parent))).exists:
            raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(parent)}")
        twin = await self._twin_at(kind, identifier)
        if twin is not None:
            raise kind.taken(identifier, twin)

    async def _twin_at(self, kind: ObjectKind, identifier: Identifier) -> ObjectType | None:
        """The twin type, if an object of it holds the name."""
        if kind.twin is None or not (await self._slot(object_key(kind.twin, identifier))).exists:
            return None
        return kind.twin

    async def _check_empty(self, namespace: Identifier) -> None:
        staged = {key: slot.exists for key, slot in (self._slots | self._own).items()}
        for object_type in USER_TYPES:
            low, high = children_range(object_type, namespace)
            found = next((key for key, exists in staged.items() if exists and low <= key < high), None)
            if found is None:
                async for key in self._reader.scan(low, high):
                    if staged.get(key, True):
                        found = key
                        break
            if found is not None:
                child = f"{object_type.name.lower()} {'.'.join(identifier_of(found))}"
                raise NamespaceNotEmptyError(f"Namespace {'.'.join(namespace)} is not empty: it contains {child}")

    async def _slot(self, key: bytes) -> Slot:
        slot = self._own.get(key) or self._slots.get(key)
        return Slot(await self._reader.definition(key)) if slot is None else slot

    async def _opened(self, kind: ObjectKind, slot: Slot) -> State:
        if slot.state is None:
            slot.state = await kind.open(slot.definition or b"")
        return slot.state

    def _kind(self, key: bytes) -> ObjectKind:
        return self._kinds[type_of(key)]
