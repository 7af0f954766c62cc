"""What clients did and were told: transactions that read lists and append to them.

A list belongs to a key and only grows; no value is appended twice. Reads return the whole list, so the order of all
versions of a key can be seen in them (Kingsbury and Alvaro, Elle, VLDB 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Level(StrEnum):
    """Isolation of a transaction."""

    SNAPSHOT = "snapshot"
    """Also of reads outside of transactions."""
    SERIALIZABLE = "serializable"
    """Also of plain commits that are tied to what they read."""


class Outcome(StrEnum):
    """What the client knows at the end."""

    COMMITTED = "committed"
    REFUSED = "refused"
    """Surely not committed: the server proved a conflict."""
    FAILED = "failed"
    """Surely not committed, for another reason: it was rolled back, or never asked to commit."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Append:
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class Read:
    key: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction, or one request outside of any."""

    name: str
    operations: tuple[Append | Read, ...]
    outcome: Outcome = Outcome.COMMITTED
    level: Level = Level.SERIALIZABLE
    began: int = 0
    """Before its first request was sent, in nanoseconds of one clock for all clients."""
    ended: int | None = None
    """After its outcome was told; None if it never was."""
    one_version: bool = True
    """Whether its reads fit together even if it does not commit."""

    @property
    def appends(self) -> tuple[Append, ...]:
        return tuple(operation for operation in self.operations if isinstance(operation, Append))

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(operation.key for operation in self.operations)

    def at(self, level: Level) -> Transaction:
        """The same, as if it had asked for another level."""
        return replace(self, level=level)
