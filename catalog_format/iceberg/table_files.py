"""Which files belong to a table: read from its metadata, manifest lists and manifests, of format versions 1 to 3."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from catalog_format.errors import CorruptFileError, InvalidArgumentError, MissingFileError, StoreUnavailableError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.manifests import live_files_in, manifests_in
from catalog_format.iceberg.metadata import decode_metadata
from catalog_format.iceberg.metadata.json_fields import JsonObject, as_object, get_string, get_string_or_none
from catalog_format.iceberg.metadata.table_fields import list_of, properties_of
from catalog_format.iceberg.metadata_state import METADATA_PATH_PROPERTY
from catalog_format.storage import Storage


class FileRole(IntEnum):
    """What a file is to a table, in the order in which a table's files may go: what names others outlives them."""

    CONTENT = 0
    """A data file, delete file or puffin file of deletion vectors."""
    STATISTICS = 1
    """Statistics, also those of partitions."""
    MANIFEST = 2
    MANIFEST_LIST = 3
    OLD_METADATA = 4
    """A metadata file of the metadata log. What it names alone belongs to the table no more."""
    METADATA = 5


class TableFile(NamedTuple):
    """A file, as another one names it."""

    role: FileRole
    location: str
    length: int | None = None
    """In bytes, of manifests whose list says it."""
    names_nothing: bool = False
    """Known without reading it."""


NAMING_ROLES = frozenset({FileRole.MANIFEST, FileRole.MANIFEST_LIST, FileRole.METADATA})
"""Roles of the files that have to be read for what they name."""


class TableFileReader:
    """Reads table files, each in one request; what takes CPU is done in a thread."""

    def __init__(self, place: Callable[[str], tuple[Storage, str]]) -> None:
        """`place` finds the store of a location, and the path there; it may raise `InvalidArgumentError`."""
        self._place = place

    async def metadata(self, location: str) -> JsonObject:
        """A table's metadata, past all caches. Raises `MissingFileError`, `CorruptFileError`, and what stores raise."""
        data = await read_table_file(self._place, location)
        try:
            return await asyncio.to_thread(decode_metadata, data, location)
        except InvalidArgumentError as error:
            raise CorruptFileError(error.message) from error

    async def named_by(self, file: TableFile) -> list[TableFile]:
        """The files that a file names, once each; [] for one of no naming role.

        Raises `MissingFileError`, `CorruptFileError` (an encrypted manifest is one that cannot be read, too), and what stores raise.
        """
        if file.names_nothing or file.role not in NAMING_ROLES:
            return []
        if file.role is FileRole.METADATA:
            return files_of(await self.metadata(file.location))
        data = await read_table_file(self._place, file.location)
        if file.role is FileRole.MANIFEST_LIST:
            listed = await asyncio.to_thread(manifests_in, data, file.location)
            return [TableFile(FileRole.MANIFEST, manifest.location, manifest.length, manifest.is_empty) for manifest in listed]
        live = await asyncio.to_thread(live_files_in, data, file.location, file.length)
        return [TableFile(FileRole.CONTENT, location) for location in live]


async def read_table_file(place: Callable[[str], tuple[Storage, str]], location: str) -> bytes:
    """A file that a table names, wherever it lies. Raises `MissingFileError`, `CorruptFileError`, and what stores raise."""
    try:
        storage, path = place(location)
        return await storage.get(path)
    except InvalidArgumentError as error:
        raise CorruptFileError(error.message) from error
    except FileNotFoundError:
        raise MissingFileError(f"File is missing: {location}") from None
    except OSError as error:
        if isinstance(error, IsADirectoryError | NotADirectoryError) or error.errno in {errno.ELOOP, errno.ENAMETOOLONG}:
            raise CorruptFileError(f"{location} is no file: {error}") from error
        raise StoreUnavailableError(f"{location} could not be read: {error}") from error


def files_of(metadata: JsonObject) -> list[TableFile]:
    """Pure: the files that a table's metadata name, once each, without those that manifests and their lists name in turn.

    Snapshots of version 1 may name their manifests themselves. Raises `CorruptFileError` for metadata that are none.
    """
    try:
        found = dict[TableFile, None]()
        for snapshot in list_of(metadata, "snapshots"):
            manifest_list = get_string_or_none(as_object(snapshot, "snapshot"), "manifest-list")
            if manifest_list is not None:
                found[TableFile(FileRole.MANIFEST_LIST, manifest_list)] = None
            else:
                found.update(dict.fromkeys(TableFile(FileRole.MANIFEST, str(location)) for location in list_of(snapshot, "manifests")))
        for key in ("statistics", "partition-statistics"):
            for statistics in list_of(metadata, key):
                found[TableFile(FileRole.STATISTICS, get_string(as_object(statistics, key), "statistics-path"))] = None
        for entry in list_of(metadata, "metadata-log"):
            found[TableFile(FileRole.OLD_METADATA, get_string(as_object(entry, "metadata-log"), "metadata-file"))] = None
    except InvalidArgumentError as error:
        raise CorruptFileError(f"These are no table's metadata: {error.message}") from error
    return list(found)


def owns_content(metadata: JsonObject) -> bool:
    """Whether a purge may delete the table's data and delete files: only if `gc.enabled` is true or absent, as others share them else.

    As in Iceberg Java's `CatalogUtil.dropTableData` and `PropertyUtil.propertyAsBoolean`, to which every value but "true" (in any case)
    is false; Spark's `snapshot` procedure makes such tables.
    """
    try:
        return properties_of(metadata).get("gc.enabled", "true").lower() == "true"
    except InvalidArgumentError as error:
        raise CorruptFileError(f"These are no table's metadata: {error.message}") from error


def is_copied(metadata: JsonObject, location: str, locations: Locations) -> bool:
    """Whether a metadata file lies below the catalog's root and says that it belongs outside of it, with its table.

    So it was copied there with its catalog, or registered from a copy, and what it names belongs to somebody else.
    """
    if locations.below_root(location) is None:
        return False
    try:
        own = [get_string_or_none(metadata, "location"), properties_of(metadata).get(METADATA_PATH_PROPERTY)]
    except InvalidArgumentError as error:
        raise CorruptFileError(f"These are no table's metadata: {error.message}") from error
    told = [folder for folder in own if folder is not None]
    return bool(told) and all(locations.below_root(folder) is None for folder in told)


def copied_in_words(metadata: JsonObject, location: str) -> str:
    """What to tell of such a file."""
    return (
        f"Metadata file {location} was copied here with its catalog: it says that its table lies in {metadata.get('location')}, so the "
        f"files are those of the original. Purge it there; here, drop it without purge"
    )
