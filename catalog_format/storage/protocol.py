"""What the format asks of a store: six verbs, and what each may raise.

Paths are relative to the store's root, levels joined by "/", never starting with "/".

Every verb may raise, besides what it names:
- `StoreThrottledError`: the store asked for fewer requests and surely did nothing;
- `StoreDeniedError`: no permission; `StoreFullError`: no room (nothing was written);
- `OSError`: the request's fate is unknown (a reply may be lost after the store applied a write).

A store never retries a write by itself where it can be told not to; the committer reads back instead.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

Page = list[str]
"""Some of the paths of a listing."""


class Storage(Protocol):
    """A strongly consistent store of immutable files, seen from one root."""

    @property
    def url(self) -> str:
        """The root's URL without a trailing slash, such as `file:///warehouse` or `s3://bucket/prefix`."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether small reads wait for somebody else. Where they do not, nothing is gained by sending two at once."""
        ...

    async def get(self, path: str) -> bytes:
        """The whole file. Raises `FileNotFoundError`."""
        ...

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file, atomically and durably; True if this call created it, False if it already existed."""
        ...

    async def replace(self, path: str, data: bytes) -> None:
        """Create or overwrite the file; readers see the old bytes or the new, never a mixture (hints and stubs only)."""
        ...

    async def list(self, prefix: str) -> list[str]:
        """Paths of all files below the folder `prefix` (recursive), sorted; [] if there are none. "" lists all."""
        ...

    def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        """The same in some pages of any size, at least one, and in any order: for who need not hold all of them."""
        ...

    async def delete(self, path: str) -> None:
        """Remove the file; a file that is not there is no error."""
        ...

    async def exists(self, path: str) -> bool: ...

    async def clock_ms(self) -> int | None:
        """The store's wall time in milliseconds since the Unix epoch; None if it has none, or none that is cheap to ask for."""
        ...

    async def close(self) -> None:
        """Release connections; the store is not used afterwards."""
        ...
