"""A group: transactions staged together on one root, to become one version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from catalog_format.changes import (
    NO_READS,
    ChangeSet,
    Committed,
    IsolationLevel,
    Place,
    RecordedChange,
    SealedChangeSet,
    Upkeep,
    Verb,
    record_of,
)
from catalog_format.concurrency import ConcurrentTransactions
from catalog_format.conflicts import Conflict, Overwritten, Replay, SeenRange, SeenRead, SeenWrite, decide
from catalog_format.errors import BadRequest, ConflictError, LostFileError, TransactionRefusedError, TreelineError
from catalog_format.idempotency import answer_entry, check_same_request, earlier_answer
from catalog_format.keys import describe, identifier_of, outcome_key, type_of
from catalog_format.kinds import ApplyContext, Kinds, State
from catalog_format.node import Entry, Root
from catalog_format.ordering import NoPlace
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.reader import Reader
from catalog_format.staging import ObjectInUseError, Slot, Stage
from catalog_format.tree import changed_since
from catalog_format.tree.source import NodeSource
from catalog_format.version_log import VersionLog

# How far back the roots are searched for the transaction that dropped an object, to name it in a refusal.
RIVAL_SEARCH = 100
# What files of an unforeseen shape lead code into.
_ODD_CONTENT = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a sealed transaction."""

    committed: bool
    version: int
    reason: str = ""


@dataclass(slots=True, eq=False)
class Member:
    """One waiting transaction and whoever waits for it."""

    wish: ChangeSet | SealedChangeSet
    answer: asyncio.Future[Committed | Verdict]
    settled: Callable[[], Awaitable[Verdict | None]] | None = None
    """For sealed ones: reads the log again; a verdict if the transaction has ended meanwhile."""
    seal_follows: int | None = None
    """For sealed ones: a version that was read before the seal was put, so its root cannot know a verdict yet."""


@dataclass(slots=True)
class _Staged:
    member: Member
    slots: dict[bytes, Slot]
    refusal: str | None = None
    before: Place | None = None
    """Where it stands, if it was ordered backwards."""


