"""Publishing: the one put-if-absent that makes a version, and finding out what became of it."""

from __future__ import annotations

from catalog_format import paths
from catalog_format.backoff import Backoff
from catalog_format.clock import Clock
from catalog_format.errors import GiveUp, RetryLater, UnknownOutcomeError
from catalog_format.ids import Ids
from catalog_format.node import Root
from catalog_format.readback import Fate, classify
from catalog_format.storage import Storage
from catalog_format.version_log import VersionLog


class Publisher:
    """Puts roots. A name is used once, so whatever occupies it afterwards tells who won."""

    def __init__(self, storage: Storage, log: VersionLog, clock: Clock, ids: Ids) -> None:
        self._storage = storage
        self._log = log
        self._clock = clock
        self._ids = ids

    async def publish(self, version: int, data: bytes, attempt_id: str, deadline: float) -> Root | None:
        """None if this attempt's root is now `version`; else the root that took its place.

        `deadline` is on the clock's elapsed seconds. Raises `UnknownOutcomeError` when it passes with the fate open,
        and the store's own errors when the put surely did nothing.
        """
        path = paths.root_path(version)
        backoff = Backoff(self._clock, self._ids)
        doubtful = False
        while True:
            try:
                if await self._storage.put_if_absent(path, data):
                    return None
            except (RetryLater, GiveUp):
                if not doubtful:
                    raise
            except OSError:
                doubtful = True
            try:
                occupant = await self._log.find(version)
            except (OSError, RetryLater):
                occupant, fate = None, Fate.UNKNOWN
            else:
                fate = classify(attempt_id, occupant.header.attempt_id if occupant else None)
            if fate is Fate.WON:
                return None
            if fate is Fate.LOST:
                return occupant
            if self._clock.elapsed() >= deadline:
                raise UnknownOutcomeError(
                    f"The store did not say whether version {version} was written (attempt {attempt_id}); "
                    "read the catalog again before you repeat the request"
                )
            await backoff.pause()
