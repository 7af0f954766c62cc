"""What clients counted, and the figures of a row that come of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(slots=True)
class Tally:
    """Of one client, from its first piece of work to its last; times are of the system's monotonic clock."""

    done: list[tuple[float, float, str]] = field(default_factory=list)
    """(when it ended, how long it took in all, what it was) of every piece of work that went through."""
    decisions: list[tuple[float, float, int]] = field(default_factory=list)
    """(when it was answered, seconds, status) of every request that asks the catalog to commit."""
    effects: Counter[str] = field(default_factory=Counter)
    """What was acknowledged, to be compared with what the tables hold afterwards."""
    seen: Counter[str] = field(default_factory=Counter)
    """What readers met."""
    raised: list[float] = field(default_factory=list)
    """When PyIceberg's own attempts had come to an end and its caller began anew."""
    gave_up: list[float] = field(default_factory=list)
    unfinished: int = 0
    """Work that had not gone through when the time was over."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why commits were refused, in the catalog's words."""
    ended: float = 0.0
    """When it stopped."""
    cores: float = 0.0
    """CPU time of its process a second, as long as it worked."""


def effects_of(tallies: Sequence[Tally]) -> Counter[str]:
    """Of all clients."""
    return sum((tally.effects for tally in tallies), Counter())


def figures(tallies: Sequence[Tally], begins: float, ends: float) -> dict[str, Any]:
    """Rates, shares and latencies of what ended within a span of time."""

    def within(at: float) -> bool:
        return begins <= at < ends

    seconds = ends - begins
    done = [(took, kind) for tally in tallies for at, took, kind in tally.done if within(at)]
    decisions = [(took, status) for tally in tallies for at, took, status in tally.decisions if within(at)]
    statuses = Counter(status for _, status in decisions)
    conflicts = statuses.pop(409, 0)
    accepted = sum(count for status, count in statuses.items() if status < 300)
    seen: Counter[str] = sum((tally.seen for tally in tallies), Counter())
    reasons: Counter[str] = sum((tally.reasons for tally in tallies), Counter())
    return {
        "clients": len(tallies),
        "seconds": seconds,
        "done": len(done),
        "per_s": len(done) / seconds,
        "kinds": dict(sorted(Counter(kind for _, kind in done).items())),
        "attempts": len(decisions),
        "conflicts": conflicts,
        "abort_rate": conflicts / len(decisions) if decisions else 0.0,
        "commits_per_s": accepted / seconds,
        "other_answers": {str(status): count for status, count in statuses.items() if status >= 300},
        "raised": sum(within(at) for tally in tallies for at in tally.raised),
        "gave_up": sum(within(at) for tally in tallies for at in tally.gave_up),
        "unfinished": sum(tally.unfinished for tally in tallies),
        **_percentiles("work", [took for took, _ in done]),
        **_percentiles("request", [took for took, status in decisions if status < 300]),
        "seen": dict(sorted(seen.items())),
        "reasons": dict(reasons.most_common(5)),
    }


def _percentiles(name: str, seconds: list[float]) -> dict[str, float | None]:
    """In milliseconds; None without any."""
    p50, p95 = np.percentile(seconds, (50, 95)) * 1000 if seconds else (None, None)
    return {f"{name}_p50_ms": p50 and float(p50), f"{name}_p95_ms": p95 and float(p95)}
