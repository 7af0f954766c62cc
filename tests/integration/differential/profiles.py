"""How many requests are tried: the same ones in every short run, new ones in every long run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

PROFILES = [pytest.param(False, id="short"), pytest.param(True, id="long", marks=pytest.mark.long)]


def profile(short: int, long: int, *, is_long: bool) -> settings:
    """Settings for so many sequences."""
    return settings(
        max_examples=long if is_long else short,
        derandomize=not is_long,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=is_long,
    )
