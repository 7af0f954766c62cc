"""Moments as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MILLIS = re.compile(r"[0-9]{12,16}")


def timestamp_ms(text: str) -> int | None:
    """Milliseconds since the epoch, from such a number or from ISO 8601 (UTC unless it says otherwise); None for other text."""
    if _MILLIS.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
