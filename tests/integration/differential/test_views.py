"""Commits to views: Treeline's builder accepts, refuses and makes what Iceberg's own Java builder does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integration.differential.comparison import Comparison
from tests.integration.differential.profiles import PROFILES, profile
from tests.integration.differential.strategies.views import view_requirements, view_updates, views

pytestmark = pytest.mark.spark


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_long", PROFILES)
def test_commits_to_views(comparison: Comparison, is_long: bool) -> None:
    @profile(short=250, long=4_000, is_long=is_long)
    @given(data=st.data())
    def commits(data: st.DataObject) -> None:
        metadata = data.draw(views(), "base")
        for _ in range(data.draw(st.integers(1, 3), "commits")):
            requirements = data.draw(view_requirements(metadata), "requirements")
            updates = data.draw(view_updates(metadata), "updates")
            after = comparison.commit_view(metadata, requirements, updates)
            if after is None:
                return
            metadata = after

    commits()
    seen = comparison.seen
    assert min(seen["done"], seen["refused"]) > seen.total() / 6, seen
    assert min(seen["conflict"], seen["unchanged"]) > seen.total() / 100, seen
