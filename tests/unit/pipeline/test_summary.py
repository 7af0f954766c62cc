"""The summary of a run, from what was written down about it."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.history import ALREADY_LOADED, COMMITTED, ROLLED_BACK, Observation, Step, load_observations
from pipeline.summary import Summary

TABLES = {"flights": 958, "weather": 72, "daily_delays": 15, "audit_log": 4}
MORE = {name: rows * 2 for name, rows in TABLES.items()}


@pytest.fixture
def summary() -> Summary:
    return Summary(
        uri="http://127.0.0.1:1",
        warehouse=None,
        preparation=[Step("reference tables", COMMITTED, 0.0, 4.0, 1, "a", 1, 2, {"airlines": 16})],
        days=[
            Step("2013-03-01", COMMITTED, 5.0, 9.5, 2, "b", 2, 4, dict(TABLES)),
            Step("2013-03-02", ROLLED_BACK, 10.0, 12.0, 1, "c", 4, None, {}, ["1 flight(s) more than once"]),
            Step("2013-03-03", ALREADY_LOADED, 12.0, 12.0),
        ],
        observations=[
            Observation("transaction", 1.0, 2.0, dict(TABLES), dict(TABLES)),
            Observation("plain", 2.0, 3.0, dict(TABLES), MORE),
            Observation("plain", 3.0, 4.0, MORE, MORE),
        ],
        seconds=12.34,
    )


def test_json_says_everything(summary: Summary) -> None:
    told = json.loads(json.dumps(summary.as_json()))
    assert told["transactions"] == {"committed": 2, "rolled back": 1}
    assert told["versions"] == {"before": 1, "after": 4}
    assert told["reader"] == {"transaction": {"looks": 1, "skewed": 0}, "plain": {"looks": 2, "skewed": 1}}
    assert told["days"][0] == {
        "name": "2013-03-01",
        "outcome": "committed",
        "attempts": 2,
        "transaction": "b",
        "base_version": 2,
        "version": 4,
        "rows": TABLES,
        "problems": [],
        "seconds": 4.5,
    }
    assert told["days"][1]["problems"] == ["1 flight(s) more than once"]


def test_the_table_shows_each_day_and_why_one_was_rolled_back(summary: Summary) -> None:
    console = Console(width=120, file=io.StringIO())
    with console.capture() as captured:
        console.print(summary.render())
    shown = captured.get()
    assert "2013-03-01" in shown
    assert "1 flight(s) more than once" in shown
    assert "inside a read transaction" in shown
    assert "3 days, 2 transactions committed, catalog version 1 to 4, 12 s" in shown


def test_a_catalog_that_tells_no_versions_is_no_error() -> None:
    summary = Summary("http://127.0.0.1:1", None, [Step("x", COMMITTED, 0.0, 1.0)], [], [], 1.0)
    assert summary.as_json()["versions"] == {"before": None, "after": None}


def test_observations_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    line = {"way": "plain", "began": 1.0, "ended": 2.0, "counted": TABLES, "audited": MORE}
    (tmp_path / "seen").write_text(json.dumps(line) + "\n")
    assert load_observations(tmp_path / "seen") == [Observation("plain", 1.0, 2.0, TABLES, MORE)]
    assert not load_observations(tmp_path / "seen")[0].agrees
