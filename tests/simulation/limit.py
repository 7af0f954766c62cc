"""How long a run may take on the wall clock: one that spins for ever is named, instead of holding up all others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_S = 5.0
"""Whoever is stopped may get stuck while it is being closed."""


class OutOfTimeError(SystemExit):
    """A run took too long. Event loops and tasks let this one through, and nothing in the run catches it as an `Exception`."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in the block when it has run for `seconds`. In the main thread only; a timer that was set goes on after it."""

    def ring(number: int, frame: FrameType | None) -> None:
        where = "" if frame is None else f", at {frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})"
        raise OutOfTimeError(f"not done after {seconds:g} s{where}")

    handler = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)
