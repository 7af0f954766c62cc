"""What a mutant is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from catalog_format.iceberg.metadata_files import MetadataFiles

# Signs that several mutants share.
DELETED = r"was deleted(?: after version \d+)?, and"
UNPURGED = r"is left, and its table was dropped with purge"
MISREAD = r"not so in the state before its place in the serial order"
DIFFERENT = r"version \d+: .* should be .* and is"
JUDGED_TWICE = r"was judged \d times"


@dataclass(frozen=True)
class Mutant:
    """`enter` switches the protection off; `seed` is known to show it.

    `sign` is a pattern of what is complained of then, in the words of an oracle: a mutant that fails by itself shows nothing.
    """

    name: str
    what: str
    enter: Callable[[], AbstractContextManager[None]]
    seed: int
    sign: str

    def sign_in(self, complaints: Iterable[str]) -> str | None:
        """The first complaint that bears the sign."""
        return next((complaint for complaint in complaints if re.search(self.sign, complaint)), None)


@contextmanager
def replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, original)


def without_comparing_files() -> AbstractContextManager[None]:
    """Who finds a metadata file or a manifest under a name takes it for the one that was to be written."""

    async def put(self: MetadataFiles, location: str, data: bytes) -> None:
        storage, path = self.place(self._locations.check(location))
        await storage.put_if_absent(path, data)

    return replaced(MetadataFiles, "put", put)
