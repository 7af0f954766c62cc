"""Fixtures of the tests on tables that PyIceberg writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog_format.clock import SystemClock
from tests.support.catalogs import ManualClock
from tests.support.pyiceberg_tables import TestLake, opened_lake


@pytest.fixture
def clock() -> ManualClock:
    """Set to now: PyIceberg knows the real time only."""
    return ManualClock(SystemClock().now_ms())


@pytest.fixture
def lake(tmp_path: Path, clock: ManualClock) -> Iterator[TestLake]:
    with opened_lake(tmp_path, clock) as one:
        yield one
