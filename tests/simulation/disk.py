"""What is durable in the simulated world: one store's files, and what an observer outside of time knows of them."""

from __future__ import annotations

from bisect import bisect_right

from catalog_format import paths

URL = "memory://simulated"


class Disk:
    """The files. Only the store's own side of a request touches them; it notes which versions and states exist since when."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.archive: dict[str, bytes] = {}
        """The first bytes of every file that ever was, whatever was replaced or deleted since."""
        self.deletions: list[tuple[str, int]] = []
        """(path, latest version then) of every file that was deleted."""
        self._version_times: list[float] = []
        self._states: dict[str, int] = {}

    def get(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(f"{URL}/{path}") from None

    def put_if_absent(self, path: str, data: bytes, now: float) -> bool:
        if path in self.files:
            return False
        self.files[path] = data
        self.archive.setdefault(path, data)
        folder, _, name = path.partition("/")
        if folder == "vn" and len(name) == paths.VERSION_BITS:
            # Versions have no gaps, so the next one is the one that is put.
            self._version_times.append(now)
        elif folder == "dtxn":
            owner = name.partition("/")[0]
            self._states[owner] = self._states.get(owner, 0) + 1
        return True

    def replace(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def list(self, prefix: str) -> list[str]:
        below = prefix and f"{prefix}/"
        return sorted(path for path in self.files if path.startswith(below))

    def delete(self, path: str) -> None:
        if self.files.pop(path, None) is not None:
            self.deletions.append((path, self.latest))

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
