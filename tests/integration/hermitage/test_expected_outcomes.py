"""The table of expected outcomes is the one in docs/isolation.md, it promises what the levels promise, and scripts know their anomaly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.hermitage.expected import CELLS, EXPECTED, SEVERAL_TABLES, rendered
from tests.integration.hermitage.scripts import SCRIPTS, Script

DOCUMENT = Path(__file__).parents[3] / "docs" / "isolation.md"
MARK = "<!-- check: hermitage -->\n"
SKEWS = {"G2-item", "G2", "G2-two-edges"}


def test_the_document_shows_this_table() -> None:
    lines = DOCUMENT.read_text().partition(MARK)[2].partition("\n\n")[0].splitlines()
    shown = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert shown == rendered()


def test_there_are_all_fifteen() -> None:
    assert len(SCRIPTS) == 15
    assert [script.name for script in SCRIPTS] == list(EXPECTED)
    assert {len({name for name, _ in script.steps}) for script in SCRIPTS} == {2, 3}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_only_what_the_level_allows_is_expected_and_that_is(script: Script) -> None:
    for level, layout in CELLS:
        # Inserts into one table are joined.
        allowed = script.name in SKEWS and level == "snapshot" and (layout == SEVERAL_TABLES or script.name == "G2")
        assert script.occurs(EXPECTED[script.name].observation(level, layout)) == allowed, (level, layout)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_anomaly_would_be_recognised(script: Script) -> None:
    assert len(script.example.reads) == len(script.readers)
    assert script.occurs(script.example)
