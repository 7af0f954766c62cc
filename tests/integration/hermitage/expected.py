"""What must come of each script: the table of docs/isolation.md, where the reasons are.

Reads are the same at both levels and however the rows are spread: a transaction reads its base and its own changes.
Only who may commit differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.integration.hermitage.scripts import SCRIPTS, START, T1, T2, Observation, Rows, Script

LEVELS: Final = ("snapshot", "serializable")
ONE_TABLE, SEVERAL_TABLES = "one table", "several tables"
LAYOUTS: Final = (ONE_TABLE, SEVERAL_TABLES)
FILE_EACH = "one table, a data file for each row"
"""Comes out as `SEVERAL_TABLES`: what makes two updates conflict is the file that both remove."""
CELLS: Final = tuple(product(LEVELS, LAYOUTS))


@dataclass(frozen=True)
class Expected:
    """Outcomes of one script."""

    reads: tuple[Rows, ...]
    final: Rows
    refused: tuple[str, str, str, str]
    """Who is refused, in the order of `CELLS`; empty for nobody."""
    final_if_skewed: Rows | None = None
    """The rows where the level lets the anomaly happen."""

    def observation(self, level: str, layout: str) -> Observation:
        refused = self.refused[CELLS.index((level, layout))]
        skewed = self.final_if_skewed is not None and not refused
        final = self.final_if_skewed if skewed and self.final_if_skewed is not None else self.final
        return Observation(final, self.reads, frozenset({refused} - {""}))

    def rule(self, level: str, layout: str) -> str:
        """What a refusal quotes: that two rewrote one file or wrote one table, or that no order is left."""
        if level == "snapshot":
            return ": both removed file:"
        wrote_one = layout == ONE_TABLE or self.refused[CELLS.index(("snapshot", layout))]
        return "both wrote it" if wrote_one else "it read what the other overwrote, and cannot be ordered before that"


ALWAYS_T1 = (T1, T1, T1, T1)
ALWAYS_T2 = (T2, T2, T2, T2)
NOBODY = ("", "", "", "")
SKEW_T1 = (T1, "", T1, T1)
SKEW_T2 = (T2, "", T2, T2)

EXPECTED: Final = {
    "G0": Expected((), {1: 11, 2: 21}, ALWAYS_T2),
    "G1a": Expected((START, START), START, NOBODY),
    "G1b": Expected((START, START), {1: 11, 2: 20}, NOBODY),
    "G1c": Expected(({2: 20}, {1: 10}), {1: 11, 2: 20}, SKEW_T2, {1: 11, 2: 22}),
    "OTV": Expected(({1: 11}, {2: 19}, {2: 19}, {1: 11}), {1: 11, 2: 19}, ALWAYS_T2),
    "PMP": Expected(({}, {}), {**START, 3: 30}, NOBODY),
    "PMP-write": Expected(({},), {1: 20, 2: 30}, ALWAYS_T2),
    "P4": Expected(({1: 10}, {1: 10}), {1: 11, 2: 20}, ALWAYS_T2),
    "G-single": Expected(({1: 10}, {1: 10}, {2: 20}, {2: 20}), {1: 12, 2: 18}, NOBODY),
    "G-single-dependencies": Expected((START, {}), {1: 12, 2: 20}, NOBODY),
    "G-single-write-1": Expected(({1: 10}, START), {1: 12, 2: 18}, ALWAYS_T1),
    "G-single-write-2": Expected(({1: 10}, START), {1: 12, 2: 18}, NOBODY),
    "G2-item": Expected((START, START), {1: 11, 2: 20}, SKEW_T2, {1: 11, 2: 21}),
    # Appends join: at `snapshot` it is skew on one table as well.
    "G2": Expected(({}, {}), {**START, 3: 30}, ("", "", T2, T2), {**START, 3: 30, 4: 42}),
    "G2-two-edges": Expected((START, {1: 10, 2: 25}), {1: 10, 2: 25}, SKEW_T1, {1: 0, 2: 25}),
}


def rendered() -> list[list[str]]:
    """The table as cells of text: name, phenomenon, reads, and one for each of `CELLS`."""
    return [_row(script, EXPECTED[script.name]) for script in SCRIPTS]


def _row(script: Script, expected: Expected) -> list[str]:
    reads = [f"{reader}: {_shown(rows)}" for reader, rows in zip(script.readers, expected.reads, strict=True)]
    return [script.name, script.phenomenon, "; ".join(reads), *(_outcome(script, expected, level, layout) for level, layout in CELLS)]


def _outcome(script: Script, expected: Expected, level: str, layout: str) -> str:
    observation = expected.observation(level, layout)
    if observation.refused:
        return f"{min(observation.refused)} refused"
    return "**none refused: it happens**" if script.occurs(observation) else "none refused"


def _shown(rows: Rows) -> str:
    return " ".join(f"{number}={value}" for number, value in rows.items()) or "none"
