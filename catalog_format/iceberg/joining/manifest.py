"""Manifests: which files a snapshot added, kept and removed (Iceberg spec, "Manifests"; Java `ManifestReader`).

Fields are found by their ids; what this code does not know stays in a row as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from catalog_format.errors import CorruptFileError
from catalog_format.iceberg.avro_rows import AvroRows, Row, decode_rows
from catalog_format.iceberg.joining.manifest_list import DATA, ListedManifest

# Field ids of an entry.
STATUS, SNAPSHOT_ID, DATA_FILE, SEQUENCE_NUMBER, FILE_SEQUENCE_NUMBER = 0, 1, 2, 3, 4
# Field ids of the file within.
CONTENT, FILE_PATH, PARTITION, RECORD_COUNT = 134, 100, 102, 103
LOWER_BOUNDS, UPPER_BOUNDS, FIRST_ROW_ID, REFERENCED_DATA_FILE, CONTENT_OFFSET = 125, 128, 142, 143, 144
# Sizes, counts and bounds of columns, split offsets.
_STATISTICS: Final = frozenset({108, 109, 110, 111, 125, 128, 132, 137})
# The column of position deletes that holds the data file's path (a reserved id).
_DELETE_FILE_PATH_COLUMN: Final = 2147483546


class Status(IntEnum):
    """Of an entry."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


class Content(IntEnum):
    """Of a file."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class Partition(NamedTuple):
    """Where a file lies; partitions of two specs are never the same."""

    spec_id: int
    values: tuple[Any, ...]

    @property
    def is_everything(self) -> bool:
        """Whether it may be that of an unpartitioned spec, whose fields, if it has any, are all void."""
        return all(value is None for value in self.values)

    def __str__(self) -> str:
        return f"partition {self.values} of spec {self.spec_id}" if self.values else "the unpartitioned table"


class FileId(NamedTuple):
    """What tells files apart: deletion vectors share a puffin file."""

    path: str
    offset: int | None = None

    def __str__(self) -> str:
        return self.path if self.offset is None else f"{self.path} (deletion vector at {self.offset})"


@dataclass(frozen=True, slots=True)
class ContentFile:
    """A data or delete file, as an entry names it."""

    id: FileId
    content: Content
    partition: Partition
    referenced: str | None
    """The one data file that a position delete file or deletion vector is about, if it says so."""
    path_bounds: tuple[bytes, bytes] | None
    """The paths of the data files that a position delete file is about lie between these."""
    data_sequence_number: int | None
    """As written in the entry; None if it is inherited."""

    @property
    def is_vector(self) -> bool:
        return self.content is Content.POSITION_DELETES and self.id.offset is not None

    def may_delete_from(self, data_file: ContentFile) -> bool:
        """Whether this position delete file may be about a data file."""
        if self.referenced is not None:
            return self.referenced == data_file.id.path
        if self.partition != data_file.partition:
            return False
        return self.path_bounds is None or self.path_bounds[0] <= data_file.id.path.encode() <= self.path_bounds[1]


class Entry(NamedTuple):
    """One row of a manifest."""

    status: Status
    snapshot_id: int
    """Inherited where the row has none."""
    file: ContentFile
    row: Row


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a manifest's fields by their ids: of the entry, and of the file within it."""

    entry: Mapping[int, str]
    file: Mapping[int, str]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Names:
        fields = schema["fields"]
        within = next(field["type"]["fields"] for field in fields if field.get("field-id") == DATA_FILE)
        return cls(_by_id(fields), _by_id(within))


@dataclass(frozen=True, eq=False)
class Manifest:
    """A manifest, and what its list says of it; shared, so never to be changed."""

    listed: ListedManifest
    file: AvroRows

    @cached_property
    def names(self) -> Names:
        """Raises `CorruptFileError`."""
        try:
            return Names.of(self.file.schema)
        except (KeyError, TypeError, StopIteration) as error:
            raise CorruptFileError(f"{self.listed.path} is no manifest of Iceberg's: its rows name no files") from error

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """In the order of the file. Raises `CorruptFileError` if a field is missing."""
        names = self.names
        try:
            return tuple(_entry(row, names, self.listed) for row in self.file.rows)
        except (KeyError, ValueError, TypeError) as error:
            raise CorruptFileError(f"{self.listed.path} is no manifest of Iceberg's: {error!r}") from error

    def live(self) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.status is not Status.DELETED)


def decode_manifest(data: bytes, listed: ListedManifest, *, whole: bool = True) -> Manifest:
    """If not `whole`, without the statistics of data files, which are most of it: for who looks, and writes nothing.

    Raises `CorruptFileError`, also if the manifest is not as long as its list says.
    """
    if len(data) != listed.length:
        raise CorruptFileError(f"Manifest {listed.path} has {len(data)} bytes instead of {listed.length}: restore it")
    return Manifest(listed, decode_rows(data, listed.path, () if whole or listed.content != DATA else _STATISTICS))


def _by_id(fields: list[dict[str, Any]]) -> dict[int, str]:
    return {field["field-id"]: field["name"] for field in fields if "field-id" in field}


def _entry(row: Row, names: Names, listed: ListedManifest) -> Entry:
    file = row[names.entry[DATA_FILE]]

    def value(field_id: int) -> Any:
        name = names.file.get(field_id)
        return None if name is None else file[name]

    snapshot_id = row[names.entry[SNAPSHOT_ID]]
    sequence = names.entry.get(SEQUENCE_NUMBER)
    content = Content(value(CONTENT) or 0)
    bounds = _path_bounds(value(LOWER_BOUNDS), value(UPPER_BOUNDS)) if content is Content.POSITION_DELETES else None
    referenced = value(REFERENCED_DATA_FILE)
    if referenced is not None:
        bounds = (referenced.encode(), referenced.encode())
    if referenced is None and bounds is not None and bounds[0] == bounds[1]:
        referenced = bounds[0].decode()
    found = ContentFile(
        FileId(file[names.file[FILE_PATH]], value(CONTENT_OFFSET)),
        content,
        Partition(listed.spec_id, tuple(_comparable(value) for value in file[names.file[PARTITION]].values())),
        referenced,
        bounds,
        None if sequence is None else row[sequence],
    )
    return Entry(Status(row[names.entry[STATUS]]), listed.snapshot_id if snapshot_id is None else snapshot_id, found, row)


def _comparable(value: Any) -> Any:
    """A partition value that equals itself: not-a-number does not."""
    return "NaN" if value != value else value  # noqa: PLR0124


def _path_bounds(lower: list[dict[str, Any]] | None, upper: list[dict[str, Any]] | None) -> tuple[bytes, bytes] | None:
    low, high = ({pair["key"]: pair["value"] for pair in bounds or ()}.get(_DELETE_FILE_PATH_COLUMN) for bounds in (lower, upper))
    return None if low is None or high is None else (low, high)
