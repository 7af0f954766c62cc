"""Wall time is the store's: a machine whose clock is far from it does not write."""

from __future__ import annotations

from catalog_format.clock import Clock
from catalog_format.errors import ClockSkewError, TreelineError
from catalog_format.storage import Storage

MOST_SKEW_MS = 60_000
"""So far may the two clocks be apart."""
LOOK_EVERY_S = 600.0
JUMP_MS = 1_000
"""Wall time that runs so far away from elapsed time was set by somebody: look at once."""


class SkewGuard:
    """Compares this machine's clock with the store's, now and then.

    No promise of the format needs it: versions are ordered by their numbers. It keeps what people read (`log`, time travel,
    lifetimes of transactions) from going astray because of one machine.
    """

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._looked_at = float("-inf")
        self._drift_ms = 0.0

    async def check(self) -> None:
        """One request every ten minutes, or when the clock was set; none otherwise. Raises `ClockSkewError`."""
        if self._clock.elapsed() - self._looked_at < LOOK_EVERY_S and abs(self._drift() - self._drift_ms) < JUMP_MS:
            return
        before = self._clock.now_ms()
        try:
            theirs = await self._storage.clock_ms()
        except (OSError, TreelineError):
            # What is wrong with the store, the write itself will say better.
            return
        after = self._clock.now_ms()
        ahead_ms = 0 if theirs is None else max(before - theirs, 0) - max(theirs - after, 0)
        if abs(ahead_ms) > MOST_SKEW_MS:
            direction = "ahead of" if ahead_ms > 0 else "behind"
            raise ClockSkewError(
                f"This machine's clock is {abs(ahead_ms) // 1000} s {direction} that of {self._storage.url}, "
                f"and at most {MOST_SKEW_MS // 1000} s are tolerated; nothing was written: set the clock, then try again"
            )
        self._looked_at = self._clock.elapsed()
        self._drift_ms = self._drift()

    def _drift(self) -> float:
        return self._clock.now_ms() - self._clock.elapsed() * 1000
