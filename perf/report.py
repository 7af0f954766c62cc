"""RESULTS.md from the figures."""

from __future__ import annotations

from pathlib import Path

from perf.bench import Result


def write(folder: Path, results: Result) -> None:
    """stub"""
