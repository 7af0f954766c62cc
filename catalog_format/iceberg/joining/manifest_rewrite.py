"""Manifests written anew: rows keep all their fields, and only what a join changes is changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from catalog_format.iceberg.avro_rows import Row, encode_rows
from catalog_format.iceberg.joining.manifest import (
    CONTENT,
    DATA_FILE,
    FILE_SEQUENCE_NUMBER,
    FIRST_ROW_ID,
    RECORD_COUNT,
    SEQUENCE_NUMBER,
    SNAPSHOT_ID,
    STATUS,
    Entry,
    FileId,
    Manifest,
    Names,
    Status,
)
from catalog_format.iceberg.joining.manifest_list import DELETES, ListedManifest
from catalog_format.iceberg.metadata.table_fields import MIN_FORMAT_VERSION_ROW_LINEAGE
from catalog_format.iceberg.metadata_state import NewFile

_OPTIONAL_LONG: Final[dict[str, Any]] = {"type": ["null", "long"], "default": None}
# What rows that say everything themselves need, and manifests of older formats lack.
_ENTRY_FIELDS: Final = (
    {"name": "sequence_number", **_OPTIONAL_LONG, "field-id": SEQUENCE_NUMBER},
    {"name": "file_sequence_number", **_OPTIONAL_LONG, "field-id": FILE_SEQUENCE_NUMBER},
)
_CONTENT_FIELD: Final = {"name": "content", "type": "int", "default": 0, "field-id": CONTENT}
_FIRST_ROW_ID_FIELD: Final = {"name": "first_row_id", **_OPTIONAL_LONG, "field-id": FIRST_ROW_ID}


class Numbers(NamedTuple):
    """What the commit of its snapshot gave a file: sequence numbers (0 in format 1), and the id of its first row (from format 3 on)."""

    data: int
    file: int
    first_row_id: int | None


class Rewritten(NamedTuple):
    """A manifest made anew. Its numbers are those of a snapshot that is being made, and given by the list that it goes into."""

    file: NewFile
    listed: ListedManifest


class _Draft:
    """Rows for a manifest like another one, in the fields that a format version needs."""

    def __init__(self, manifest: Manifest, format_version: int) -> None:
        self._manifest = manifest
        self._version = format_version
        self._schema = _widened(manifest.file.schema, format_version)
        self._names = Names.of(self._schema)
        self._rows: list[tuple[Status, Row]] = []

    def add(self, entry: Entry, status: Status, snapshot_id: int, numbers: Numbers | None) -> None:
        """Take an entry over. Without `numbers` it keeps what it says, and inherits what it does not."""
        names = self._names
        row: Row = dict.fromkeys(names.entry.values()) | entry.row
        file: Row = dict.fromkeys(names.file.values()) | row[names.entry[DATA_FILE]]
        content = names.file.get(CONTENT)
        if content is not None and file[content] is None:
            file[content] = 0
        row |= {names.entry[STATUS]: status.value, names.entry[SNAPSHOT_ID]: snapshot_id, names.entry[DATA_FILE]: file}
        if numbers is not None:
            _put(row, names.entry, SEQUENCE_NUMBER, numbers.data)
            _put(row, names.entry, FILE_SEQUENCE_NUMBER, numbers.file)
            _put(file, names.file, FIRST_ROW_ID, numbers.first_row_id)
        self._rows.append((status, row))

    def finish(self, location: str, snapshot_id: int, sequence_number: int) -> Rewritten:
        """The manifest as that snapshot adds it."""
        listed = self._manifest.listed
        metadata = {key: value for key, value in self._manifest.file.metadata.items() if key != "iceberg.schema"}
        metadata |= {"format-version": str(self._version), "partition-spec-id": str(listed.spec_id)}
        if self._version > 1:
            metadata["content"] = "deletes" if listed.content == DELETES else "data"
        data = encode_rows(self._schema, metadata, (row for _, row in self._rows), location)
        counts, rows = dict.fromkeys(Status, 0), dict.fromkeys(Status, 0)
        lowest = sequence_number
        for status, row in self._rows:
            counts[status] += 1
            rows[status] += row[self._names.entry[DATA_FILE]][self._names.file[RECORD_COUNT]]
            explicit = row.get(self._names.entry.get(SEQUENCE_NUMBER, ""))
            if status is not Status.DELETED and explicit is not None:
                lowest = min(lowest, explicit)
        made = listed._replace(
            path=location,
            length=len(data),
            sequence_number=sequence_number,
            min_sequence_number=lowest,
            snapshot_id=snapshot_id,
            added_files=counts[Status.ADDED],
            existing_files=counts[Status.EXISTING],
            deleted_files=counts[Status.DELETED],
            added_rows=rows[Status.ADDED],
            existing_rows=rows[Status.EXISTING],
            deleted_rows=rows[Status.DELETED],
            first_row_id=None,
        )
        return Rewritten(NewFile(location, data), made)


class Target(NamedTuple):
    """The snapshot that manifests are written for."""

    snapshot_id: int
    sequence_number: int
    format_version: int


def numbers_in(manifest: Manifest) -> dict[FileId, Numbers]:
    """What a committed manifest's live files inherited or carry."""
    names, listed = manifest.names, manifest.listed
    sequence, file_sequence, first = names.entry.get(SEQUENCE_NUMBER), names.entry.get(FILE_SEQUENCE_NUMBER), names.file.get(FIRST_ROW_ID)
    next_row_id = None if listed.content == DELETES else listed.first_row_id
    found = {}
    for entry in manifest.live():
        file = entry.row[names.entry[DATA_FILE]]
        # Only added files inherit; in manifests of format 1 (sequence number 0) nobody says a number.
        data = entry.row[sequence] if sequence else None
        of_file = entry.row[file_sequence] if file_sequence else None
        # A manifest that a list gave no first row id has none for its files either, whatever they say.
        first_row_id = file[first] if first and next_row_id is not None else None
        if first_row_id is None and next_row_id is not None:
            first_row_id = next_row_id
            next_row_id += file[names.file[RECORD_COUNT]]
        found[entry.file.id] = Numbers(
            listed.sequence_number if data is None else data, listed.sequence_number if of_file is None else of_file, first_row_id
        )
    return found


