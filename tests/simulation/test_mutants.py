"""The simulator finds what it is there to find: each protection that is switched off is missed."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.plan import plan_of
from tests.simulation.simulate import simulate
from tests.simulation.test_simulation import TESTED


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_killed(mutant: Mutant) -> None:
    # The seed that is known to kill it goes first; when the plans change, the others find the new one.
    budget = [*mutant.seeds, *(seed for seed in range(TESTED) if seed not in mutant.seeds)]
    assert any(_is_killed(mutant, seed) for seed in budget), f"{mutant.name}: {mutant.what}, and nobody notices"


def _is_killed(mutant: Mutant, seed: int) -> bool:
    plan = plan_of(seed)
    with mutant.enter():
        return bool(simulate(plan).complaints)
