"""docs/simulation.md names mixtures and mutants as they are."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from tests.simulation.mixtures import MIXTURES
from tests.simulation.mutants import MUTANTS


def table(heading: str) -> list[list[str]]:
    """Cells of the rows of the table whose first heading this is."""
    text = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    rows = takewhile(lambda line: line.startswith("|"), text[text.index(f"| {heading} |") :].splitlines())
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows][2:]


def test_the_table_of_mixtures_is_current() -> None:
    assert [row[:2] for row in table("mixture")] == [[mixture.name, f"{mixture.share * 100:.0f} %"] for mixture in MIXTURES]


def test_the_table_of_mutants_is_current() -> None:
    assert table("mutant") == [[mutant.name, mutant.what, str(mutant.seeds[0])] for mutant in MUTANTS]
