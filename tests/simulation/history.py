"""What the clients of a run did and were told, with the moments between which it must have happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from catalog_format.changes import IsolationLevel
from catalog_format.errors import (
    BadRequest,
    ClockSkewError,
    ConflictError,
    GiveUp,
    RetryLater,
    StoreDeniedError,
    StoreFullError,
    UnknownOutcomeError,
)
from tests.simulation.sights import Sight
from tests.simulation.states import Wanted


class Fate(StrEnum):
    """What a client knows of its request."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """Definitely nothing was done."""
    UNKNOWN = "unknown"


class GaveUpError(Exception):
    """The client waited no longer."""


class ProcessDiedError(Exception):
    """The server went away with the connection."""


_REFUSALS = (ConflictError, BadRequest, RetryLater, StoreFullError, StoreDeniedError, ClockSkewError)
# What the store raises as it is: of a write nobody can tell how far it came.
_UNKNOWN = (UnknownOutcomeError, GaveUpError, ProcessDiedError, GiveUp, OSError)


def fate_of(error: BaseException) -> Fate | None:
    """What an error says of the request; None if no client should ever meet it."""
    if isinstance(error, _REFUSALS):
        return Fate.REFUSED
    return Fate.UNKNOWN if isinstance(error, _UNKNOWN) else None


@dataclass(frozen=True)
class Moment:
    """A point in time, as the store knows it: the latest version, and the states of the transaction that is meant."""

    time: float
    version: int
    states: int


@dataclass
class Attempt:
    """One request and its answer. What it saw was so in some version between `began` and `ended`."""

    began: Moment
    ended: Moment
    fate: Fate
    sights: tuple[Sight, ...] = ()
    version: int | None = None
    """A past version that was asked for."""


@dataclass
class Done:
    """An operation of a client, with all its attempts."""

    id: str
    wanted: tuple[Wanted, ...] = ()
    transaction: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    looks: list[Attempt] = field(default_factory=list)
    """Reads that came before the first attempt."""

    @property
    def fate(self) -> Fate:
        """Of the whole: a refusal is final only if no earlier attempt is in doubt."""
        fates = [attempt.fate for attempt in self.attempts]
        if Fate.ACKNOWLEDGED in fates:
            return Fate.ACKNOWLEDGED
        return Fate.UNKNOWN if Fate.UNKNOWN in fates else Fate.REFUSED


@dataclass(frozen=True)
class Answer:
    """What somebody was told about the end of a transaction."""

    said: str
    """A `TransactionStatus`, or "unknown"."""
    version: int | None = None
    reason: str = ""


@dataclass
class Transaction:
    """A distributed transaction as its clients knew it."""

    id: str
    isolation: IsolationLevel
    begins: list[Fate] = field(default_factory=list)
    began: float | None = None
    """When the BEGIN was sent that was acknowledged."""
    base_version: int | None = None
    operations: list[Done] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


@dataclass
class History:
    """Of one run."""

    operations: dict[str, Done] = field(default_factory=dict)
    """Plain ones, by id."""
    transactions: dict[str, Transaction] = field(default_factory=dict)
    times: list[tuple[int, int, int]] = field(default_factory=list)
    """Moments that were asked for, in milliseconds, the version named for each, and the latest that there was for sure."""
    purged: int = 0
    """Tables whose files were deleted."""
    complaints: list[str] = field(default_factory=list)
    """What was wrong the moment it was seen."""
