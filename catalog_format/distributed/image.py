"""The image of a distributed transaction: what its states, folded together, say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from catalog_format.changes import (
    NO_READS,
    IsolationLevel,
    ReadSet,
    RecordedChange,
    SealedChangeSet,
    Verb,
    isolation_from_pb,
    isolation_to_pb,
)
from catalog_format.door import TransactionStatus
from catalog_format.pb import transaction_pb2 as pb

CHECKPOINT_EVERY = 32
"""Every so many states one repeats everything, so that opening a long log reads few files."""


_STATUS_TO_PB = {
    TransactionStatus.OPEN: pb.OPEN,
    TransactionStatus.SEALED: pb.SEALED,
    TransactionStatus.COMMITTED: pb.COMMITTED,
    TransactionStatus.REFUSED: pb.REFUSED,
    TransactionStatus.ROLLED_BACK: pb.ROLLED_BACK,
    TransactionStatus.EXPIRED: pb.EXPIRED,
}
_STATUS_FROM_PB = {number: status for status, number in _STATUS_TO_PB.items()}


@dataclass(frozen=True, slots=True)
class Delta:
    """What one state adds to those before it."""

    status: TransactionStatus = TransactionStatus.OPEN
    changes: tuple[RecordedChange, ...] = ()
    reads: ReadSet = NO_READS
    set_properties: Mapping[str, str] = field(default_factory=dict)
    removed_properties: tuple[str, ...] = ()
    reason: str = ""
    committed_version: int | None = None


@dataclass(frozen=True, slots=True)
class TransactionImage:
    """A transaction as of state `sequence`. Times in milliseconds."""

    transaction_id: str
    sequence: int
    attempt_id: str
    status: TransactionStatus
    isolation: IsolationLevel
    base_version: int
    began_at_ms: int
    ttl_ms: int
    written_at_ms: int
    expires_at_ms: int
    changes: tuple[RecordedChange, ...] = ()
    reads: ReadSet = NO_READS
    properties: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    committed_version: int | None = None

    def expired_by(self, now_ms: int) -> bool:
        return self.status is TransactionStatus.OPEN and now_ms >= self.expires_at_ms

    def overlay(self) -> dict[bytes, bytes | None]:
        """Key to definition of what the transaction wrote, None for what it dropped."""
        written: dict[bytes, bytes | None] = {}
        for entry in self.changes:
            change = entry.change
            if change.verb is Verb.MOVE and change.target is not None:
                written[change.key] = None
                written[change.target] = entry.result
            else:
                written[change.key] = entry.result
        return written

    def sealed_change_set(self, agent: str) -> SealedChangeSet:
        return SealedChangeSet(self.transaction_id, self.base_version, self.isolation, self.changes, self.reads, agent)

    def state_after(self, delta: Delta, attempt_id: str, now_ms: int) -> pb.TransactionState:
        """The next state of the log: a delta, or everything (a checkpoint; and the end, but for its changes)."""
        sequence = self.sequence + 1
        whole = delta.status.final or sequence % CHECKPOINT_EVERY == 0
        after = self.after(delta, sequence, attempt_id, now_ms)
        changes = () if delta.status.final else after.changes if whole else delta.changes
        reads = NO_READS if delta.status.final else after.reads if whole else delta.reads
        message = pb.TransactionState(
            transaction_id=self.transaction_id,
            sequence=sequence,
            attempt_id=attempt_id,
            status=_STATUS_TO_PB[delta.status],
            written_at_ms=now_ms,
            expires_at_ms=after.expires_at_ms,
            checkpoint=whole,
            changes=[change.to_pb() for change in changes],
            reads=reads.to_pb(),
            set_properties=dict(after.properties if whole else delta.set_properties),
            removed_properties=() if whole else delta.removed_properties,
            reason=delta.reason,
        )
        if delta.committed_version is not None:
            message.committed_version = delta.committed_version
        if whole:
            message.start.CopyFrom(_start_of(after))
        return message

    def after(self, delta: Delta, sequence: int, attempt_id: str, now_ms: int) -> TransactionImage:
        kept = {key: value for key, value in self.properties.items() if key not in delta.removed_properties}
        return replace(
            self,
            sequence=sequence,
            attempt_id=attempt_id,
            status=delta.status,
            written_at_ms=now_ms,
            expires_at_ms=max(self.expires_at_ms, now_ms + self.ttl_ms),
            changes=self.changes + delta.changes,
            reads=self.reads | delta.reads,
            properties={**kept, **delta.set_properties},
            reason=delta.reason,
            committed_version=delta.committed_version,
        )


def first_state(image: TransactionImage) -> pb.TransactionState:
    """The state that begins a transaction."""
    return pb.TransactionState(
        transaction_id=image.transaction_id,
        sequence=0,
        attempt_id=image.attempt_id,
        status=pb.OPEN,
        written_at_ms=image.written_at_ms,
        expires_at_ms=image.expires_at_ms,
        checkpoint=True,
        start=_start_of(image),
        set_properties=dict(image.properties),
    )


def fold(image: TransactionImage | None, state: pb.TransactionState) -> TransactionImage:
    """The image after one more state; a checkpoint needs no image before it. Raises `ValueError` if states are missing."""
    changes = tuple(RecordedChange.from_pb(change) for change in state.changes)
    reads = ReadSet.from_pb(state.reads)
    status = _STATUS_FROM_PB[state.status]
    if state.checkpoint:
        return TransactionImage(
            transaction_id=state.transaction_id,
            sequence=state.sequence,
            attempt_id=state.attempt_id,
            status=status,
            isolation=isolation_from_pb(state.start.isolation),
            base_version=state.start.base_version,
            began_at_ms=state.start.began_at_ms,
            ttl_ms=state.start.ttl_ms,
            written_at_ms=state.written_at_ms,
            expires_at_ms=state.expires_at_ms,
            changes=changes,
            reads=reads,
            properties=dict(state.set_properties),
            reason=state.reason,
            committed_version=_committed_version(state),
        )
    if image is None or image.sequence + 1 != state.sequence:
        raise ValueError(f"state {state.sequence} of transaction {state.transaction_id} does not follow what was read before")
    delta = Delta(
        status, changes, reads, dict(state.set_properties), tuple(state.removed_properties), state.reason, _committed_version(state)
    )
    folded = image.after(delta, state.sequence, state.attempt_id, state.written_at_ms)
    return replace(folded, expires_at_ms=state.expires_at_ms)


def _committed_version(state: pb.TransactionState) -> int | None:
    return state.committed_version if state.HasField("committed_version") else None


def _start_of(image: TransactionImage) -> pb.TransactionStart:
    return pb.TransactionStart(
        isolation=isolation_to_pb(image.isolation), base_version=image.base_version, began_at_ms=image.began_at_ms, ttl_ms=image.ttl_ms
    )
