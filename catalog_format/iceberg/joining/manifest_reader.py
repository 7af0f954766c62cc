"""Reading manifest lists and manifests, those that are not written yet included, with a cache. Their locations are immutable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import TypeVar

from cachetools import LRUCache

from catalog_format.iceberg.avro_rows import AvroRows
from catalog_format.iceberg.joining.manifest import Manifest, decode_manifest
from catalog_format.iceberg.joining.manifest_list import ListedManifest, decode_manifest_list
from catalog_format.iceberg.metadata_state import NewFile
from catalog_format.iceberg.table_files import read_table_file
from catalog_format.storage import Storage

T = TypeVar("T")

DECODED_CACHE = 2 * 1024 * 1024
"""In bytes of the files; their decoded forms take about ten times as much."""
_LARGE = 16 * 1024
"""In bytes: from here on decoding takes long enough to be done in a thread."""


class ManifestReader:
    """Reads each file in one request."""

    def __init__(self, place: Callable[[str], tuple[Storage, str]]) -> None:
        """`place` finds the store of a location, and the path there; it may raise `InvalidArgumentError`."""
        self._place = place
        self._lists: LRUCache[str, tuple[tuple[ListedManifest, ...], int]] = LRUCache(DECODED_CACHE, getsizeof=lambda entry: entry[1])
        self._manifests: LRUCache[str, tuple[AvroRows, int]] = LRUCache(DECODED_CACHE, getsizeof=lambda entry: entry[1])
        self._pending: dict[str, bytes] = {}

    def above(self, pending: Iterable[NewFile]) -> ManifestReader:
        """One with the same cache that sees these files as well, which are not in the store yet."""
        reader = copy(self)
        reader._pending = {file.location: file.data for file in pending}
        return reader

    async def manifest_list(self, location: str) -> tuple[ListedManifest, ...]:
        """The manifests of a list. Raises `MissingFileError`, `CorruptFileError`, and what stores raise."""
        cached = self._lists.get(location)
        if cached is not None:
            return cached[0]
        data = await self._get(location)
        found = await _decoded(len(data), partial(decode_manifest_list, data, location))
        if len(data) <= DECODED_CACHE:
            self._lists[location] = (found, len(data))
        return found

    async def manifest(self, listed: ListedManifest) -> Manifest:
        """A manifest that a list names. Raises as `manifest_list`."""
        cached = self._manifests.get(listed.path)
        if cached is not None:
            return Manifest(listed, cached[0])
        data = await self._get(listed.path)
        found = await _decoded(len(data), partial(decode_manifest, data, listed))
        if len(data) <= DECODED_CACHE:
            self._manifests[listed.path] = (found.file, len(data))
        return found

    async def manifests(self, listed: Iterable[ListedManifest]) -> list[Manifest]:
        """Several of them, read together. Raises as `manifest_list`."""
        return await asyncio.gather(*(self.manifest(one) for one in listed))

    def add(self, file: NewFile) -> None:
        """One more file that is not in the store yet."""
        self._pending[file.location] = file.data

    def add_list(self, file: NewFile, listed: tuple[ListedManifest, ...]) -> None:
        """A manifest list that names these."""
        self.add(file)
        if len(file.data) <= DECODED_CACHE:
            self._lists[file.location] = (listed, len(file.data))

    async def _get(self, location: str) -> bytes:
        pending = self._pending.get(location)
        return await read_table_file(self._place, location) if pending is None else pending


async def _decoded(size: int, decode: Callable[[], T]) -> T:
    return await asyncio.to_thread(decode) if size > _LARGE else decode()
