"""The committer: takes what waits, stages it as one group, publishes it as one version, answers each.

Nothing here is needed for correctness across processes: that is put-if-absent's. The queue is speed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from catalog_format.backoff import Backoff
from catalog_format.changes import ChangeSet, Committed, SealedChangeSet, Upkeep
from catalog_format.clock import Clock
from catalog_format.definitions import encode_value
from catalog_format.errors import ContendedError, LostFileError, StoreUnavailableError, TreelineError
from catalog_format.group import Group, GroupStager, Member, Verdict
from catalog_format.ids import Ids
from catalog_format.keys import type_of
from catalog_format.kinds import Kinds, Upload
from catalog_format.node import Root, RootHeader
from catalog_format.node_codec import decode_root, encode_root
from catalog_format.node_store import NodeStore
from catalog_format.publisher import Publisher
from catalog_format.reader import Reader
from catalog_format.skew import SkewGuard
from catalog_format.storage import Storage
from catalog_format.tree import apply
from catalog_format.version_log import VersionLog

DEADLINE_S = 30.0
"""How long a commit tries. Far below the lifetime of outcomes and idempotent answers."""
GROUP_MEMBERS = 256


class Committer:
    """One per catalog and process."""

    def __init__(
        self,
        storage: Storage,
        log: VersionLog,
        nodes: NodeStore,
        kinds: Kinds,
        skew: SkewGuard,
        clock: Clock,
        ids: Ids,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._storage = storage
        self._log = log
        self._nodes = nodes
        self._clock = clock
        self._ids = ids
        self._deadline_s = deadline_s
        self._publisher = Publisher(storage, log, clock, ids)
        self._skew = skew
        self._stager = GroupStager(kinds, nodes, log)
        self._waiting: deque[Member] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, wish: ChangeSet) -> Committed:
        """Publish a plain change set, alone or with others. Raises what its objects' kinds raise, and the store's errors."""
        answer = await self._enqueue(wish, None, None)
        assert isinstance(answer, Committed)
        return answer

    async def finish(
        self, wish: SealedChangeSet, settled: Callable[[], Awaitable[Verdict | None]], seal_follows: int | None = None
    ) -> Verdict:
        """Put the verdict on a sealed transaction into the tree, with its changes if it may commit; or find it there."""
        answer = await self._enqueue(wish, settled, seal_follows)
        assert isinstance(answer, Verdict)
        return answer

    async def close(self) -> None:
        """Wait until everything taken is answered."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def _enqueue(
        self,
        wish: ChangeSet | SealedChangeSet,
        settled: Callable[[], Awaitable[Verdict | None]] | None,
        seal_follows: int | None,
    ) -> Committed | Verdict:
        answer: asyncio.Future[Committed | Verdict] = asyncio.get_running_loop().create_future()
        self._waiting.append(Member(wish, answer, settled, seal_follows))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        # A caller that goes away does not undo what was taken.
        return await asyncio.shield(answer)

    async def _work(self) -> None:
        while self._waiting:
            members = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_MEMBERS))]
            try:
                await self._settle(members)
            except BaseException as error:
                _tell([(member, error) for member in members])
                if not isinstance(error, Exception):
                    raise

    async def _settle(self, members: list[Member]) -> None:
        """Take turns until every member is answered."""
        await self._skew.check()
        deadline = self._clock.elapsed() + self._deadline_s
        backoff = Backoff(self._clock, self._ids)
        root, confirmed = self._log.known, False
        while members:
            group = await self._stager.stage(Reader(root, self._nodes, self._storage), members, self._clock.now_ms())
            lost, prepared = group.lost(), None
            if group.staged and lost is None:
                try:
                    prepared = await self._prepare(group)
                except LostFileError as error:
                    lost = error
            if lost is not None:
                # A root whose files are gone was given up meanwhile; from the latest root they are missing in earnest.
                latest, confirmed = await self._log.confirm(anew=True), True
                if latest.version != root.version:
                    root = latest
                    continue
                prepared = await self._prepare(group) if group.staged else None
            if prepared is None:
                # Nothing to publish: what is to be said must hold in a version confirmed after the requests came.
                if not confirmed:
                    latest, confirmed = await self._log.confirm(anew=True), True
                    if latest.version != root.version:
                        root = latest
                        continue
                _tell(group.answers())
                members = group.deferred
                continue
            data, failed = prepared
            if failed:
                _tell(failed)
                gone = {member for member, _ in failed}
                members = [member for member in members if member not in gone]
                continue
            winner = await self._publish(group, *data, deadline)
            if winner is None:
                root, confirmed = self._log.known, True
                self._log.hint(root.version)
                _tell(group.answers())
                members = group.deferred
                continue
            if self._clock.elapsed() >= deadline:
                raise ContendedError(f"Other writers won every turn for {self._deadline_s:.0f} s; nothing was written: try again")
            await backoff.pause()
            self._log.observe(winner)
            root, confirmed = await self._log.confirm(anew=True), True

    async def _prepare(self, group: Group) -> tuple[tuple[bytes, str], list[tuple[Member, Exception]]]:
        """Upload what the new root will name; the root's bytes and attempt id, or which members could not be stored."""
        attempt_id = self._ids.attempt_id()
        failures = await group.stage.store(Upload(attempt_id, None))
        if failures:
            failed: list[tuple[Member, Exception]] = []
            for entry in group.staged:
                error = next((failures[key] for key in entry.slots if key in failures), None)
                if error is not None:
                    failed.append((entry.member, error))
            return (b"", attempt_id), failed
        header = group.root.header
        limits = header.catalog.limits
        values: dict[bytes, bytes | None] = {}
        files: list[tuple[str, bytes]] = []
        for key, definition in group.entries().items():
            if definition is None:
                values[key] = None
                continue
            encoded = encode_value(definition, type_of(key).value, limits.inline_bytes, attempt_id)
            values[key] = encoded.value
            if encoded.file is not None:
                files.append(encoded.file)
        update = await apply(group.root, values, group.version, limits, self._nodes, attempt_id)
        await asyncio.gather(self._nodes.upload(update.nodes), *(self._storage.put_if_absent(path, data) for path, data in files))
        records = group.records()
        new_header = RootHeader(
            version=group.version,
            created_at_ms=max(group.now_ms, header.created_at_ms + 1),
            catalog=header.catalog,
            previous_hash=group.root.hash,
            attempt_id=attempt_id,
            transaction_ids=tuple(row.key.decode() for row in records),
            level=update.level,
            oldest=header.oldest,
            collect_epoch=header.collect_epoch,
            stubbed_below=header.stubbed_below,
            unstubbed=header.unstubbed,
        )
        for upkeep in group.upkeep():
            new_header = _kept_up(new_header, upkeep)
        data, _ = encode_root(new_header, update.pivots, update.buffer, records)
        return (data, attempt_id), []

    async def _publish(self, group: Group, data: bytes, attempt_id: str, deadline: float) -> Root | None:
        winner = await self._publisher.publish(group.version, data, attempt_id, deadline)
        if winner is None:
            self._log.observe(decode_root(group.version, data))
        return winner


