"""Making a failing plan small: leave out what the failure does not need (after Zeller, "Yesterday, my program worked", 1999)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.plan import Atom, Plan, TransactionStep
from tests.simulation.simulate import simulate

MOST_RUNS = 600
SCHEDULES = 3
"""Leaving something out changes the order of all that follows, so a few orders are tried."""


class Shrinker:
    """Bounded delta debugging over a plan's atoms, and then over the steps inside of its transactions."""

    def __init__(self, fails: Callable[[Plan], bool] | None = None, most_runs: int = MOST_RUNS) -> None:
        self._fails = fails or (lambda plan: bool(simulate(plan).complaints))
        self._left = most_runs

    def shrink(self, plan: Plan) -> Plan:
        """A plan that fails too, with fewer atoms; the same one if none was found."""
        best = plan
        size = max(1, len(plan.atoms) // 2)
        while size and self._left > 0:
            smaller = self._without_some(best, size)
            if smaller is None:
                size //= 2
            else:
                best, size = smaller, min(size, max(1, len(smaller.atoms) // 2))
        return self._inside(best)

    def _without_some(self, plan: Plan, size: int) -> Plan | None:
        for start in range(0, len(plan.atoms), size):
            found = self._failing(plan, (*plan.atoms[:start], *plan.atoms[start + size :]))
            if found is not None:
                return found
        return None

    def _inside(self, plan: Plan) -> Plan:
        for number in range(len(plan.atoms)):
            atom = plan.atoms[number]
            if not isinstance(atom, TransactionStep):
                continue
            for step in [step for worker in atom.workers for step in worker]:
                workers = tuple(tuple(kept for kept in worker if kept is not step) for worker in atom.workers)
                lighter = replace(atom, workers=tuple(worker for worker in workers if worker))
                found = self._failing(plan, (*plan.atoms[:number], lighter, *plan.atoms[number + 1 :]))
                if found is not None:
                    plan, atom = found, lighter
        return plan

    def _failing(self, plan: Plan, atoms: Sequence[Atom]) -> Plan | None:
        for schedule in range(SCHEDULES):
            if self._left <= 0:
                return None
            self._left -= 1
            candidate = replace(plan, atoms=tuple(atoms), schedule=schedule)
            if self._fails(candidate):
                return candidate
        return None
