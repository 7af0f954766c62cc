"""The catalog as plain dicts, and which transactions must be refused.

`verdict` is a naive oracle that looks at whole states and histories, and knows nothing of stamps, trees or logs beyond "which version last
wrote this".
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from catalog_format.changes import IsolationLevel
from catalog_format.errors import (
    AlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
)

Key = tuple[str, ...]
"""("ns",) is a namespace, ("ns", "t") a table in it."""


@dataclass
class Thing:
    """An object: its properties, the version that last wrote it, and which of all that were ever created it is."""

    properties: dict[str, str]
    written: int
    number: int


State = dict[Key, Thing]
Step = tuple[str, Key, Any]


@dataclass
class Pending:
    """An open transaction of the model."""

    isolation: IsolationLevel
    base_version: int
    base: State
    state: State
    steps: list[Step] = field(default_factory=list)
    points: set[Key] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)


@dataclass
class Effect:
    """What took effect in a version, and what it had read, if that counts."""

    version: int
    steps: list[Step]
    before: int | None = None
    """Right before which version it stands, if it was ordered backwards."""
    base: State = field(default_factory=dict)
    points: set[Key] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)

    @property
    def place(self) -> int:
        return self.version if self.before is None else self.before


creations = count()


class IllegalMove(Exception):
    """The step is not allowed in this state; its name is the error expected."""


def stamps(state: State) -> dict[Key, int]:
    return {key: thing.written for key, thing in state.items()}


def step(state: State, verb: str, key: Key, detail: Any, version: int) -> None:
    """Apply one step to a state, or raise `IllegalMove` with the error that the catalog must give."""
    if verb == "create":
        if key in state:
            raise IllegalMove(AlreadyExistsError)
        if len(key) > 1 and key[:1] not in state:
            raise IllegalMove(NoSuchNamespaceError)
        state[key] = Thing({}, version, next(creations))
    elif key not in state:
        raise IllegalMove(NoSuchTableError if len(key) > 1 else NoSuchNamespaceError)
    elif verb == "set":
        name, value = detail
        if state[key].properties.get(name) != value or len(key) > 1:
            state[key] = Thing({**state[key].properties, name: value}, version, state[key].number)
    elif verb == "drop":
        if len(key) == 1 and any(other[:1] == key and len(other) > 1 for other in state):
            raise IllegalMove(NamespaceNotEmptyError)
        del state[key]
    elif verb == "move":
        if detail in state:
            raise IllegalMove(AlreadyExistsError)
        if detail[:1] not in state:
            raise IllegalMove(NoSuchNamespaceError)
        moved = state.pop(key)
        state[detail] = Thing(moved.properties, version, moved.number)


def reads_of(state: State, verb: str, key: Key, detail: Any) -> tuple[set[Key], set[str]]:
    """Keys and listed namespaces that a step tells its caller about, whether it is allowed or not."""
    points, listed = {key}, set()
    if verb == "create" and len(key) > 1:
        points.add(key[:1])
    if verb == "drop" and len(key) == 1 and key in state:
        listed.add(key[0])
    if verb == "move" and key in state:
        points |= {detail} if detail in state else {detail, detail[:1]}
    return points, listed


def written(steps: Sequence[Step]) -> set[Key]:
    return {key for verb, source, detail in steps for key in ([source, detail] if verb == "move" else [source])}


def bounded(steps: Sequence[Step]) -> set[Key]:
    """Namespaces that are made or dropped, so that nothing can be in them before or after."""
    return {key for verb, key, _ in steps if len(key) == 1 and verb != "set"}


def read_any(reader: Pending | Effect, keys: set[Key]) -> bool:
    return any(key in reader.points or (len(key) > 1 and key[0] in reader.listed) for key in keys)


def places(pending: Pending, effects: Sequence[Effect]) -> list[int]:
    """The versions right before which a transaction has its place, if its reads are of its base: every one is tried."""
    mine = written(pending.steps)
    others = [effect for effect in effects if effect.version > pending.base_version]

    def meet(other: Effect) -> bool:
        theirs = written(other.steps)
        inside = {key[:1] for key in mine if len(key) > 1} & bounded(other.steps)
        around = {key[:1] for key in theirs if len(key) > 1} & bounded(pending.steps)
        return bool(mine & theirs or inside or around) or read_any(other, mine)

    return [
        place
        for place in {other.place for other in others}
        if place > pending.base_version
        and all(other.place >= place for other in others if read_any(pending, written(other.steps)))
        and all(other.place < place for other in others if meet(other))
    ]


def differs_from_serial(effects: Sequence[Effect], now: State) -> str | None:
    """What would be different if all were done one after the other in the order of their places; None if nothing would."""
    state: State = {}
    for effect in sorted(effects, key=lambda effect: (effect.place, effect.before is None, -effect.version)):
        for key in {*effect.base, *state, *effect.points}:
            is_read = key in effect.points or (len(key) > 1 and key[0] in effect.listed)
            here, there = state.get(key), effect.base.get(key)
            if is_read and (here and here.properties) != (there and there.properties):
                return f"version {effect.version} read {key} as {there}, and would have read {here}"
        for one in effect.steps:
            try:
                step(state, *one, effect.version)
            except IllegalMove as illegal:
                return f"version {effect.version} could not have done {one}: {illegal}"
    final, serial = ({key: thing.properties for key, thing in each.items()} for each in (now, state))
    return None if final == serial else f"all ends as {final}, and would have as {serial}"


def verdict(pending: Pending, now: State, version: int, effects: Sequence[Effect]) -> tuple[State, int | None] | None:
    """The state after the transaction commits as `version`, and its place if it is ordered backwards; None if it must be refused."""

    def differs(key: Key) -> bool:
        before, after = pending.base.get(key), now.get(key)
        return (before and before.written) != (after and after.written)

    place = None
    if pending.isolation is IsolationLevel.SERIALIZABLE and read_any(pending, {key for key in {*pending.base, *now} if differs(key)}):
        place = max(places(pending, effects), default=None)
        if place is None:
            return None
    for key in written(pending.steps):
        if not differs(key):
            continue
        if pending.isolation is IsolationLevel.SERIALIZABLE:
            return None
        mine = [(verb, detail) for verb, other, detail in pending.steps if key in (other, detail)]
        if key not in pending.base or key not in now or any(verb != "set" for verb, _ in mine):
            return None
        if len(key) > 1 and pending.base[key].number != now[key].number:
            # Another table of that name; a namespace has no identity but its name.
            return None
        before, after = pending.base[key].properties, now[key].properties
        theirs = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        if theirs & {detail[0] for _, detail in mine}:
            return None
    result = deepcopy(now)
    try:
        for verb, key, detail in pending.steps:
            step(result, verb, key, detail, version)
    except IllegalMove:
        return None
    return result, place
