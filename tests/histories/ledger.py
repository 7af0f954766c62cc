"""What a client writes down, line by line, so that nothing is forgotten when it is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.histories.history import Append, Level, Outcome, Read, Transaction

_ENDED = '{"event": "ended"'


class Lines:
    """Lines of JSON, each about an event of a transaction. Times are of the monotonic clock, which all processes of a machine share."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")

    def write(self, event: str, name: str, **more: Any) -> None:
        self._file.write(json.dumps({"event": event, "name": name, **more}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_lines(path: Path) -> dict[str, dict[str, Any]]:
    """By name of the transaction and event."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # The line that was being written when its client was killed.
        found.setdefault(entry["name"], {})[entry["event"]] = entry
    return found


def ended_in(folder: Path) -> int:
    """How many transactions have ended so far."""
    return sum(path.read_text().count(_ENDED) for path in folder.glob("*.ledger"))


class Ledger(Lines):
    """Of transactions on lists."""

    def began(self, name: str, level: Level, *, one_version: bool = True) -> None:
        """Before the first request."""
        self.write("began", name, level=level, one_version=one_version, at=time.monotonic_ns())

    def committing(self, name: str, operations: Sequence[Append | Read]) -> None:
        """Before the request that may commit."""
        self.write("committing", name, operations=_encoded(operations))

    def ended(self, name: str, outcome: Outcome, operations: Sequence[Append | Read]) -> None:
        """After the outcome was told."""
        self.write("ended", name, outcome=outcome, operations=_encoded(operations), at=time.monotonic_ns())


def read_ledgers(folder: Path) -> list[Transaction]:
    """The history that the ledgers in this folder tell. One without an end is unknown if it asked to commit, else failed."""
    return [transaction for path in sorted(folder.glob("*.ledger")) for transaction in _transactions(path)]


def _transactions(path: Path) -> Iterator[Transaction]:
    for name, events in read_lines(path).items():
        began, committing, ended = events["began"], events.get("committing"), events.get("ended")
        outcome = Outcome(ended["outcome"]) if ended else Outcome.UNKNOWN if committing else Outcome.FAILED
        operations = _decoded((ended or committing or {"operations": []})["operations"])
        told = ended is not None and outcome is not Outcome.UNKNOWN
        yield Transaction(
            name, operations, outcome, Level(began["level"]), began["at"], ended["at"] if told else None, began["one_version"]
        )


def _encoded(operations: Sequence[Append | Read]) -> list[list[Any]]:
    return [[entry.key, list(entry.values)] if isinstance(entry, Read) else [entry.key, entry.value] for entry in operations]


def _decoded(operations: Sequence[Sequence[Any]]) -> tuple[Append | Read, ...]:
    return tuple(Read(key, tuple(what)) if isinstance(what, list) else Append(key, what) for key, what in operations)
