"""The catalog as plain dicts, and which transactions must be refused.

`verdict` is a naive oracle that looks at whole states and knows nothing of stamps, trees or logs beyond "which version last wrote this".
"""

from __future__ import annotations

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


@dataclass
class Pending:
    """An open transaction of the model."""

    isolation: IsolationLevel
    base: State
    state: State
    steps: list[tuple[str, Key, Any]] = field(default_factory=list)
    points: set[Key] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)


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


def verdict(pending: Pending, now: State, version: int) -> State | None:
    """The state after the transaction commits as `version`, or None if it must be refused."""

    def differs(key: Key) -> bool:
        before, after = pending.base.get(key), now.get(key)
        return (before and before.written) != (after and after.written)

    if pending.isolation is IsolationLevel.SERIALIZABLE:
        if any(differs(key) for key in pending.points | {key for _, key, _ in pending.steps}):
            return None
        if any(differs(key) for key in {*pending.base, *now} if len(key) > 1 and key[0] in pending.listed):
            return None
    for key in {written for verb, source, detail in pending.steps for written in ([source, detail] if verb == "move" else [source])}:
        if not differs(key):
            continue
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
    return result
