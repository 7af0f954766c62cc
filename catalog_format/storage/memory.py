"""A store in memory: for tests, simulation and embedded throw-away catalogs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from catalog_format.storage.names import check_folder, check_path
from catalog_format.storage.protocol import Page


class MemoryStorage:
    """Files in a dict. Every verb yields to the event loop once before it acts, as a request to a real store would."""

    def __init__(self, name: str = "memory") -> None:
        self._url = f"memory://{name}"
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return self._url

    @property
    def is_remote(self) -> bool:
        return True

    async def get(self, path: str) -> bytes:
        check_path(path)
        await asyncio.sleep(0)
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(f"{self._url}/{path}") from None

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        check_path(path)
        await asyncio.sleep(0)
        if path in self._files:
            return False
        self._files[path] = bytes(data)
        return True

    async def replace(self, path: str, data: bytes) -> None:
        check_path(path)
        await asyncio.sleep(0)
        self._files[path] = bytes(data)

    async def list(self, prefix: str) -> list[str]:
        check_folder(prefix)
        await asyncio.sleep(0)
        below = prefix and f"{prefix}/"
        return sorted(path for path in self._files if path.startswith(below))

    async def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        yield await self.list(prefix)

    async def delete(self, path: str) -> None:
        check_path(path)
        await asyncio.sleep(0)
        self._files.pop(path, None)

    async def exists(self, path: str) -> bool:
        check_path(path)
        await asyncio.sleep(0)
        return path in self._files

    async def clock_ms(self) -> int | None:
        """None: it has no clock but its user's."""
        return None

    async def close(self) -> None:
        """Nothing to release; the files stay for whoever holds this object."""