def without_existing(manifest: Manifest, target: Target, location: str, own: Callable[[int], int]) -> Rewritten:
    """What a snapshot added alone; the files that it kept and removed are left to other manifests.

    `own` turns a data sequence number that a row says into the one that it is now.
    """
    draft = _Draft(manifest, target.format_version)
    for entry in manifest.entries:
        if entry.status is Status.ADDED:
            draft.add(_renumbered(entry, manifest.names, own), Status.ADDED, target.snapshot_id, None)
    return draft.finish(location, target.snapshot_id, target.sequence_number)


def with_removed(manifest: Manifest, removed: Collection[FileId], target: Target, location: str) -> Rewritten:
    """The live files of a committed manifest, some of which a snapshot removes now."""
    draft, numbers = _Draft(manifest, target.format_version), numbers_in(manifest)
    for entry in manifest.live():
        if entry.file.id in removed:
            draft.add(entry, Status.DELETED, target.snapshot_id, numbers[entry.file.id])
        else:
            draft.add(entry, Status.EXISTING, entry.snapshot_id, numbers[entry.file.id])
    return draft.finish(location, target.snapshot_id, target.sequence_number)


def with_numbers(
    manifest: Manifest, numbers: Mapping[FileId, Numbers], target: Target, location: str, own: Callable[[int], int]
) -> Rewritten:
    """The same entries, with other numbers for some of the files that the manifest keeps or removes."""
    draft = _Draft(manifest, target.format_version)
    for entry in manifest.entries:
        given = None if entry.status is Status.ADDED else numbers.get(entry.file.id)
        draft.add(_renumbered(entry, manifest.names, own), entry.status, entry.snapshot_id, given)
    return draft.finish(location, target.snapshot_id, target.sequence_number)


def must_be_renumbered(manifest: Manifest, numbers: Mapping[FileId, Numbers], own: Callable[[int], int]) -> bool:
    """Whether `with_numbers` would change anything."""
    for entry in manifest.entries:
        said = entry.file.data_sequence_number
        if (entry.status is not Status.ADDED and entry.file.id in numbers) or (said is not None and own(said) != said):
            return True
    return False


def _renumbered(entry: Entry, names: Names, own: Callable[[int], int]) -> Entry:
    said = entry.file.data_sequence_number
    if said is None or own(said) == said:
        return entry
    return entry._replace(row=entry.row | {names.entry[SEQUENCE_NUMBER]: own(said)})


def _put(record: Row, names: Mapping[int, str], field_id: int, value: int | None) -> None:
    name = names.get(field_id)
    if name is not None:
        record[name] = value


def _widened(schema: Mapping[str, Any], format_version: int) -> dict[str, Any]:
    if format_version == 1:
        return dict(schema)
    wanted = [_CONTENT_FIELD] + ([_FIRST_ROW_ID_FIELD] if format_version >= MIN_FORMAT_VERSION_ROW_LINEAGE else [])
    fields = [
        field | {"type": field["type"] | {"fields": _with_fields(field["type"]["fields"], wanted)}}
        if field.get("field-id") == DATA_FILE
        else field
        for field in schema["fields"]
    ]
    return {**schema, "fields": _with_fields(fields, _ENTRY_FIELDS)}


def _with_fields(fields: Iterable[dict[str, Any]], wanted: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found = list(fields)
    present = {field.get("field-id") for field in found}
    return found + [field for field in wanted if field["field-id"] not in present]
