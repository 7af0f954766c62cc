"""The pictures are drawn for the shapes of run that there are."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from pipeline.history import COMMITTED, ROLLED_BACK, Observation, Step

# Matplotlib comes with Spark's environment.
pytestmark = pytest.mark.spark

PNG = b"\x89PNG"
TABLES = {"flights": 1}


@pytest.mark.parametrize("count", [1, 3, 20])
def test_delays(tmp_path: Path, count: int) -> None:
    from pipeline.plots import plot_delays

    days = [date(2013, 3, 1) + timedelta(days=number) for number in range(count)]
    rows = [
        {"day": day, "carrier": carrier, "flights": 9, "cancelled": 9 - number, "mean_dep_delay": 10.0 * number if number else None}
        for day in days
        for number, carrier in enumerate(("UA", "AA"))
    ]
    plot_delays(rows, {"UA": "United"}, [date(2013, 2, 28)], tmp_path / "delays.png")
    assert (tmp_path / "delays.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("count", [0, 2, 20])
def test_versions(tmp_path: Path, count: int) -> None:
    from pipeline.plots import plot_catalog

    steps = [Step(f"day {number}", COMMITTED, number, number + 0.9, 1, "x", number + 1, number + 2) for number in range(count)]
    steps.append(Step("bad", ROLLED_BACK, count, count + 0.5, base_version=count + 1, problems=["a problem"]))
    seen = [Observation("plain", 0.5, 0.7, TABLES, {}), Observation("transaction", 0.7, 0.9, TABLES, TABLES)]
    plot_catalog(steps, seen, tmp_path / "catalog.png")
    assert (tmp_path / "catalog.png").read_bytes().startswith(PNG)
