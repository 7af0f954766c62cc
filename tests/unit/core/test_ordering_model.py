"""Backward ordering admits no cycle, and each half of its rule is needed: very many small random histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from catalog_format.changes import Place
from catalog_format.ordering import Concurrent, Footprint, NoPlace, place_before
from tests.support.ordering_model import Order, has_cycle, play


def cycles(seeds: range, order: Order = place_before) -> Counter[str]:
    """How many histories have a cycle, and how often the rule was used."""
    found: Counter[str] = Counter()
    for seed in seeds:
        history = play(seed, order)
        found["cycles"] += has_cycle(history)
        found["committed"] += len(history.committed)
        found["refused"] += history.refused
        for wish, place, before in history.committed:
            if before is not None:
                found["backwards"] += 1
                found["backwards, writing"] += bool(wish.writes)
                assert wish.base < before.version and before < place, "within its life"
    return found


def without_closing_edges(base_version: int, own: Footprint, others: Sequence[Concurrent]) -> Place | NoPlace:
    """Nobody is asked whether he read or wrote what the transaction writes."""
    return place_before(base_version, replace(own, writes=frozenset()), others)


def without_backward_overwriters(base_version: int, own: Footprint, others: Sequence[Concurrent]) -> Place | NoPlace:
    """All are taken to stand at their commits."""
    return place_before(base_version, own, [replace(other, before=None) for other in others])


@pytest.mark.parametrize(
    "seeds",
    [
        range(20_000),
        pytest.param(range(20_000, 120_000), marks=pytest.mark.processes),
        pytest.param(range(120_000, 1_000_000), marks=pytest.mark.long),
    ],
)
def test_no_history_has_a_cycle(seeds: range) -> None:
    found = cycles(seeds)
    assert found["cycles"] == 0
    assert found["backwards, writing"] > len(seeds) / 50 and found["backwards"] > found["backwards, writing"]
    assert found["refused"] > len(seeds) / 20


@pytest.mark.parametrize("half", [without_closing_edges, without_backward_overwriters])
def test_without_half_of_the_rule_there_are_cycles(half: Order) -> None:
    assert cycles(range(3_000), half)["cycles"] > 0