@dataclass(slots=True)
class Group:
    """Members staged on `root`, with what is to be said to each when their fate is known."""

    root: Root
    stage: Stage
    now_ms: int
    staged: list[_Staged] = field(default_factory=list)
    decided: list[tuple[Member, Committed | Verdict | Exception]] = field(default_factory=list)
    """Refusals, no-ops and answers from before: good only on a confirmed root, or if this group is published."""
    deferred: list[Member] = field(default_factory=list)
    joined: list[tuple[Member, Member]] = field(default_factory=list)
    """A member that repeats the idempotency key, or finishes the transaction, of another one in the group."""

    @property
    def version(self) -> int:
        return self.root.version + 1

    def writer_of(self, key: bytes) -> str | None:
        """The staged transaction that writes the key."""
        return next((entry.member.wish.transaction_id for entry in self.staged if key in entry.slots), None)

    def lost(self) -> LostFileError | None:
        """That a file of the root is not there, if a member met it."""
        return next((answer for _, answer in self.decided if isinstance(answer, LostFileError)), None)

    def sealed(self, transaction_id: str) -> Member | None:
        """The member that finishes this transaction already."""
        wishes = ((entry.member, entry.member.wish) for entry in self.staged)
        return next(
            (member for member, wish in wishes if isinstance(wish, SealedChangeSet) and wish.transaction_id == transaction_id), None
        )

    def answers(self) -> list[tuple[Member, Committed | Verdict | Exception]]:
        """What to say when the group has been published."""
        said = list(self.decided)
        spoken: dict[Member, Committed | Verdict] = {}
        for entry in self.staged:
            spoken[entry.member] = self._answer(entry)
        said.extend(spoken.items())
        said.extend((member, spoken[first]) for member, first in self.joined)
        return said

    def _answer(self, entry: _Staged) -> Committed | Verdict:
        if isinstance(entry.member.wish, SealedChangeSet):
            return Verdict(entry.refusal is None, self.version, entry.refusal or "")
        return Committed(self.version, {key: self.stage.definition(key, slot) for key, slot in entry.slots.items()}, entry.member.wish.note)

    def entries(self) -> dict[bytes, bytes | None]:
        """Key to definition of everything that the group writes. Call after the stage has been stored."""
        for entry in self.staged:
            wish = entry.member.wish
            if isinstance(wish, ChangeSet):
                if wish.idempotency is not None:
                    answer = self._answer(entry)
                    assert isinstance(answer, Committed)
                    self.stage.note(*answer_entry(wish.idempotency, answer, self.now_ms))
            else:
                outcome = pb.Outcome(
                    transaction_id=wish.transaction_id,
                    committed=entry.refusal is None,
                    reason=entry.refusal or "",
                    decided_at_ms=self.now_ms,
                    version=self.version,
                )
                self.stage.note(outcome_key(wish.base_version, wish.transaction_id), outcome.SerializeToString())
        return self.stage.written()

    def upkeep(self) -> list[Upkeep]:
        """What the members ask of the new root beside its entries."""
        wishes = (entry.member.wish for entry in self.staged)
        return [wish.upkeep for wish in wishes if isinstance(wish, ChangeSet) and wish.upkeep is not None]

    def records(self) -> list[Entry]:
        """Rows of the new root's actions section, in the order in which the members took effect."""
        rows = []
        for entry in self.staged:
            wish = entry.member.wish
            changes = wish.changes if entry.refusal is None else ()
            if isinstance(wish, SealedChangeSet):
                # What a refused one read orders nobody: the promise is among those that commit.
                reads = wish.reads if entry.refusal is None else NO_READS
                record = record_of(wish.transaction_id, wish.isolation, wish.base_version, changes, reads, wish.agent, entry.before)
            else:
                record = record_of(wish.transaction_id, IsolationLevel.SNAPSHOT, self.root.version, changes, NO_READS, wish.agent)
            rows.append(Entry(wish.transaction_id.encode(), record, self.version))
        return rows


