"""docs/simulation.md names mixtures and mutants as they are."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from tests.simulation.mixtures import MIXTURES, mixture_of
from tests.simulation.mutants import MUTANTS


def table(*headings: str) -> list[list[str]]:
    """Cells of the rows of the table that begins with these headings."""
    text = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    rows = takewhile(lambda line: line.startswith("|"), text[text.index(f"| {' | '.join(headings)} |") :].splitlines())
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows][2:]


def test_the_table_of_mixtures_is_current() -> None:
    assert [row[:2] for row in table("mixture", "share")] == [[mixture.name, f"{mixture.share * 100:.0f} %"] for mixture in MIXTURES]


def test_the_table_of_mutants_is_current() -> None:
    assert table("mutant", "switched off") == [[mutant.name, mutant.what, str(mutant.seed)] for mutant in MUTANTS]


def test_mutants_for_whom_there_is_a_mixture_have_a_seed_of_it() -> None:
    mixtures = {mutant.name: mixture_of(mutant.seed) for mutant in MUTANTS}
    rows = [(row[0].split(", "), name) for row in table("mixture", "made for the mutants") for name in row[1].split("; ")]
    assert [name for made, name in rows if (mixture := mixtures[name]) is None or mixture.name not in made] == []
