"""What JUnit reports of a run of the kit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto
from pathlib import Path
from xml.etree import ElementTree


class Outcome(StrEnum):
    """How a test ended."""

    PASSED = auto()
    SKIPPED = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Case:
    """One test, or one invocation of a test with parameters."""

    name: str
    """`Class.method`; with parameters `Class.method(types)[number]`."""
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All tests that JUnit found, run or not."""

    cases: tuple[Case, ...]

    def names(self, outcome: Outcome) -> set[str]:
        return {case.name for case in self.cases if case.outcome is outcome}

    @property
    def failures(self) -> dict[str, str]:
        """Why tests failed, by name."""
        return {case.name: case.reason for case in self.cases if case.outcome is Outcome.FAILED}

    @classmethod
    def read(cls, folder: Path) -> Report:
        """The XML reports that the console launcher writes, one for each engine."""
        return cls(tuple(case for file in sorted(folder.glob("TEST-*.xml")) for case in _cases(file)))


def _cases(file: Path) -> Iterator[Case]:
    for element in ElementTree.parse(file).getroot().iter("testcase"):
        name = f"{element.attrib['classname'].rpartition('.')[2]}.{element.attrib['name'].removesuffix('()')}"
        yield Case(name, *_outcome(element))


def _outcome(element: ElementTree.Element) -> tuple[Outcome, str]:
    for tag, outcome in (("failure", Outcome.FAILED), ("error", Outcome.FAILED), ("skipped", Outcome.SKIPPED)):
        found = element.find(tag)
        if found is not None:
            return outcome, found.text or found.attrib.get("message", "")
    return Outcome.PASSED, ""
