"""What happened, written down: each transaction of the writer, each look of the reader. Knows nothing of Spark."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMITTED = "committed"
ROLLED_BACK = "rolled back"
ALREADY_LOADED = "was loaded"

IN_TRANSACTION = "transaction"
PLAIN = "plain"

# What the reader's process says when it has looked once in each way.
READY = "reading"


@dataclass(frozen=True)
class Step:
    """One transaction of the writer. `version` is the catalog's version that its commit made."""

    name: str
    outcome: str
    began: float
    ended: float
    attempts: int = 1
    transaction: str | None = None
    base_version: int | None = None
    version: int | None = None
    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """How long it took, all attempts together."""
        return self.ended - self.began

    def as_json(self) -> dict[str, Any]:
        """For the summary's file."""
        shown = {key: value for key, value in vars(self).items() if key not in ("began", "ended")}
        return shown | {"seconds": round(self.seconds, 3)}


@dataclass(frozen=True)
class Observation:
    """One look at the four tables: what was counted, and what the audit log said."""

    way: str
    began: float
    ended: float
    counted: dict[str, int]
    audited: dict[str, int]

    @property
    def agrees(self) -> bool:
        """Whether the four tables fit together."""
        return self.counted == self.audited


def load_observations(path: Path) -> list[Observation]:
    """What a reader wrote down."""
    return [Observation(**json.loads(line)) for line in path.read_text().splitlines()]