def _kept_up(header: RootHeader, upkeep: Upkeep) -> RootHeader:
    """The header with what maintenance asks for; what others got further with stays."""
    header = replace(
        header,
        oldest=min(max(header.oldest, upkeep.oldest), header.version),
        collect_epoch=header.collect_epoch + upkeep.new_epoch,
    )
    unstubbed = set(header.unstubbed)
    if upkeep.stubbed_below > header.stubbed_below:
        # It looked at all versions below, those among them that others had left as roots included.
        unstubbed = set(upkeep.unstubbed)
    elif upkeep.stubbed_below == header.stubbed_below:
        unstubbed |= set(upkeep.unstubbed)
    # A stub never becomes a root again.
    return replace(
        header,
        stubbed_below=max(header.stubbed_below, upkeep.stubbed_below),
        unstubbed=tuple(sorted(unstubbed - set(upkeep.stubbed))),
    )


def _tell(answers: Sequence[tuple[Member, Committed | Verdict | BaseException]]) -> None:
    for member, answer in answers:
        if member.answer.done():
            continue
        if isinstance(answer, BaseException):
            member.answer.set_exception(_for_caller(answer))
            # Whoever waited may have gone away: then nobody needs to hear it.
            member.answer.exception()
        else:
            member.answer.set_result(answer)


def _for_caller(error: BaseException) -> BaseException:
    if isinstance(error, OSError) and not isinstance(error, TreelineError):
        return StoreUnavailableError(f"The store could not be reached; nothing was published: {error}")
    return error
