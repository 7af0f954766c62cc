"""The simulator finds what it is there to find: each protection that is switched off is missed."""

from __future__ import annotations

import pytest

from tests.simulation.deletion_mutants import looking_once
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.plan import plan_of
from tests.simulation.simulate import simulate
from tests.simulation.test_simulation import TESTED


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_killed(mutant: Mutant) -> None:
    # The seed that is known to kill it goes first; when the plans change, the others find the new one.
    budget = [*mutant.seeds, *(seed for seed in range(TESTED) if seed not in mutant.seeds)]
    assert any(_is_killed(mutant, seed) for seed in budget), f"{mutant.name}: {mutant.what}, and nobody notices"


@pytest.mark.parametrize("name", ["transactions last", "the epoch alone"])
def test_it_is_the_order_that_kills(name: str) -> None:
    """The same run with one look in the right order is without fault."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with looking_once():
        assert simulate(plan_of(mutant.seeds[0])).complaints == ()


def _is_killed(mutant: Mutant, seed: int) -> bool:
    plan = plan_of(seed)
    with mutant.enter():
        return bool(simulate(plan).complaints)
