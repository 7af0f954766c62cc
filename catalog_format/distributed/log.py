"""Logs of distributed transactions in the store: each state a write-once file, appended by put-if-absent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from cachetools import LRUCache

from catalog_format import paths
from catalog_format.clock import Clock
from catalog_format.distributed.image import CHECKPOINT_EVERY, Delta, TransactionImage, first_state, fold
from catalog_format.distributed.state_file import decode_state, encode_state
from catalog_format.errors import CorruptFileError, NoSuchTransactionError
from catalog_format.exclusive_put import ExclusivePut
from catalog_format.ids import Ids
from catalog_format.pb import transaction_pb2 as pb
from catalog_format.storage import Storage

APPEND_DEADLINE_S = 30.0
# An id names files, so it must not look like "." or like a temporary one, nor like the end of a compressed one's name.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(?<!\.gz)")
CACHED_IMAGES = 4096


def is_transaction_id(text: str) -> bool:
    """Whether a transaction can have this id."""
    return _ID.fullmatch(text) is not None


class TransactionLogs:
    """All transactions of one catalog, as one process knows them."""

    def __init__(self, storage: Storage, clock: Clock, ids: Ids) -> None:
        self._storage = storage
        self._clock = clock
        self._ids = ids
        self._exclusive_put = ExclusivePut(storage, clock, ids).put
        self._images: LRUCache[str, TransactionImage] = LRUCache(CACHED_IMAGES)

    def known(self, transaction_id: str) -> TransactionImage | None:
        """The newest image that this process has seen; maybe not the latest."""
        return self._images.get(transaction_id)

    async def create(self, image: TransactionImage) -> bool:
        """Put the first state; False if that name is taken by another attempt."""
        data = encode_state(first_state(image))
        if not await self._put(image.transaction_id, 0, image.attempt_id, data):
            return False
        self._images[image.transaction_id] = image
        return True

    async def has_further_states(self, transaction_id: str) -> bool:
        """Whether a state after the first exists: then the id was used before. One request."""
        return await self._storage.exists(paths.transaction_state_path(transaction_id, 1))

    async def load(self, transaction_id: str) -> TransactionImage:
        """The latest image. One request when warm. Raises `NoSuchTransactionError`, `CorruptFileError`."""
        image = self._images.get(transaction_id)
        if image is None:
            image = await self._open(transaction_id)
        while not image.status.final:
            state = await self._read(transaction_id, image.sequence + 1)
            if state is None:
                break
            image = fold(image, state)
        self._images[transaction_id] = image
        return image

    async def append(self, image: TransactionImage, delta: Delta) -> TransactionImage | None:
        """The image after `delta`, or None if another process appended first (load again, and decide anew).

        Raises `UnknownOutcomeError` when the store does not tell.
        """
        attempt_id = self._ids.attempt_id()
        now_ms = self._clock.now_ms()
        state = image.state_after(delta, attempt_id, now_ms)
        if not await self._put(image.transaction_id, state.sequence, attempt_id, encode_state(state)):
            return None
        after = image.after(delta, state.sequence, attempt_id, now_ms)
        self._images[image.transaction_id] = after
        return after

    async def update(self, image: TransactionImage, decide: Callable[[TransactionImage], Awaitable[Delta | None]]) -> TransactionImage:
        """Append what `decide` says of the newest image, however often others come first; None appends nothing."""
        while True:
            delta = await decide(image)
            if delta is None:
                return image
            after = await self.append(image, delta)
            if after is not None:
                return after
            image = await self.load(image.transaction_id)

    async def list_open(self) -> list[str]:
        """Ids in the folder of open transactions, sorted. Some may have ended already."""
        prefix = f"{paths.OPEN_TRANSACTIONS}/"
        return sorted(path.removeprefix(prefix) for path in await self._storage.list(paths.OPEN_TRANSACTIONS))

    async def remove_open_file(self, transaction_id: str) -> None:
        """Take an ended transaction out of the folder of open ones."""
        await self._storage.delete(paths.open_transaction_path(transaction_id))

    async def _open(self, transaction_id: str) -> TransactionImage:
        """Some image of a transaction that this process has not seen, as late as is cheap."""
        if not is_transaction_id(transaction_id):
            raise NoSuchTransactionError(f"Transaction does not exist: {transaction_id!r} cannot be an id")
        last = await self._last_sequence(transaction_id)
        while (image := await self._folded(transaction_id, last)) is None:
            # State 0 is gone. The transaction may have ended since the look, and its open file with it.
            before, last = last, await self._last_sequence(transaction_id)
            if last == before:
                if last == 0:
                    raise NoSuchTransactionError(f"Transaction does not exist: {transaction_id}")
                raise _missing(transaction_id, 0)
        return image

    async def _folded(self, transaction_id: str, last: int) -> TransactionImage | None:
        """The image as of state `last`; None if state 0 is needed for it and not there. Raises `CorruptFileError`."""
        image: TransactionImage | None = None
        newest = await self._read(transaction_id, last)
        if newest is not None and newest.checkpoint:
            return fold(None, newest)
        for sequence in range(last - last % CHECKPOINT_EVERY, last):
            state = await self._read(transaction_id, sequence)
            if state is None and sequence == 0:
                return None
            if state is None:
                raise _missing(transaction_id, sequence)
            image = fold(image, state)
        if newest is None and last > 0:
            raise _missing(transaction_id, last)
        return None if newest is None else fold(image, newest)

    async def _last_sequence(self, transaction_id: str) -> int:
        """The newest state, by galloping from the first and bisecting: states have no gaps."""
        present, step = 0, 1
        while await self._storage.exists(paths.transaction_state_path(transaction_id, present + step)):
            present += step
            step *= 2
        absent = present + step
        while absent - present > 1:
            middle = (present + absent) // 2
            if await self._storage.exists(paths.transaction_state_path(transaction_id, middle)):
                present = middle
            else:
                absent = middle
        return present

    async def _read(self, transaction_id: str, sequence: int) -> pb.TransactionState | None:
        path = paths.transaction_state_path(transaction_id, sequence)
        try:
            data = await self._storage.get(path)
        except FileNotFoundError:
            return None
        try:
            state = decode_state(data)
        except ValueError as error:
            raise CorruptFileError(f"Transaction file {path} is damaged: {error}; run `treeline check`") from None
        if state.transaction_id != transaction_id or state.sequence != sequence:
            raise CorruptFileError(f"Transaction file {path} belongs elsewhere: it says {state.transaction_id}, state {state.sequence}")
        return state

    async def _put(self, transaction_id: str, sequence: int, attempt_id: str, data: bytes) -> bool:
        """Put a state. True if this attempt's bytes lie there."""
        occupant = await self._exclusive_put(
            paths.transaction_state_path(transaction_id, sequence),
            f"state {sequence} of transaction {transaction_id}",
            data,
            attempt_id,
            self._clock.elapsed() + APPEND_DEADLINE_S,
            lambda: self._read(transaction_id, sequence),
            lambda state: state.attempt_id,
        )
        return occupant is None


def _missing(transaction_id: str, sequence: int) -> CorruptFileError:
    path = paths.transaction_state_path(transaction_id, sequence)
    return CorruptFileError(f"State {sequence} of transaction {transaction_id} ({path}) is missing although later ones exist")
