"""Whether a transaction made on one version may take effect on a later one: a pure function of stamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from catalog_format.changes import IsolationLevel, Verb
from catalog_format.node import NO_STAMP


class Rule(StrEnum):
    """The closed list of reasons to refuse."""

    WRITE_WRITE = "both wrote it, and the two changes cannot be joined"
    OVERWRITTEN_READ = "it read what the other overwrote"
    PHANTOM = "it listed a range in which the other wrote"


@dataclass(frozen=True, slots=True)
class SeenWrite:
    """A key of the write set: its stamps in the base and in the latest version, and what is done to it, in order."""

    key: bytes
    base_stamp: int
    latest_stamp: int
    verbs: tuple[Verb, ...]


@dataclass(frozen=True, slots=True)
class SeenRead:
    """A key of the read set."""

    key: bytes
    base_stamp: int
    latest_stamp: int


@dataclass(frozen=True, slots=True)
class SeenRange:
    """A range of the read set and the first key in it that differs between base and latest."""

    low: bytes
    high: bytes
    changed: bytes | None


@dataclass(frozen=True, slots=True)
class Apply:
    """Nothing that it depends on has changed: its results stand."""


@dataclass(frozen=True, slots=True)
class Replay:
    """These keys changed, but what is asked of them may be asked again: their kinds decide."""

    keys: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """It cannot take effect."""

    key: bytes
    rule: Rule


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What it read was overwritten (`key`, for one): it can take effect only where it can be ordered before who did that."""

    key: bytes
    rule: Rule


Verdict = Apply | Replay | Overwritten | Conflict


def decide(isolation: IsolationLevel, writes: Sequence[SeenWrite], reads: Sequence[SeenRead], ranges: Sequence[SeenRange]) -> Verdict:
    """Snapshot: the write set is unchanged since the base, or can be replayed.

    Serializable: the read set is unchanged too, or the transaction is ordered before those who changed it (`ordering`). An update reads
    what it changes (its requirements say so), so it is not replayed.
    """
    replayed: list[bytes] = []
    for write in writes:
        if write.base_stamp == write.latest_stamp:
            continue
        only_updates = all(verb is Verb.UPDATE for verb in write.verbs)
        if isolation is IsolationLevel.SERIALIZABLE or not only_updates or NO_STAMP in (write.base_stamp, write.latest_stamp):
            return Conflict(write.key, Rule.WRITE_WRITE)
        replayed.append(write.key)
    if isolation is IsolationLevel.SERIALIZABLE:
        for read in reads:
            if read.base_stamp != read.latest_stamp:
                return Overwritten(read.key, Rule.OVERWRITTEN_READ)
        for span in ranges:
            if span.changed is not None:
                return Overwritten(span.changed, Rule.PHANTOM)
    return Replay(tuple(replayed)) if replayed else Apply()
