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
        doubtful = False
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
            except (OSError, RetryLater, CorruptFileError):
                # Also what came damaged: only the fate is asked for, and another look may tell it.
                fate = Fate.UNKNOWN
            if fate is Fate.WON:
                return None
            if fate is Fate.LOST:
                return occupant
            if self._clock.elapsed() >= deadline:
                raise UnknownOutcomeError(
                    f"The store did not say whether {what} was written (attempt {attempt_id}); read again before you repeat the request"
                )
            await backoff.pause()
