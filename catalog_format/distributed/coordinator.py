"""BEGIN, COMMIT and ROLLBACK: the life of distributed transactions, whoever carries it on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from catalog_format.changes import NO_READS, IsolationLevel, ReadSet, RecordedChange
from catalog_format.clock import Clock
from catalog_format.committer import Committer
from catalog_format.distributed.image import Delta, TransactionImage
from catalog_format.distributed.log import TransactionLogs, is_transaction_id
from catalog_format.door import TransactionInfo, TransactionStatus
from catalog_format.errors import (
    AlreadyExistsError,
    ClockSkewError,
    ContendedError,
    CorruptFileError,
    InvalidArgumentError,
    NoSuchTransactionError,
    RetryLater,
    StoreThrottledError,
    StoreUnavailableError,
    TransactionEndedError,
    TransactionRefusedError,
    TreelineError,
    UnknownOutcomeError,
)
from catalog_format.group import Verdict
from catalog_format.ids import Ids
from catalog_format.scope import NO_CONTEXT, RequestContext
from catalog_format.skew import SkewGuard
from catalog_format.version_log import VersionLog

DEFAULT_TTL_MS = 60 * 60 * 1000
MAX_TTL_MS = 7 * 24 * 60 * 60 * 1000


class TransactionCoordinator:
    """Implements `door.Transactions` for one catalog and process."""

    def __init__(self, logs: TransactionLogs, versions: VersionLog, committer: Committer, skew: SkewGuard, clock: Clock, ids: Ids) -> None:
        self._logs = logs
        self._versions = versions
        self._committer = committer
        self._skew = skew
        self._clock = clock
        self._ids = ids
        self._endings: dict[asyncio.Task[None], str] = {}
        """Under way, with the ids of their transactions."""

    async def begin(
        self,
        transaction_id: str,
        isolation: IsolationLevel = IsolationLevel.SNAPSHOT,
        ttl_ms: int | None = None,
        properties: Mapping[str, str] | None = None,
        context: RequestContext = NO_CONTEXT,
    ) -> TransactionInfo:
        if not is_transaction_id(transaction_id):
            raise InvalidArgumentError(
                f"Transaction id {transaction_id!r} must be 1 to 128 letters, digits, '_', and (not first) '.' or '-', and not end in '.gz'"
            )
        lifetime = DEFAULT_TTL_MS if ttl_ms is None else ttl_ms
        if not 0 < lifetime <= MAX_TTL_MS:
            raise InvalidArgumentError(f"ttl-millis must be between 1 and {MAX_TTL_MS}, not {lifetime}")
        await self._skew.check()
        # Confirmed before state 0 is there: others may read on its base at once, and go on in it if this process dies.
        base = await self._versions.confirm()
        now_ms = self._clock.now_ms()
        image = TransactionImage(
            transaction_id=transaction_id,
            sequence=0,
            attempt_id=self._ids.attempt_id(),
            status=TransactionStatus.OPEN,
            isolation=isolation,
            base_version=base.version,
            began_at_ms=now_ms,
            ttl_ms=lifetime,
            written_at_ms=now_ms,
            expires_at_ms=now_ms + lifetime,
            properties=dict(properties or {}),
        )
        if not await self._logs.create(image):
            raise AlreadyExistsError(f"Transaction already exists: {transaction_id}; an id is used once, choose another")
        try:
            return _info(await self._begun(image))
        except (StoreThrottledError, StoreUnavailableError, OSError) as error:
            raise UnknownOutcomeError(
                f"Transaction {transaction_id} may have begun, and the store did not let it be looked after: {error}; "
                "load it, or begin another"
            ) from error

    async def _begun(self, image: TransactionImage) -> TransactionImage:
        """What its first state, once it is put, has to be checked for."""
        transaction_id = image.transaction_id
        used, latest = await asyncio.gather(self._logs.has_further_states(transaction_id), self._versions.confirm(anew=True))
        if used:
            image = await self._logs.load(transaction_id)
            if image.status.final:
                await self._logs.remove_open_file(transaction_id)
                raise AlreadyExistsError(f"Transaction id {transaction_id} was used before; an id is used once, choose another")
            # Not ended, so its first state is the one just put: somebody works in this transaction already.
        if image.base_version < latest.header.oldest:
            # Whoever gave the base up may have listed the open transactions before this one's state was there.
            await self._expire(image, "its base version was given up while it began")
            raise ContendedError(f"Version {image.base_version} was given up while transaction {transaction_id} began on it: begin another")
        return image

    async def load(self, transaction_id: str) -> TransactionInfo:
        return _info(await self.image(transaction_id))

    async def list_open(self) -> list[TransactionInfo]:
        found: list[TransactionInfo] = []
        for transaction_id in await self._logs.list_open():
            try:
                image = await self.image(transaction_id)
            except (NoSuchTransactionError, CorruptFileError):
                # Ended meanwhile; or damaged, which `check` and whoever names it are told, and the others' listing need not suffer.
                continue
            except (ClockSkewError, RetryLater):
                # What becomes of it is not for this machine to say, or not now: as its log stands.
                image = await self._logs.load(transaction_id)
            if image.status.final:
                # Its open file is a remnant: a put that landed late, or an ending that was cut short.
                await self.put_away(transaction_id)
            else:
                found.append(_info(image))
        return found

    async def set_properties(self, transaction_id: str, removals: Sequence[str], updates: Mapping[str, str]) -> TransactionInfo:
        async def decide(image: TransactionImage) -> Delta | None:
            self._check_open(image)
            return Delta(set_properties=dict(updates), removed_properties=tuple(removals))

        return _info(await self._update(await self.image(transaction_id), decide))

    async def commit(self, transaction_id: str, context: RequestContext = NO_CONTEXT) -> TransactionInfo:
        before_seal = self._versions.known.version
        image = self._logs.known(transaction_id) or await self._logs.load(transaction_id)

        async def decide(newest: TransactionImage) -> Delta | None:
            if newest.expired_by(self._clock.now_ms()):
                return Delta(TransactionStatus.EXPIRED, reason="its lifetime passed without a commit")
            if newest.status is not TransactionStatus.OPEN:
                return None
            if not newest.changes and newest.isolation is IsolationLevel.SNAPSHOT:
                return Delta(TransactionStatus.COMMITTED, committed_version=newest.base_version)
            return Delta(TransactionStatus.SEALED)

        was_open = image.status is TransactionStatus.OPEN
        image = await self._update(image, decide)
        if image.status is TransactionStatus.SEALED:
            image = await self._finish(image, before_seal if was_open else None, context.agent)
        elif image.status.final:
            self._end_later(image.transaction_id)
        if image.status is TransactionStatus.COMMITTED:
            return _info(image)
        if image.status is TransactionStatus.REFUSED:
            raise TransactionRefusedError(image.reason)
        raise ended(image)

    async def rollback(self, transaction_id: str) -> None:
        async def decide(newest: TransactionImage) -> Delta | None:
            if newest.status is TransactionStatus.OPEN:
                return Delta(TransactionStatus.ROLLED_BACK, reason="rolled back by a client")
            return None

        image = await self._update(await self.image(transaction_id), decide)
        if image.status is TransactionStatus.SEALED:
            image = await self._finish(image, None, "")
        self._end_later(transaction_id)
        if image.status is TransactionStatus.COMMITTED:
            raise TransactionEndedError(
                f"Transaction {transaction_id} was committed in version {image.committed_version}: nothing to roll back"
            )

    async def image(self, transaction_id: str) -> TransactionImage:
        """The latest image; a sealed transaction is finished, an expired one ended on the way.

        Raises `ClockSkewError` if that is for others to do.
        """
        image = await self._logs.load(transaction_id)
        if image.status is TransactionStatus.SEALED:
            return await self._finish(image, None, "")
        if image.expired_by(self._clock.now_ms()):
            image = await self._expire(
                image, "its lifetime passed without a commit", lambda newest: newest.expired_by(self._clock.now_ms())
            )
        return image

    def known_open(self, transaction_id: str) -> TransactionImage | None:
        """What this process last saw of a transaction, if that was open: good enough to append to, put-if-absent tells."""
        image = self._logs.known(transaction_id)
        if image is None or image.status is not TransactionStatus.OPEN or image.expired_by(self._clock.now_ms()):
            return None
        return image

    async def record(
        self, image: TransactionImage, changes: Sequence[RecordedChange], reads: ReadSet = NO_READS
    ) -> TransactionImage | None:
        """Append changes and reads made on `image`; None if the transaction has moved on since (look again)."""
        await self._skew.check()
        self._check_open(image)
        return await self._logs.append(image, Delta(changes=tuple(changes), reads=reads))

    async def record_reads(self, image: TransactionImage, reads: ReadSet) -> None:
        """Make reads durable before they are answered."""

        async def decide(newest: TransactionImage) -> Delta | None:
            self._check_open(newest)
            missing = reads - newest.reads
            return Delta(reads=missing) if missing else None

        await self._update(image, decide)

    async def ending(self, transaction_id: str) -> None:
        """Wait until no ending of this transaction, of those that this process began before, is under way."""
        under_way = [task for task, other in self._endings.items() if other == transaction_id]
        if under_way:
            await asyncio.wait(under_way)

    async def close(self) -> None:
        """Wait for endings under way."""
        while self._endings:
            await asyncio.wait(self._endings)

    async def _update(self, image: TransactionImage, decide: Callable[[TransactionImage], Awaitable[Delta | None]]) -> TransactionImage:
        """As `TransactionLogs.update`, but nothing is appended while the clock is wrong, by which it was decided."""

        async def checked(newest: TransactionImage) -> Delta | None:
            delta = await decide(newest)
            if delta is not None:
                await self._skew.check()
            return delta

        return await self._logs.update(image, checked)

    async def check_clock(self) -> None:
        """Raise `ClockSkewError` if this process may not write."""
        await self._skew.check()

    def _check_open(self, image: TransactionImage) -> None:
        if image.status is not TransactionStatus.OPEN or image.expired_by(self._clock.now_ms()):
            raise ended(image)

    async def _finish(self, image: TransactionImage, seal_follows: int | None, agent: str) -> TransactionImage:
        """Bring a sealed transaction to its verdict, in the tree and then in its log."""

        async def settled() -> Verdict | None:
            newest = await self._logs.load(image.transaction_id)
            if not newest.status.final:
                return None
            return Verdict(newest.status is TransactionStatus.COMMITTED, newest.committed_version or 0, newest.reason)

        verdict = await self._committer.finish(image.sealed_change_set(agent), settled, seal_follows)
        status = TransactionStatus.COMMITTED if verdict.committed else TransactionStatus.REFUSED
        delta = Delta(status, reason=verdict.reason, committed_version=verdict.version if verdict.committed else None)
        self._end_later(image.transaction_id, image, delta)
        # The verdict stands in the tree; the log's last state only repeats it, so nobody waits for it.
        return image.after(delta, image.sequence, image.attempt_id, self._clock.now_ms())

    async def give_up(self, image: TransactionImage) -> TransactionImage:
        """End an open transaction whose base version is not kept any more."""
        return await self._expire(image, f"its base version {image.base_version} was given up")

    async def _expire(
        self, image: TransactionImage, reason: str, still: Callable[[TransactionImage], bool] = lambda newest: True
    ) -> TransactionImage:
        """End a transaction, if it is open and `still` holds."""

        async def decide(newest: TransactionImage) -> Delta | None:
            if newest.status is TransactionStatus.OPEN and still(newest):
                return Delta(TransactionStatus.EXPIRED, reason=reason)
            return None

        image = await self._update(image, decide)
        if image.status is TransactionStatus.EXPIRED:
            self._end_later(image.transaction_id)
        return image

    async def put_away(self, transaction_id: str) -> None:
        """Take a transaction out of the folder of open ones, if its log is known to have ended; a verdict in the tree is not enough."""
        known = self._logs.known(transaction_id)
        if known is not None and known.status.final:
            await self._logs.remove_open_file(transaction_id)

    def _end_later(self, transaction_id: str, image: TransactionImage | None = None, delta: Delta | None = None) -> None:
        task = asyncio.create_task(self._end(transaction_id, image, delta))
        self._endings[task] = transaction_id
        task.add_done_callback(self._endings.pop)

    async def _end(self, transaction_id: str, image: TransactionImage | None, delta: Delta | None) -> None:
        """Append the final state, then take the transaction out of the folder of open ones. Whoever meets it later can do the same."""
        try:
            if image is not None and delta is not None:

                async def decide(newest: TransactionImage) -> Delta | None:
                    return None if newest.status.final else delta

                await self._logs.update(image, decide)
            await self.put_away(transaction_id)
        except (TreelineError, OSError):
            return


def ended(image: TransactionImage) -> TransactionEndedError:
    """The error for work in a transaction that takes no more."""
    status = "expired" if image.status is TransactionStatus.OPEN else image.status.value
    reason = f" ({image.reason})" if image.reason else ""
    return TransactionEndedError(f"Transaction {image.transaction_id} is {status}{reason}: nothing can be added to it; begin another")


def _info(image: TransactionImage) -> TransactionInfo:
    return TransactionInfo(
        transaction_id=image.transaction_id,
        status=image.status,
        isolation=image.isolation,
        base_version=image.base_version,
        version=image.committed_version,
        began_at_ms=image.began_at_ms,
        expires_at_ms=image.expires_at_ms,
        ended_at_ms=image.written_at_ms if image.status.final else None,
        reason=image.reason,
        properties=image.properties,
    )
