"""What happened in a run, in order: who, when (virtual time), what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from tests.simulation.disk import short


class Path(str):
    """A path in the store, shortened for people."""

    __slots__ = ()


class Trace:
    """Events are kept as they are told and become text only when somebody wants to read them."""

    def __init__(self) -> None:
        self._events: list[tuple[float, str, str, tuple[object, ...]]] = []

    def add(self, time: float, who: str, what: str, *details: object) -> None:
        self._events.append((time, who, what, details))

    def __len__(self) -> int:
        return len(self._events)

    def lines(self) -> Iterator[str]:
        for time, who, what, details in self._events:
            yield f"{time:12.4f}  {who:<10} {what} {' '.join(_in_words(detail) for detail in details)}".rstrip()

    def digest(self) -> str:
        """Of the whole text: two runs with the same digest went alike."""
        whole = hashlib.sha256()
        for line in self.lines():
            whole.update(line.encode())
            whole.update(b"\n")
        return whole.hexdigest()


def _in_words(detail: object) -> str:
    return short(detail) if isinstance(detail, Path) else str(detail)
