"""Time: the only module that may ask for it, so that a simulation can own it; and how it is written for people."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for records and expiry, elapsed time for deadlines and backoff."""

    def now_ms(self) -> int:
        """Wall time in milliseconds since the Unix epoch."""
        ...

    def elapsed(self) -> float:
        """Seconds from an arbitrary start, suspension of the machine included where the system can tell."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clocks."""

    # CLOCK_BOOTTIME counts suspension (Linux); elsewhere the monotonic clock is the nearest there is.
    _ELAPSED_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def elapsed(self) -> float:
        return time.clock_gettime(self._ELAPSED_CLOCK)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def iso(timestamp_ms: int) -> str:
    """Milliseconds since the epoch in ISO 8601, UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
