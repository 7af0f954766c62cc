"""Parts of RESULTS.md that its sections share."""

from __future__ import annotations

from collections.abc import Sequence

from perf.bench import Result


def measured(result: Result, quick_note: str = " **A quick run: it shows that the benchmark works, not how fast Treeline is.**") -> str:
    """When a section's figures were measured."""
    note = quick_note if result["quick"] else ""
    return f"Measured {result['at']}, in {result['took_s']} s; load average before: {result['load_before']}.{note}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def verdict(good: bool) -> str:
    return "yes" if good else "**no**"
