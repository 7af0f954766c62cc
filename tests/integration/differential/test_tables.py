"""Commits to tables: Treeline's builder accepts, refuses and makes what Iceberg's own Java builder does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integration.differential.comparison import Comparison
from tests.integration.differential.profiles import PROFILES, profile
from tests.integration.differential.strategies.table_requests import table_requirements, table_updates
from tests.integration.differential.strategies.tables import BASE_FILE, tables

pytestmark = pytest.mark.spark


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_long", PROFILES)
def test_commits_to_tables(comparison: Comparison, is_long: bool) -> None:
    @profile(short=600, long=10_000, is_long=is_long)
    @given(data=st.data())
    def commits(data: st.DataObject) -> None:
        metadata = data.draw(tables(), "base")
        location = data.draw(st.sampled_from([BASE_FILE, BASE_FILE, None]), "base file")
        for _ in range(data.draw(st.integers(1, 3), "commits")):
            requirements = data.draw(table_requirements(metadata), "requirements")
            updates = data.draw(table_updates(metadata), "updates")
            after = comparison.commit_table(metadata, location, requirements, updates)
            if after is None:
                return
            metadata = after

    commits()
    seen = comparison.seen
    # Requests that are nearly always refused, or never, would prove little.
    assert min(seen["done"], seen["refused"]) > seen.total() / 6, seen
    assert min(seen["conflict"], seen["unchanged"]) > seen.total() / 100, seen
