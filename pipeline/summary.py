"""The summary of a run: a table to read and JSON to keep."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from pipeline.history import COMMITTED, IN_TRANSACTION, PLAIN, ROLLED_BACK, Observation, Step


@dataclass(frozen=True)
class Summary:
    """Everything that a run can say about itself."""

    uri: str
    warehouse: str | None
    preparation: Sequence[Step]
    days: Sequence[Step]
    observations: Sequence[Observation]
    seconds: float
    files: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> list[Step]:
        """All transactions of the writer."""
        return [*self.preparation, *self.days]

    @property
    def version_range(self) -> tuple[int | None, int | None]:
        """The catalog's version before the first transaction of the writer and after the last one that committed."""
        first = [step.base_version for step in self.steps if step.base_version is not None]
        last = [step.version for step in self.steps if step.version is not None]
        return (min(first) if first else None), (max(last) if last else None)

    def looks(self, way: str) -> tuple[int, int]:
        """How often the reader looked in this way, and how often the tables did not fit together."""
        seen = [observation for observation in self.observations if observation.way == way]
        return len(seen), sum(1 for observation in seen if not observation.agrees)

    def as_json(self) -> dict[str, Any]:
        """For `summary.json`."""
        before, after = self.version_range
        return {
            "uri": self.uri,
            "warehouse": self.warehouse,
            "seconds": round(self.seconds, 3),
            "transactions": {outcome: sum(1 for step in self.steps if step.outcome == outcome) for outcome in (COMMITTED, ROLLED_BACK)},
            "versions": {"before": before, "after": after},
            "preparation": [step.as_json() for step in self.preparation],
            "days": [step.as_json() for step in self.days],
            "reader": {way: dict(zip(("looks", "skewed"), self.looks(way), strict=True)) for way in (IN_TRANSACTION, PLAIN)},
            "files": self.files,
        }

    def render(self) -> Group:
        """For the terminal."""
        failed = [Text(f"{step.name} was rolled back: {'; '.join(step.problems)}", style="red") for step in self.steps if step.problems]
        return Group(self._transactions(), *failed, Text(), self._reader(), Text(), Text(self._totals()))

    def _transactions(self) -> Table:
        table = Table(title="Transactions", title_justify="left", box=None, pad_edge=False)
        for column in ("", "outcome", "flights", "weather", "delays", "version", "tries", "seconds"):
            table.add_column(column, justify="left" if column in ("", "outcome") else "right", no_wrap=True)
        for step in self.steps:
            style = "red" if step.outcome == ROLLED_BACK else ""
            cells = [str(step.rows.get(name, "")) for name in ("flights", "weather", "daily_delays")]
            version = str(step.version) if step.version is not None else ""
            table.add_row(step.name, step.outcome, *cells, version, str(step.attempts), f"{step.seconds:.1f}", style=style)
        return table

    def _reader(self) -> Table:
        table = Table(title="What the reader saw meanwhile", title_justify="left", box=None, pad_edge=False)
        for column in ("", "looks", "tables and audit log differ"):
            table.add_column(column, justify="left" if not column else "right")
        for way, name in ((IN_TRANSACTION, "inside a read transaction"), (PLAIN, "one table after the other")):
            looks, skewed = self.looks(way)
            table.add_row(name, str(looks), Text(str(skewed), style="yellow" if skewed else ""))
        return table

    def _totals(self) -> str:
        before, after = self.version_range
        committed = sum(1 for step in self.steps if step.outcome == COMMITTED)
        versions = f", catalog version {before} to {after}" if after is not None else ""
        return f"{len(self.days)} days, {committed} transactions committed{versions}, {self.seconds:.0f} s"