class GroupStager:
    """Stages members on a root, one after the other, each with those before it in view."""

    def __init__(self, kinds: Kinds, nodes: NodeSource, versions: VersionLog) -> None:
        self._kinds = kinds
        self._nodes = nodes
        self._versions = versions
        self._concurrent = ConcurrentTransactions(versions, kinds)

    async def stage(self, reader: Reader, members: Sequence[Member], now_ms: int) -> Group:
        """Every member ends in exactly one of the group's lists."""
        group = Group(reader.root, Stage(reader, self._kinds, now_ms), now_ms)
        by_client_key: dict[str, Member] = {}
        if len(members) > 1:
            await self._look_ahead(reader, members)
        for member in members:
            try:
                if isinstance(member.wish, SealedChangeSet):
                    await self._stage_sealed(group, reader, member, member.wish)
                else:
                    await self._stage_plain(group, reader, member, member.wish, by_client_key)
            except ObjectInUseError:
                group.deferred.append(member)
            except (TreelineError, OSError, *_ODD_CONTENT) as error:
                # It is this member's, and the others are not to suffer from it.
                group.decided.append((member, error))
        return group

    async def _look_ahead(self, reader: Reader, members: Sequence[Member]) -> None:
        """Have read together what members that meet others on an object would read one after the other."""
        wanted: list[Callable[[], Awaitable[None]]] = []
        written = set[bytes]()
        for wish in (member.wish for member in members):
            base_version = wish.base_version if isinstance(wish, SealedChangeSet) else None
            for change in wish.changes:
                kind = self._kinds.get(type_of(change.key))
                if kind is None or change.verb is not Verb.UPDATE or not kind.foresees(change):
                    continue
                with suppress(TreelineError, OSError):
                    if change.key in written or (base_version is not None and await reader.stamp(change.key) > base_version):
                        definition = await reader.definition(change.key)
                        if definition is not None:
                            wanted.append(partial(kind.look_ahead, definition, change, replays=base_version is not None))
            written.update(key for change in wish.changes for key in change.keys)
        await asyncio.gather(*(look() for look in wanted))

    async def _stage_plain(self, group: Group, reader: Reader, member: Member, wish: ChangeSet, by_client_key: dict[str, Member]) -> None:
        if wish.idempotency is not None:
            first = by_client_key.get(wish.idempotency.client_key)
            if first is not None:
                assert isinstance(first.wish, ChangeSet) and first.wish.idempotency is not None
                check_same_request(wish.idempotency, first.wish.idempotency.request_hash)
                group.joined.append((member, first))
                return
            earlier = await earlier_answer(reader, wish.idempotency)
            if earlier is not None:
                group.decided.append((member, earlier))
                return
        slots = await group.stage.apply(wish.changes)
        if wish.upkeep is not None:
            await self._stage_upkeep(group, reader, wish.upkeep)
        if wish.idempotency is not None:
            by_client_key[wish.idempotency.client_key] = member
        elif not slots and wish.upkeep is None:
            standing = {key: await reader.definition(key) for change in wish.changes for key in change.keys}
            group.decided.append((member, Committed(reader.root.version, standing, wish.note)))
            return
        for change in wish.changes if wish.upkeep is None else ():
            # An update that changed nothing is answered with the object as it stands.
            if change.key not in slots:
                slots[change.key] = Slot(await reader.definition(change.key))
        group.staged.append(_Staged(member, slots))

    async def _stage_upkeep(self, group: Group, reader: Reader, upkeep: Upkeep) -> None:
        for key, stamp in upkeep.dropped.items():
            if not group.stage.touched(key) and await reader.stamp(key) == stamp:
                group.stage.note(key, None)

    async def _stage_sealed(self, group: Group, reader: Reader, member: Member, wish: SealedChangeSet) -> None:
        found = await reader.definition(outcome_key(wish.base_version, wish.transaction_id))
        if found is not None:
            outcome = pb.Outcome.FromString(found)
            group.decided.append((member, Verdict(outcome.committed, outcome.version, outcome.reason)))
            return
        # On a root older than the seal, a put that wins proves that no verdict came between; on others the log is asked.
        older_than_seal = member.seal_follows is not None and reader.root.version <= member.seal_follows
        if member.settled is not None and not older_than_seal:
            ended = await member.settled()
            if ended is not None:
                group.decided.append((member, ended))
                return
        first = group.sealed(wish.transaction_id)
        if first is not None:
            # Two who finish the same transaction in one process: judged once, lest it conflicts with itself.
            group.joined.append((member, first))
            return
        try:
            slots, before = await self._judge(group, reader, wish)
        except (ConflictError, BadRequest) as error:
            group.staged.append(_Staged(member, {}, refusal=error.message))
            return
        group.staged.append(_Staged(member, slots, before=before))

    async def _judge(self, group: Group, reader: Reader, wish: SealedChangeSet) -> tuple[dict[bytes, Slot], Place | None]:
        """Stage the transaction's changes; what it wrote, and its place if that is not its commit. Or raise why it is refused."""
        base = Reader(await self._base(wish.base_version, reader.root), self._nodes, reader.storage)
        verbs: dict[bytes, list[Verb]] = {}
        for change in wish.changes:
            for key in change.keys:
                verbs.setdefault(key, []).append(change.verb)
        writes = [
            SeenWrite(key, await base.stamp(key), await self._stamp(group, reader, key), tuple(done)) for key, done in sorted(verbs.items())
        ]
        reads: list[SeenRead] = []
        ranges: list[SeenRange] = []
        if wish.isolation is IsolationLevel.SERIALIZABLE:
            for key in sorted(wish.reads.points):
                reads.append(SeenRead(key, await base.stamp(key), await self._stamp(group, reader, key)))
            for low, high in sorted(wish.reads.ranges):
                changed = group.stage.touched_within(low, high)
                if changed is None:
                    changed = await changed_since(reader.root, low, high, base.root, self._nodes)
                ranges.append(SeenRange(low, high, changed))
        verdict = decide(wish.isolation, writes, reads, ranges)
        if isinstance(verdict, Conflict):
            raise await self._refusal(group, reader, wish, verdict.key, verdict.rule.value)
        before = await self._place(group, reader, wish, verdict) if isinstance(verdict, Overwritten) else None
        keys = verdict.keys if isinstance(verdict, Replay) else ()
        replayed = {key: await self._replay(group, reader, base, wish, key) for key in keys}
        recorded: dict[int, RecordedChange] = {
            position: entry for position, entry in enumerate(wish.recorded) if entry.change.key not in replayed
        }
        return await group.stage.apply(wish.changes, check_requirements=False, recorded=recorded, replayed=replayed), before

    async def _place(self, group: Group, reader: Reader, wish: SealedChangeSet, found: Overwritten) -> Place:
        """Where the transaction stands in the order, before those who overwrote what it read."""
        place = await self._concurrent.place_of(wish, group.root, group.records())
        if isinstance(place, NoPlace):
            rule = f"{found.rule.value}, and cannot be ordered before that: {place.reason}"
            raise await self._refusal(group, reader, wish, found.key, rule)
        return place

    async def _base(self, version: int, latest: Root) -> Root:
        """The root that a transaction was made on. Raises `NoSuchVersionError` if it is a stub: that is never "unchanged"."""
        if version < latest.header.oldest:
            # This process may remember a root whose nodes are gone.
            self._versions.forget(version)
        return await self._versions.read(version)

    async def _replay(self, group: Group, reader: Reader, base: Reader, wish: SealedChangeSet, key: bytes) -> State | None:
        """The key's state with the transaction's changes on top of the winner's; None if they change nothing there."""
        kind = self._kinds[type_of(key)]
        old = await base.definition(key)
        winner = await group.stage.state_of(key)
        if old is None or winner is None:
            raise await self._refusal(group, reader, wish, key, "one of them created or dropped it")
        changes = [change for change in wish.changes if change.key == key]
        context = ApplyContext(group.now_ms, check_requirements=False)
        try:
            state = await kind.replay(identifier_of(key), await kind.open(old), winner, changes, context)
        except ConflictError as conflict:
            raise await self._refusal(group, reader, wish, key, conflict.message) from conflict
        return None if state is winner else state

    async def _stamp(self, group: Group, reader: Reader, key: bytes) -> int:
        return group.version if group.stage.touched(key) else await reader.stamp(key)

    async def _refusal(self, group: Group, reader: Reader, wish: SealedChangeSet, key: bytes, rule: str) -> TransactionRefusedError:
        rival = group.writer_of(key) or await self._rival(reader, wish.base_version, key)
        return TransactionRefusedError(
            f"Transaction {wish.transaction_id} (base version {wish.base_version}) is refused because of {describe(key)}, "
            f"which {rival} changed meanwhile: {rule}"
        )

    async def _rival(self, reader: Reader, base_version: int, key: bytes) -> str:
        """Who changed the key after the base, in words."""
        stamp = await reader.stamp(key)
        newest = reader.root.version
        versions = [stamp] if stamp else range(newest, max(base_version, newest - RIVAL_SEARCH), -1)
        for version in versions:
            root = await self._versions.trace(version)
            for row in root.actions:
                record = pb.TransactionRecord.FromString(row.value or b"")
                if any(key in (action.key, action.target) for action in record.actions):
                    return f"transaction {record.transaction_id} (version {version})"
        return "another transaction"
