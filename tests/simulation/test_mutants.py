"""The simulator finds what it is there to find: each protection that is switched off is missed."""

from __future__ import annotations

import pytest

from tests.simulation.deletion_mutants import looking_once
from tests.simulation.mutants import MUTANTS, Mutant, killers
from tests.simulation.plan import plan_of
from tests.simulation.simulate import simulate
from tests.simulation.test_simulation import TESTED


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_is_killed(mutant: Mutant) -> None:
    if next(killers(mutant, [mutant.seed]), None) is None:
        other, complaint = next(killers(mutant, range(TESTED)), (None, ""))
        assert other is not None, f"{mutant.name}: {mutant.what}, and nobody notices"
        pytest.fail(
            f"{mutant.name}: seed {mutant.seed} is listed and does not notice; seed {other} does ({complaint}). "
            "Refresh the table: make sim-mutants"
        )


@pytest.mark.parametrize("name", ["transactions last", "the epoch alone"])
def test_it_is_the_order_that_kills(name: str) -> None:
    """The same run with one look in the right order is without fault."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with looking_once():
        assert simulate(plan_of(mutant.seed)).complaints == ()
