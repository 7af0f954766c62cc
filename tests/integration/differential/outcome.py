"""What one side made of a request, and when two outcomes are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Json = dict[str, Any]

FOREIGN = "x-foreign"
"""A member that no specification knows: Java drops it, Treeline keeps it."""


class Verdict(Enum):
    """What a client is told."""

    DONE = "done"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    """Refused, and a retry on fresh metadata may succeed (409)."""
    REFUSED = "refused"
    """Refused for good (400)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with the metadata (JSON) or the reason."""

    verdict: Verdict
    metadata: Json | None = None
    reason: str = ""

    @property
    def accepted(self) -> bool:
        return self.verdict in {Verdict.DONE, Verdict.UNCHANGED}


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and what both sides made of it."""

    request: list[Json]
    java: Outcome
    treeline: Outcome
    reread: Outcome | None = None
    """What Java makes of its own result, where it has one."""
    read: Outcome | None = None
    """What Java makes of Treeline's result, where it has one."""
    without_nulls: Case | None = None
    """The same request without its null members, where it has some."""

    @property
    def disagreement(self) -> list[str]:
        """How the two sides differ; empty if they do not."""
        if self.java.verdict is not self.treeline.verdict:
            return [f"Java: {_said(self.java)}", f"Treeline: {_said(self.treeline)}"]
        if self.java.verdict is not Verdict.DONE:
            return []
        assert self.read is not None
        if not self.read.accepted:
            return [f"Java cannot read what Treeline wrote: {self.read.reason}"]
        # Types, numbers and empty members may be spelled otherwise, which Java's own parser evens out, ...
        lines = differing(plain(self.java.metadata), plain(self.read.metadata))
        # ... but what a reader may look for at the top must be there.
        return lines + [f"/{name}: missing" for name in _members(self.java) - _members(self.treeline)]


def plain(value: Any) -> Any:
    """JSON as it is compared: what is foreign is left out, statistics are in order (Java keeps them in a hash map)."""
    if isinstance(value, Mapping):
        return {
            key: _by_snapshot(plain(member)) if key in {"statistics", "partition-statistics"} else plain(member)
            for key, member in value.items()
            if key != FOREIGN
        }
    return [plain(item) for item in value] if isinstance(value, list) else value


def differing(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two JSON values differ, for a message."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            line
            for key in sorted(one.keys() | other.keys())
            for line in (
                differing(one[key], other[key], f"{path}/{key}")
                if key in one and key in other
                else [f"{path}/{key}: only in {'the first' if key in one else 'the second'}: {one.get(key, other.get(key))!r}"]
            )
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for index, (a, b) in enumerate(zip(one, other, strict=True)) for line in differing(a, b, f"{path}/{index}")]
    # Python takes 1, 1.0 and true for equal.
    return [] if one == other and type(one) is type(other) else [f"{path}: {one!r} != {other!r}"]


def _said(outcome: Outcome) -> str:
    return f"{outcome.verdict.value} {outcome.reason}".rstrip()


def _members(outcome: Outcome) -> set[str]:
    return {name for name, value in (outcome.metadata or {}).items() if value is not None}


def _by_snapshot(files: Any) -> Any:
    return sorted(files, key=lambda file: file["snapshot-id"]) if isinstance(files, list) else files
