"""What a doubtful put came to: told from what occupies the name afterwards, by attempt id alone."""

from __future__ import annotations

from enum import Enum, auto


class Fate(Enum):
    WON = auto()
    """The bytes under the name are this attempt's."""
    LOST = auto()
    """Somebody else's bytes lie there; names are used once, so this attempt never takes effect."""
    UNKNOWN = auto()
    """Nothing lies there yet: a delayed write may still land, so the same bytes are put again."""


def classify(attempt_id: str, occupant_attempt_id: str | None) -> Fate:
    """Fate of the attempt, given the attempt id found under the name (None: nothing is there)."""
    if occupant_attempt_id is None:
        return Fate.UNKNOWN
    return Fate.WON if occupant_attempt_id == attempt_id else Fate.LOST
