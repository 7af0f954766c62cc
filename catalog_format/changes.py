"""What a transaction asks for, what it read, and what came of it: values, and their protobuf forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

from catalog_format.pb import catalog_pb2 as pb
from catalog_format.pb import transaction_pb2 as tpb


class IsolationLevel(StrEnum):
    SNAPSHOT = "snapshot"
    SERIALIZABLE = "serializable"


_ISOLATION_TO_PB = {
    IsolationLevel.SNAPSHOT: pb.ISOLATION_SNAPSHOT,
    IsolationLevel.SERIALIZABLE: pb.ISOLATION_SERIALIZABLE,
}
_ISOLATION_FROM_PB = {number: level for level, number in _ISOLATION_TO_PB.items()}


def isolation_to_pb(level: IsolationLevel) -> pb.Isolation:
    return _ISOLATION_TO_PB[level]


def isolation_from_pb(number: pb.Isolation) -> IsolationLevel:
    return _ISOLATION_FROM_PB[number]


class Verb(IntEnum):
    """What happens to an object. Numbers are those of the protobuf enum."""

    CREATE = 1
    UPDATE = 2
    DROP = 3
    MOVE = 4


_VERB_TO_PB = {Verb.CREATE: pb.VERB_CREATE, Verb.UPDATE: pb.VERB_UPDATE, Verb.DROP: pb.VERB_DROP, Verb.MOVE: pb.VERB_MOVE}


@dataclass(frozen=True, slots=True)
class Change:
    """One wish about one object, as the client asked, so that any process can replay it."""

    verb: Verb
    key: bytes
    request: bytes = b""
    """In the encoding of the object's kind."""
    target: bytes | None = None
    """New key of a MOVE."""
    summary: str = ""
    """A few words for the log."""

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Everything that the change writes."""
        return (self.key,) if self.target is None else (self.key, self.target)


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of a distributed transaction, with what came of it on the transaction's own state."""

    change: Change
    result: bytes | None
    """The definition afterwards (at the target, for a MOVE); None after a DROP."""

    def to_pb(self) -> tpb.Change:
        change = self.change
        message = tpb.Change(
            verb=_VERB_TO_PB[change.verb],
            key=change.key,
            target=change.target or b"",
            request=change.request,
            summary=change.summary,
        )
        if self.result is not None:
            message.result = self.result
        return message

    @staticmethod
    def from_pb(message: tpb.Change) -> RecordedChange:
        change = Change(Verb(message.verb), message.key, message.request, message.target or None, message.summary)
        return RecordedChange(change, message.result if message.HasField("result") else None)


@dataclass(frozen=True, slots=True)
class ReadSet:
    """Keys looked up (found or not) and ranges [low, high) listed."""

    points: frozenset[bytes] = frozenset()
    ranges: frozenset[tuple[bytes, bytes]] = frozenset()

    def __or__(self, other: ReadSet) -> ReadSet:
        return ReadSet(self.points | other.points, self.ranges | other.ranges)

    def __sub__(self, other: ReadSet) -> ReadSet:
        return ReadSet(self.points - other.points, self.ranges - other.ranges)

    def __bool__(self) -> bool:
        return bool(self.points or self.ranges)

    def holds(self, key: bytes) -> bool:
        return key in self.points or any(low <= key < high for low, high in self.ranges)

    def to_pb(self) -> pb.ReadSet:
        return pb.ReadSet(
            points=[pb.PointRead(key=key) for key in sorted(self.points)],
            ranges=[pb.RangeRead(low=low, high=high) for low, high in sorted(self.ranges)],
        )

    @staticmethod
    def from_pb(message: pb.ReadSet) -> ReadSet:
        return ReadSet(
            frozenset(point.key for point in message.points),
            frozenset((span.low, span.high) for span in message.ranges),
        )


NO_READS = ReadSet()


class Place(NamedTuple):
    """Where a transaction took effect: a version, and the position in its group."""

    version: int
    position: int

    def to_pb(self) -> pb.Place:
        return pb.Place(version=self.version, position=self.position)

    @staticmethod
    def from_pb(message: pb.Place) -> Place:
        return Place(message.version, message.position)


@dataclass(frozen=True, slots=True)
class IdempotencyWish:
    """A client's key; the answer to the request is kept in the tree under it."""

    client_key: str
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What maintenance asks of a root beside its entries."""

    oldest: int = 0
    """Give up the versions below; never lowered."""
    new_epoch: bool = False
    """Begin another collect epoch."""
    stubbed_below: int = 0
    unstubbed: tuple[int, ...] = ()
    """All versions below `stubbed_below` are stubs by now, but for these."""
    stubbed: tuple[int, ...] = ()
    """These are stubs by now, and were not before."""
    dropped: Mapping[bytes, int] = field(default_factory=dict)
    """Entries of Treeline's own to take out of the tree, each if it still bears this stamp."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What one transaction wants to publish. A plain request has no base: it is made against whatever is the latest."""

    transaction_id: str
    changes: tuple[Change, ...]
    agent: str = ""
    idempotency: IdempotencyWish | None = None
    note: bytes = b""
    """Kept with an idempotent answer and given back with it."""
    upkeep: Upkeep | None = None


@dataclass(frozen=True, slots=True)
class SealedChangeSet:
    """A sealed distributed transaction: its changes with their results, made against a base version."""

    transaction_id: str
    base_version: int
    isolation: IsolationLevel
    recorded: tuple[RecordedChange, ...]
    reads: ReadSet = NO_READS
    agent: str = ""

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(entry.change for entry in self.recorded)

    @property
    def written(self) -> frozenset[bytes]:
        return frozenset(key for entry in self.recorded for key in entry.change.keys)


@dataclass(frozen=True, slots=True)
class Committed:
    """A change set took effect (or was found to have taken effect) in `version`."""

    version: int
    definitions: Mapping[bytes, bytes | None] = field(default_factory=dict)
    """For each key that was written: the definition now, None if dropped."""
    note: bytes = b""

    def to_bytes(self) -> bytes:
        message = pb.CommittedAnswer(version=self.version, note=self.note)
        for key, definition in sorted(self.definitions.items()):
            written = message.written.add(key=key)
            if definition is not None:
                written.definition = definition
        return message.SerializeToString(deterministic=True)

    @staticmethod
    def from_bytes(data: bytes) -> Committed:
        message = pb.CommittedAnswer.FromString(data)
        definitions = {entry.key: entry.definition if entry.HasField("definition") else None for entry in message.written}
        return Committed(message.version, definitions, message.note)


def record_of(
    transaction_id: str,
    isolation: IsolationLevel,
    base_version: int,
    changes: Iterable[Change],
    reads: ReadSet,
    agent: str,
    before: Place | None = None,
) -> bytes:
    """The row of a root's actions section that says what a transaction did, and before whom it stands if it was ordered backwards."""
    message = pb.TransactionRecord(
        transaction_id=transaction_id,
        isolation=isolation_to_pb(isolation),
        base_version=base_version,
        actions=[
            pb.Action(verb=_VERB_TO_PB[change.verb], key=change.key, target=change.target or b"", summary=change.summary)
            for change in changes
        ],
        agent=agent,
    )
    if isolation is IsolationLevel.SERIALIZABLE:
        message.reads.CopyFrom(reads.to_pb())
    if before is not None:
        message.ordered_backwards = True
        message.ordered_before.CopyFrom(before.to_pb())
    return message.SerializeToString(deterministic=True)
