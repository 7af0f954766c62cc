"""New tables: create requests, and commits of staged creates."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.integration.differential.comparison import Comparison
from tests.integration.differential.outcome import Json
from tests.integration.differential.profiles import PROFILES, profile
from tests.integration.differential.strategies.creations import NewTable, new_tables, staged_creations

pytestmark = pytest.mark.spark


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_long", PROFILES)
def test_new_tables(comparison: Comparison, is_long: bool) -> None:
    @profile(short=200, long=3_000, is_long=is_long)
    @given(request=new_tables())
    def creates(request: NewTable) -> None:
        comparison.new_table(*request)

    creates()
    assert min(comparison.seen["done"], comparison.seen["refused"]) > comparison.seen.total() / 6, comparison.seen


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_long", PROFILES)
def test_staged_creates(comparison: Comparison, is_long: bool) -> None:
    @profile(short=150, long=3_000, is_long=is_long)
    @given(updates=staged_creations())
    def creates(updates: list[Json]) -> None:
        comparison.create_table(updates)

    creates()
    assert min(comparison.seen["done"], comparison.seen["refused"]) > comparison.seen.total() / 10, comparison.seen
