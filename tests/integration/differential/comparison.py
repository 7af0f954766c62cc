"""Asks both sides the same, and says whether they agree."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tests.integration.differential import treeline
from tests.integration.differential.differences import difference_in, without_nulls
from tests.integration.differential.java import Java
from tests.integration.differential.outcome import Case, Json, Outcome

UUID = "e3b1b0c6-0000-4000-8000-000000000000"

Pair = tuple[Outcome, Outcome]


class Comparison:
    """Both sides. `seen` counts verdicts and differences, so that a test can tell that its requests were worth asking."""

    def __init__(self, java: Java) -> None:
        self._java = java
        self.seen: Counter[str] = Counter()

    def commit_table(self, base: Json, location: str | None, requirements: list[Json], updates: list[Json]) -> Json | None:
        """Commit on both sides; Treeline's metadata if both accept. Fails where they do not agree."""

        def ask(requirements: list[Json], updates: list[Json]) -> Pair:
            theirs = self._java.commit_table(base, location, requirements, updates)
            return theirs, treeline.commit_table(base, location, requirements, updates, _time_of_table(theirs))

        return self._compared(base, requirements, updates, ask, self._java.read_table)

    def create_table(self, updates: list[Json]) -> Json | None:
        """The same for the commit of a staged create."""

        def ask(requirements: list[Json], updates: list[Json]) -> Pair:
            theirs = self._java.create_table_by_updates(updates)
            return theirs, treeline.create_table_by_updates(updates, _ids_of_table(theirs), _time_of_table(theirs))

        return self._compared({}, [], updates, ask, self._java.read_table)

    def new_table(self, schema: Json, spec: Json, order: Json, location: str, properties: dict[str, str]) -> Json | None:
        """The same for a create request."""

        def ask(requirements: list[Json], parts: list[Json]) -> Pair:
            theirs = self._java.new_table(*parts, location, properties)
            return theirs, treeline.new_table(*parts, location, properties, _ids_of_table(theirs), _time_of_table(theirs))

        return self._compared({}, [], [schema, spec, order], ask, self._java.read_table)

    def commit_view(self, base: Json, requirements: list[Json], updates: list[Json]) -> Json | None:
        """The same for a commit of a view."""

        def ask(requirements: list[Json], updates: list[Json]) -> Pair:
            theirs = self._java.commit_view(base, requirements, updates)
            return theirs, treeline.commit_view(base, requirements, updates, _time_of_view(theirs))

        return self._compared(base, requirements, updates, ask, self._java.read_view)

    def read_table(self, metadata: Json) -> Json | None:
        """The same for registering metadata that somebody else wrote."""
        return self._compared(
            {}, [], [metadata], lambda _, parts: (self._java.read_table(*parts), treeline.read_table(*parts)), self._java.read_table
        )

    def read_view(self, metadata: Json) -> Json | None:
        """The same for a view."""
        return self._compared(
            {}, [], [metadata], lambda _, parts: (self._java.read_view(*parts), treeline.read_view(*parts)), self._java.read_view
        )

    def _compared(
        self,
        base: Json,
        requirements: list[Json],
        updates: list[Json],
        ask: Callable[[list[Json], list[Json]], Pair],
        read: Callable[[Json], Outcome],
    ) -> Json | None:
        before = json.dumps([base, requirements, updates])
        case = _case(requirements + updates, ask(requirements, updates), read)
        assert json.dumps([base, requirements, updates]) == before, "the base or the request was changed"
        self.seen[case.java.verdict.value] += 1
        if case.disagreement:
            cleaned = without_nulls([requirements, updates])
            if cleaned != [requirements, updates]:
                case = replace(case, without_nulls=_case(cleaned[0] + cleaned[1], ask(*cleaned), read))
            difference = difference_in(case)
            assert difference is not None, "\n".join(case.disagreement)
            self.seen[difference.name] += 1
            return None
        return case.treeline.metadata if case.java.accepted else None


def _case(request: list[Json], outcomes: Pair, read: Callable[[Json], Outcome]) -> Case:
    theirs, ours = outcomes
    reread = None if theirs.metadata is None else read(theirs.metadata)
    return Case(request, theirs, ours, reread, None if ours.metadata is None else read(ours.metadata))


def _time_of_table(outcome: Outcome) -> int:
    """When Java built it, so that both build at the same time."""
    return int((outcome.metadata or {}).get("last-updated-ms", time.time() * 1000))


def _ids_of_table(outcome: Outcome) -> treeline.GivenUuid:
    return treeline.GivenUuid((outcome.metadata or {}).get("table-uuid", UUID))


def _time_of_view(outcome: Outcome) -> int:
    log = (outcome.metadata or {}).get("version-log")
    return int(log[-1]["timestamp-ms"] if log else time.time() * 1000)
