"""`python -m tests.simulation seed N` tells one run, and shrinks it if it fails; `… long` runs many; `… mutants` finds who kills them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from tests.simulation.limit import OutOfTimeError, time_limit
from tests.simulation.mixtures import mixture_of
from tests.simulation.mutants import MUTANTS, killers
from tests.simulation.plan import plan_of
from tests.simulation.shrink import Shrinker
from tests.simulation.simulate import Result, simulate

SEEDS_A_TURN = 20
LIMIT_S = 120.0
"""A seed takes a fraction of a second."""
Turn = tuple[Counter[str], list[tuple[int, str]]]
"""Figures of some seeds, and which of them failed, with their first complaint."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("seed", help="one seed, with its trace")
    one.add_argument("seed", type=int, nargs="?")
    one.add_argument("--operations", type=int, default=100)
    one.add_argument("--no-shrink", action="store_true")
    many = commands.add_parser("long", help="many seeds, on several processes")
    many.add_argument("--seeds", type=int, default=10_000)
    many.add_argument("--first", type=int, default=0)
    many.add_argument("--operations", type=int, default=100, help="of each seed")
    many.add_argument("--processes", type=int, default=2)
    many.add_argument("--limit", type=float, default=LIMIT_S, help="seconds that a seed may take before it counts as failed")
    known = commands.add_parser("mutants", help="seeds that kill mutants, for the table of them")
    known.add_argument("names", nargs="*", help="all if none is named")
    known.add_argument("--seeds", type=int, default=400)
    known.add_argument("--most", type=int, default=5, help="seeds to find of each")
    known.add_argument("--processes", type=int, default=2)
    wish = parser.parse_args()
    if wish.command == "seed":
        if wish.seed is None:
            one.error("which seed? For example: make sim SEED=7 (any number from 0 on; `make sim-long` names those that fail)")
        return tell(wish.seed, wish.operations, not wish.no_shrink)
    if wish.command == "mutants":
        return tell_killers(wish.names, wish.seeds, wish.most, wish.processes)
    return run_many(wish.first, wish.seeds, wish.operations, wish.processes, wish.limit)


def tell(seed: int, operations: int, shrinks: bool) -> int:
    """Print a run; if it fails, a smaller one that fails too."""
    result = simulate(plan_of(seed, operations))
    _print(result)
    if result.complaints and shrinks:
        smaller = Shrinker().shrink(result.plan)
        print(f"\nShrunk from {len(result.plan.atoms)} atoms to {len(smaller.atoms)}:\n")
        _print(simulate(smaller))
    return 1 if result.complaints else 0


def run_many(first: int, seeds: int, operations: int, processes: int, limit_s: float) -> int:
    """Run seeds `first` to `first + seeds`, show how far it is, and sum up."""
    began = time.monotonic()
    figures: Counter[str] = Counter()
    failed: list[tuple[int, str]] = []
    starts = range(first, first + seeds, SEEDS_A_TURN)
    with ProcessPoolExecutor(processes) as pool:
        turns = pool.map(partial(turn, operations=operations, end=first + seeds, limit_s=limit_s), starts)
        for number, (found, failures) in enumerate(turns, start=1):
            figures += found
            failed += failures
            for seed, complaint in failures:
                print(f"\nseed {seed}: {complaint}", flush=True)
            seconds = time.monotonic() - began
            left = seconds / number * (len(starts) - number)
            rate = figures["operations"] / seconds
            print(
                f"\r{min(number * SEEDS_A_TURN, seeds)} of {seeds} seeds, {rate:.0f} operations a second, {left:.0f} s left ",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    print(
        f"{seeds} seeds in {time.monotonic() - began:.0f} s on {processes} processes; {len(failed)} failed: {[seed for seed, _ in failed]}"
    )
    for name in sorted(figures):
        print(f"  {name:<40} {figures[name]}")
    return 1 if failed else 0


def tell_killers(names: Sequence[str], seeds: int, most: int, processes: int) -> int:
    """Print for each mutant the first `most` seeds below `seeds` that kill it, the one that is listed for it before others."""
    mutants = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    with ProcessPoolExecutor(processes) as pool:
        found = pool.map(partial(_killers, seeds=seeds, most=most), (mutant.name for mutant in mutants))
        for mutant, killed in zip(mutants, found, strict=True):
            print(f"{mutant.name}, listed with {mutant.seed}:")
            for seed, complaint in killed:
                mixture = mixture_of(seed)
                print(f"  {seed:>4} {'' if mixture is None else mixture.name:<20} {complaint[:120]}", flush=True)
    return 0


def _killers(name: str, seeds: int, most: int) -> list[tuple[int, str]]:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    return list(islice(killers(mutant, dict.fromkeys((mutant.seed, *range(seeds)))), most))


def turn(start: int, operations: int, end: int, limit_s: float) -> Turn:
    """Run the seeds from `start` on, each within `limit_s` seconds."""
    figures: Counter[str] = Counter()
    failures: list[tuple[int, str]] = []
    for seed in range(start, min(start + SEEDS_A_TURN, end)):
        try:
            with time_limit(limit_s):
                result = simulate(plan_of(seed, operations))
        except OutOfTimeError as error:
            failures.append((seed, str(error)))
            continue
        except Exception as error:
            failures.append((seed, f"the simulator itself failed: {error!r}"))
            continue
        figures += result.figures
        if result.complaints:
            failures.append((seed, result.complaints[0]))
    return figures, failures


def _print(result: Result) -> None:
    plan, verdict = result.plan, result.complaints or ("nothing is wrong",)
    print(*(f"seed {plan.seed}: {complaint}" for complaint in verdict), sep="\n")
    print(f"seed {plan.seed}, schedule {plan.schedule}: {plan.slots} processes, clocks off by {plan.skews} s, latency {plan.latency} s")
    for atom in plan.atoms:
        print(f"  {atom}")
    print()
    for line in result.trace.lines():
        print(line)
    print()
    print(*verdict, sep="\n")
    print(f"trace {result.trace.digest()}")


if __name__ == "__main__":
    sys.exit(main())
