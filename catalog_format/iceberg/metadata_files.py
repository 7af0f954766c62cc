"""Metadata files of tables and views: reading, writing and caching them. A location is immutable, so nothing is invalidated."""

from __future__ import annotations

import re
from typing import Any

from cachetools import LRUCache

from catalog_format.errors import AlreadyExistsError, InvalidArgumentError, MissingFileError, StoreUnavailableError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import encode_metadata, metadata_file_extension, metadata_json, parse_metadata
from catalog_format.kinds import Upload
from catalog_format.storage import Storage, StorageResolver
from catalog_format.storage.names import check_path

Json = dict[str, Any]

BYTES_CACHE = 16 * 1024 * 1024
PARSED_CACHE = 8 * 1024 * 1024
"""In bytes of the files; their parsed forms take three to five times as much."""
_SEQUENCE = re.compile(r"(\d+)-")
_OWN_NAME = re.compile(r"\d{5,}-[0-9a-f]{32}(?:-dtxn_(?P<transaction>[A-Za-z0-9_.-]+?))?(?:\.gz)?\.metadata\.json(?:\.gz)?")


class MetadataFiles:
    """The metadata files of one catalog, wherever they lie."""

    def __init__(self, storage: Storage, locations: Locations, resolver: StorageResolver) -> None:
        self._storage = storage
        self.are_remote = storage.is_remote
        """Whether asking for a file in the catalog's own store means waiting for somebody else."""
        self._locations = locations
        self._resolver = resolver
        self._bytes: LRUCache[str, bytes] = LRUCache(BYTES_CACHE, getsizeof=len)
        self._parsed: LRUCache[str, tuple[Json, int]] = LRUCache(PARSED_CACHE, getsizeof=lambda entry: entry[1])

    def cached(self, location: str) -> bytes | None:
        """The file's JSON if it is in the cache."""
        return self._bytes.get(location)

    async def read_anew(self, location: str) -> bytes:
        """As `read`, but it notices that a file in the cache is gone from the store."""
        cached = self.cached(location)
        if cached is None:
            return await self.read(location)
        if not await self.exists(location):
            raise missing_file(location)
        return cached

    async def read(self, location: str) -> bytes:
        """The file's JSON, decompressed. Raises `MissingFileError`, `CorruptFileError`."""
        cached = self.cached(location)
        if cached is not None:
            return cached
        storage, path = self.place(location)
        try:
            data = metadata_json(await storage.get(path), location)
        except FileNotFoundError:
            raise missing_file(location) from None
        except OSError as error:
            raise StoreUnavailableError(f"Metadata file {location} could not be read: {error}") from error
        self._remember(location, data)
        return data

    async def parse(self, location: str) -> Json:
        """The file as raw JSON; shared, so never to be changed. Raises as `read`."""
        cached = self._parsed.get(location)
        if cached is not None:
            return cached[0]
        data = await self.read(location)
        metadata = parse_metadata(data, location)
        if len(data) <= PARSED_CACHE:
            self._parsed[location] = (metadata, len(data))
        return metadata

    async def exists(self, location: str) -> bool:
        storage, path = self.place(location)
        try:
            return await storage.exists(path)
        except OSError as error:
            raise StoreUnavailableError(f"Metadata file {location} could not be looked up: {error}") from error

    async def write(self, metadata: Json, folder: str, previous: str | None, upload: Upload, default_codec: str = "none") -> str:
        """Write metadata under a new name in `folder` and give its location.

        The name has Java's form, `<sequence>-<id>.metadata.json`; the id is the attempt's, so two attempts never share one.
        """
        sequence = _sequence_of(previous) + 1 if previous else 0
        owner = f"-dtxn_{upload.transaction_id}" if upload.transaction_id else ""
        extension = metadata_file_extension(metadata.get("properties", {}), default_codec)
        location = f"{folder.rstrip('/')}/{sequence:05d}-{upload.attempt_id}{owner}{extension}"
        data = encode_metadata(metadata, location)
        await self.put(location, data)
        plain = metadata_json(data, location)
        self._remember(location, plain)
        if len(plain) <= PARSED_CACHE:
            self._parsed[location] = (metadata, len(plain))
        return location

    async def put(self, location: str, data: bytes) -> None:
        """Write a file of a table or view; one that holds the same bytes already is left. Raises `AlreadyExistsError` for another."""
        storage, path = self.place(self._locations.check(location))
        if not await storage.put_if_absent(path, data) and await storage.get(path) != data:
            raise AlreadyExistsError(f"File already exists: {location}")

    def _remember(self, location: str, data: bytes) -> None:
        if len(data) <= BYTES_CACHE:
            self._bytes[location] = data

    def place(self, location: str) -> tuple[Storage, str]:
        """(store, path below its root) of a file of a table or view. Raises `InvalidArgumentError` if the location names none."""
        path = self._locations.below_root(location)
        if path is None:
            return self._resolver.resolve(location)
        try:
            return self._storage, check_path(path)
        except ValueError as error:
            raise InvalidArgumentError(f"{location!r} names no file: {error}") from None


def missing_file(location: str) -> MissingFileError:
    """The error for a metadata file that the catalog names and the store does not have."""
    return MissingFileError(f"Failed to open input stream for file: {location}")


def _sequence_of(location: str) -> int:
    match = _SEQUENCE.match(location.rsplit("/", 1)[-1])
    return int(match.group(1)) if match else 0


def is_own_file(path: str) -> bool:
    """Whether a file has a name that only `MetadataFiles.write` gives: other writers put a UUID where the attempt id stands."""
    return _OWN_NAME.fullmatch(path.rpartition("/")[2]) is not None


def transactions_of(path: str) -> tuple[str, ...]:
    """The distributed transactions that a metadata file may have been written for, as its name says: `x.gz` may be `x`, compressed."""
    match = _OWN_NAME.fullmatch(path.rpartition("/")[2])
    transaction = match["transaction"] if match else None
    return () if transaction is None else (transaction, f"{transaction}.gz")
