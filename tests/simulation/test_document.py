"""docs/simulation.md names the mutants as they are."""

from __future__ import annotations

from pathlib import Path

from tests.simulation.mutants import MUTANTS


def test_the_table_of_mutants_is_current() -> None:
    text = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    rows = [f"| {mutant.name} | {mutant.what} | {mutant.seeds[0]} |" for mutant in MUTANTS]
    assert [line for line in text.splitlines() if line in rows] == rows
    assert text.count("\n| ") - text.count("\n| part |") - text.count("\n| mutant |") >= len(rows)
