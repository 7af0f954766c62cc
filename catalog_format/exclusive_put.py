"""Putting a file whose name is used once, and finding out who did when the store does not say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from catalog_format.backoff import Backoff
from catalog_format.clock import Clock
from catalog_format.errors import CorruptFileError, GiveUp, RetryLater, UnknownOutcomeError
from catalog_format.ids import Ids
from catalog_format.readback import Fate, classify
from catalog_format.storage import Storage

MOST_DAMAGED = 3
"""Damaged answers to one read-back before it is given up."""

T = TypeVar("T")


class ExclusivePut:
    """Puts files if absent. After a doubtful attempt it reads back, and puts the same bytes again until something is there."""

    def __init__(self, storage: Storage, clock: Clock, ids: Ids) -> None:
        self._storage = storage
        self._clock = clock
        self._ids = ids

    async def put(
        self,
        path: str,
        what: str,
        data: bytes,
        attempt_id: str,
        deadline: float,
        read: Callable[[], Awaitable[T | None]],
        attempt_of: Callable[[T], str],
    ) -> T | None:
        """None if this attempt's bytes lie under the name; else what `read` found there. `what` names the file to people.

        `deadline` is on the clock's elapsed seconds. Raises `UnknownOutcomeError` when it passes with the fate open, the
        store's own errors when the put surely did nothing, and what `read` raises.
        """
        backoff = Backoff(self._clock, self._ids)
        doubtful, damaged = False, 0
        while True:
            try:
                if await self._storage.put_if_absent(path, data):
                    return None
                # What is there may be this attempt's own, put by a client library that repeated the request.
                doubtful = True
            except (RetryLater, GiveUp):
                if not doubtful:
                    raise
            except OSError:
                doubtful = True
            occupant: T | None = None
            try:
                occupant = await read()
                fate = classify(attempt_id, None if occupant is None else attempt_of(occupant))
            except (OSError, RetryLater):
                fate = Fate.UNKNOWN
            except CorruptFileError as error:
                # Damage on the way: another look may tell. Damage in the store: no look will.
                fate, damaged = Fate.UNKNOWN, damaged + 1
                if damaged == MOST_DAMAGED:
                    raise UnknownOutcomeError(f"Nobody can tell whether {what} was written by attempt {attempt_id}: {error}") from error
            if fate is Fate.WON:
                return None
            if fate is Fate.LOST:
                return occupant
            if self._clock.elapsed() >= deadline:
                raise UnknownOutcomeError(
                    f"The store did not say whether {what} was written (attempt {attempt_id}); read again before you repeat the request"
                )
            await backoff.pause()
