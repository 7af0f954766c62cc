"""Metadata that others wrote: Treeline registers what Iceberg's own Java code can read, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integration.differential.comparison import Comparison
from tests.integration.differential.profiles import PROFILES, profile
from tests.integration.differential.strategies.damage import damaged
from tests.integration.differential.strategies.tables import tables
from tests.integration.differential.strategies.views import views

pytestmark = pytest.mark.spark


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_long", PROFILES)
@pytest.mark.parametrize("kind", ["table", "view"])
def test_registrations(comparison: Comparison, kind: str, is_long: bool) -> None:
    sound = tables() if kind == "table" else views()
    read = comparison.read_table if kind == "table" else comparison.read_view

    @profile(short=120, long=4_000, is_long=is_long)
    @given(data=st.data())
    def registers(data: st.DataObject) -> None:
        metadata = data.draw(sound)
        # Two in three are damaged somewhere.
        read(data.draw(damaged(metadata)) if data.draw(st.integers(0, 2)) else metadata)

    registers()
    assert min(comparison.seen["unchanged"], comparison.seen["refused"]) > comparison.seen.total() / 10, comparison.seen
