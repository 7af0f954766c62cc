"""Shrinking keeps what a failure needs and leaves out the rest."""

from __future__ import annotations

from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import Plan, TransactionStep, plan_of
from tests.simulation.shrink import Shrinker
from tests.simulation.simulate import simulate


def test_what_a_failure_needs_is_left() -> None:
    plan = plan_of(1)
    needed = {plan.atoms[3], plan.atoms[-2]}
    assert set(Shrinker(lambda candidate: needed <= set(candidate.atoms)).shrink(plan).atoms) == needed


def test_steps_inside_of_a_transaction_are_left_out_too() -> None:
    plan = plan_of(1)

    def fails(candidate: Plan) -> bool:
        return any(len(worker) > 0 for atom in candidate.of(TransactionStep) for worker in atom.workers)

    (left,) = Shrinker(fails).shrink(plan).atoms
    assert isinstance(left, TransactionStep)
    assert [len(worker) for worker in left.workers] == [1]


def test_a_real_failure_becomes_small() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "no putting again")
    plan = plan_of(mutant.seed)
    with mutant.enter():
        smaller = Shrinker(most_runs=25).shrink(plan)
        assert simulate(smaller).complaints
    assert len(smaller.atoms) < len(plan.atoms)
