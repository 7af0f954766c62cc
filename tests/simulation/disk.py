"""What is durable in the simulated world: one store's files, and what an observer outside of time knows of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from catalog_format import paths
from catalog_format.errors import MissingFileError
from catalog_format.keys import Identifier

URL = "memory://simulated"


@dataclass(frozen=True)
class Undertaking:
    """What deletes, and what was there when it began."""

    version: int
    states: dict[str, int]
    table: Identifier | None = None
    """That is purged at once."""


UNDERTAKING: ContextVar[Undertaking | None] = ContextVar("UNDERTAKING", default=None)
"""That a request belongs to."""


@dataclass(frozen=True)
class Loss:
    """A file that was deleted or replaced, and what was there at that moment."""

    path: str
    version: int
    """The latest one."""
    states: dict[str, int]
    """For each transaction that had begun, the states of its log after the first."""
    undertaking: Undertaking | None = None


class Disk:
    """The files. Only the store's own side of a request touches them; it notes which versions and states exist since when."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.archive: dict[str, bytes] = {}
        """The first bytes of every file that ever was, whatever was replaced or deleted since."""
        self.deletions: list[Loss] = []
        self.stubs: list[Loss] = []
        """Roots that were replaced."""
        self.began: dict[str, int] = {}
        """The latest version when the first state of a transaction appeared."""
        self._version_times: list[float] = []
        self._states: dict[str, int] = {}

    def get(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(f"{URL}/{path}") from None

    def read(self, location: str) -> bytes:
        """What an engine reads; nothing ever happens to it on the way. Raises `MissingFileError`."""
        data = self.files.get(path_of(location))
        if data is None:
            raise MissingFileError(f"File is missing: {location}")
        return data

    def put_if_absent(self, path: str, data: bytes, now: float) -> bool:
        if path in self.files:
            return False
        self.files[path] = data
        self.archive.setdefault(path, data)
        folder, _, name = path.partition("/")
        if folder == "vn" and len(name) == paths.VERSION_BITS:
            # Versions have no gaps, so the next one is the one that is put.
            self._version_times.append(now)
        elif folder == paths.OPEN_TRANSACTIONS:
            self.began.setdefault(name, self.latest)
            self._states.setdefault(name, 0)
        elif folder == "dtxn":
            self._states[name.partition("/")[0]] += 1
        return True

    def replace(self, path: str, data: bytes) -> None:
        self.files[path] = data
        if path.startswith("vn/") and path != paths.LATEST_HINT:
            self.stubs.append(self._loss(path))

    def list(self, prefix: str) -> list[str]:
        below = prefix and f"{prefix}/"
        return sorted(path for path in self.files if path.startswith(below))

    def delete(self, path: str, undertaking: Undertaking | None) -> None:
        if self.files.pop(path, None) is not None:
            self.deletions.append(self._loss(path, undertaking))

    def write_all(self, files: Mapping[str, bytes], now: float) -> None:
        """What an engine writes, by location; nothing ever happens to it on the way."""
        for location, data in files.items():
            self.put_if_absent(path_of(location), data, now)

    def begin(self, table: Identifier | None = None) -> Undertaking:
        """Something that deletes begins now."""
        return Undertaking(self.latest, dict(self._states), table)

    @property
    def latest(self) -> int:
        """The newest version that exists; -1 if there is none."""
        return len(self._version_times) - 1

    def latest_at(self, time: float) -> int:
        """The newest version that existed at a virtual time."""
        return bisect_right(self._version_times, time) - 1

    def states_of(self, transaction_id: str) -> int:
        """States of a transaction's log after the first."""
        return self._states.get(transaction_id, 0)

    def _loss(self, path: str, undertaking: Undertaking | None = None) -> Loss:
        return Loss(path, self.latest, dict(self._states), undertaking)


def path_of(location: str) -> str:
    """Of a location, absolute or as definitions have it, below the root."""
    return location.removeprefix(f"{URL}/").removeprefix("./")


def short(path: str) -> str:
    """A path for people: versions and states as numbers, hashes cut."""
    head, _, name = path.rpartition("/")
    if len(name) == paths.VERSION_BITS and set(name) <= {"0", "1"}:
        return f"{head}/{paths.number_of(name)}"
    if head == "node" or head.startswith("def"):
        return f"{head}/{name[:8]}"
    if head.startswith("data"):
        return f"{head.removeprefix('data/')[:12]}…/{name.split('.')[0][:14]}"
    return path
