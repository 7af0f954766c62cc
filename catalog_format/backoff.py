"""Pauses between tries: exponential, with full jitter."""

from __future__ import annotations

from catalog_format.clock import Clock
from catalog_format.ids import Ids


class Backoff:
    """Pauses that grow from `first` to `most` seconds, each drawn uniformly from zero to its bound."""

    def __init__(self, clock: Clock, ids: Ids, first: float = 0.02, most: float = 2.0) -> None:
        self._clock = clock
        self._ids = ids
        self._bound = first
        self._most = most

    async def pause(self) -> None:
        await self._clock.sleep(self._bound * self._ids.jitter())
        self._bound = min(self._bound * 2, self._most)
