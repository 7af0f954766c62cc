"""Places: where a scope's operations read and write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from catalog_format.changes import Change, Committed
from catalog_format.scope import RequestContext


class PlaceReader(Protocol):
    """One unchanging state."""

    @property
    def version(self) -> int:
        """The version that is read (the base, in a transaction)."""
        ...

    async def definition(self, key: bytes) -> bytes | None: ...

    async def exists(self, key: bytes) -> bool: ...

    def scan(self, low: bytes, high: bytes, after: bytes | None = None) -> AsyncIterator[bytes]: ...


class Place(Protocol):
    """Latest version, past version, or transaction."""

    def reading(self, version: int | None = None) -> AbstractAsyncContextManager[PlaceReader]:
        """A confirmed state to read (with `version`, that one, where the place allows it).

        When the block ends, normally or not, what was read counts: in a serializable transaction it is durable then.
        """
        ...

    async def peek(self, key: bytes) -> bytes | None:
        """A definition as it probably is, without asking the store; None if that cannot be said."""
        ...

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        """All changes at once, or an error and none."""
        ...
