"""Reading manifest lists and manifests, those that are not written yet included, with a cache. Their locations are immutable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
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

BYTES_CACHE = 8 * 1024 * 1024
LIST_CACHE = 2 * 1024 * 1024
"""In bytes of the files; their decoded forms take about ten times as much."""
MANIFEST_CACHE = 512 * 1024
"""The same, but statistics of columns take forty times as much."""
_MOST_AT_ONCE = 16
_MOST_BYTES_AT_ONCE = 8 * 1024 * 1024
"""Of manifests that are read together: what Iceberg's writers make of one by default."""
_LARGE = 16 * 1024
"""In bytes: from here on decoding takes long enough to be done in a thread."""


class ManifestReader:
    """Reads each file in one request."""

    def __init__(self, place: Callable[[str], tuple[Storage, str]]) -> None:
        """`place` finds the store of a location, and the path there; it may raise `InvalidArgumentError`."""
        self._place = place
        self._bytes: LRUCache[str, bytes] = LRUCache(BYTES_CACHE, getsizeof=len)
        self._lists: LRUCache[str, tuple[tuple[ListedManifest, ...], int]] = LRUCache(LIST_CACHE, getsizeof=lambda entry: entry[1])
        self._manifests: LRUCache[tuple[str, bool], tuple[AvroRows, int]] = LRUCache(MANIFEST_CACHE, getsizeof=lambda entry: entry[1])
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
        if len(data) <= LIST_CACHE:
            self._lists[location] = (found, len(data))
        return found

    async def manifest(self, listed: ListedManifest) -> Manifest:
        """A manifest that a list names, whole. Raises as `manifest_list`."""
        return await self._manifest(listed, True)

    async def manifests(self, listed: Iterable[ListedManifest]) -> AsyncGenerator[Manifest, None]:
        """Several of them in order, without statistics. Some are read together, as many as may be held. Raises as `manifest_list`."""
        for turn in _turns(listed):
            for manifest in await asyncio.gather(*(self._manifest(one, False) for one in turn)):
                yield manifest

    async def look_ahead(self, locations: Iterable[str]) -> None:
        """Files that will be asked for, read together. Failing, it says nothing."""
        await asyncio.gather(*map(self._get, locations), return_exceptions=True)

    def add(self, file: NewFile) -> None:
        """One more file that is not in the store yet."""
        self._pending[file.location] = file.data

    def add_list(self, file: NewFile, listed: tuple[ListedManifest, ...]) -> None:
        """A manifest list that names these."""
        self.add(file)
        if len(file.data) <= LIST_CACHE:
            self._lists[file.location] = (listed, len(file.data))

    async def _manifest(self, listed: ListedManifest, whole: bool) -> Manifest:
        cached = self._manifests.get((listed.path, whole))
        if cached is not None:
            return Manifest(listed, cached[0])
        data = await self._get(listed.path)
        found = await _decoded(len(data), partial(decode_manifest, data, listed, whole=whole))
        if len(data) <= MANIFEST_CACHE:
            self._manifests[listed.path, whole] = (found.file, len(data))
        return found

    async def _get(self, location: str) -> bytes:
        known = self._pending.get(location) or self._bytes.get(location)
        if known is not None:
            return known
        data = await read_table_file(self._place, location)
        if len(data) <= BYTES_CACHE:
            self._bytes[location] = data
        return data


def _turns(listed: Iterable[ListedManifest]) -> Iterator[list[ListedManifest]]:
    turn = list[ListedManifest]()
    for manifest in listed:
        if turn and (len(turn) == _MOST_AT_ONCE or sum(one.length for one in turn) + manifest.length > _MOST_BYTES_AT_ONCE):
            yield turn
            turn = []
        turn.append(manifest)
    if turn:
        yield turn


async def _decoded(size: int, decode: Callable[[], T]) -> T:
    return await asyncio.to_thread(decode) if size > _LARGE else decode()
