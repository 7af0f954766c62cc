"""Manifest lists: which manifests make up a snapshot (Iceberg spec, "Manifest Lists"; Java `ManifestLists`, `V3Metadata`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from catalog_format.errors import ConflictError, CorruptFileError
from catalog_format.iceberg.avro_rows import decode_rows, encode_rows
from catalog_format.iceberg.metadata.table_fields import MIN_FORMAT_VERSION_ROW_LINEAGE

DATA, DELETES = 0, 1


class ListedManifest(NamedTuple):
    """One manifest of a list. Counts are None where an old writer left them out; sequence numbers are 0 in format 1."""

    path: str
    length: int
    spec_id: int
    content: int
    sequence_number: int
    min_sequence_number: int
    snapshot_id: int
    """The snapshot that added it."""
    added_files: int | None
    existing_files: int | None
    deleted_files: int | None
    added_rows: int | None
    existing_rows: int | None
    deleted_rows: int | None
    partitions: list[dict[str, Any]] | None
    key_metadata: bytes | None
    first_row_id: int | None

    @property
    def live_files(self) -> int | None:
        """How many files it keeps in the table; None if not known."""
        if self.added_files is None or self.existing_files is None:
            return None
        return self.added_files + self.existing_files

    @property
    def only_adds(self) -> bool:
        """Whether surely all its entries are files that its snapshot added."""
        return self.existing_files == 0 and self.deleted_files == 0

    @property
    def live_rows(self) -> int:
        """Rows that may need ids from this manifest (as Java's `ManifestListWriter` counts them)."""
        return (self.added_rows or 0) + (self.existing_rows or 0)


class _Field(NamedTuple):
    field_id: int
    name: str
    avro_type: str | dict[str, Any]
    required_from: int
    """The format version from which on the field is required; _NEVER if it is always optional."""
    written_from: int = 1


_NEVER: Final = 99
_SUMMARY: Final[dict[str, Any]] = {
    "type": "array",
    "element-id": 508,
    "items": {
        "type": "record",
        "name": "r508",
        "fields": [
            {"name": "contains_null", "type": "boolean", "field-id": 509},
            {"name": "contains_nan", "type": ["null", "boolean"], "default": None, "field-id": 518},
            {"name": "lower_bound", "type": ["null", "bytes"], "default": None, "field-id": 510},
            {"name": "upper_bound", "type": ["null", "bytes"], "default": None, "field-id": 511},
        ],
    },
}
# In the order of `ListedManifest`.
_FIELDS: Final = (
    _Field(500, "manifest_path", "string", 1),
    _Field(501, "manifest_length", "long", 1),
    _Field(502, "partition_spec_id", "int", 1),
    _Field(517, "content", "int", 2, written_from=2),
    _Field(515, "sequence_number", "long", 2, written_from=2),
    _Field(516, "min_sequence_number", "long", 2, written_from=2),
    _Field(503, "added_snapshot_id", "long", 1),
    _Field(504, "added_files_count", "int", 2),
    _Field(505, "existing_files_count", "int", 2),
    _Field(506, "deleted_files_count", "int", 2),
    _Field(512, "added_rows_count", "long", 2),
    _Field(513, "existing_rows_count", "long", 2),
    _Field(514, "deleted_rows_count", "long", 2),
    _Field(507, "partitions", _SUMMARY, _NEVER),
    _Field(519, "key_metadata", "bytes", _NEVER),
    _Field(520, "first_row_id", "long", _NEVER, written_from=MIN_FORMAT_VERSION_ROW_LINEAGE),
)
# What a list of format 1 leaves out.
_DEFAULTS: Final[Mapping[int, int]] = {517: DATA, 515: 0, 516: 0}
_NAMES: Final = tuple(field.name for field in _FIELDS)
# Where content and sequence numbers, and where the counts stand.
_NUMBERED_FROM, _COUNTS_FROM, _COUNTS_UNTIL = 3, 7, 13
_ABSENT: Final = ""
_NEEDED: Final = frozenset({500, 501, 502, 503})


def decode_manifest_list(data: bytes, location: str) -> tuple[ListedManifest, ...]:
    """Raises `CorruptFileError`."""
    file = decode_rows(data, location)
    try:
        # By id, since the names of some fields have changed over time.
        names = {field.get("field-id"): field["name"] for field in file.schema["fields"]}
        if missing := sorted(_NEEDED - names.keys()):
            raise CorruptFileError(f"{location} is no manifest list: it has no field of id {missing[0]}")
        read = itemgetter(*(names.get(field.field_id, _ABSENT) for field in _FIELDS))
        found = tuple(_listed(read(row | {_ABSENT: None})) for row in file.rows)
    except (LookupError, TypeError, AttributeError) as error:
        raise CorruptFileError(f"{location} is no manifest list: {error!r}") from error
    for manifest in found:
        if not (isinstance(manifest.path, str) and all(isinstance(value, int) for value in manifest[1:_COUNTS_FROM])):
            raise CorruptFileError(
                f"{location} is no manifest list: a manifest is listed as {manifest.path!r}, with {manifest[1:_COUNTS_FROM]}"
            )
    return found


def encode_manifest_list(
    manifests: Iterable[ListedManifest],
    format_version: int,
    snapshot: Mapping[str, Any],
    location: str,
) -> bytes:
    """The list of a snapshot (its JSON, of which parent, sequence number and first row id go into the header).

    Raises `ConflictError` for a manifest that an old writer listed without the counts that format 2 needs.
    """
    fields = [field for field in _FIELDS if field.written_from <= format_version]
    schema = {"type": "record", "name": "manifest_file", "fields": [_avro_field(field, format_version) for field in fields]}
    metadata = {
        "snapshot-id": str(snapshot["snapshot-id"]),
        "parent-snapshot-id": str(snapshot.get("parent-snapshot-id", "null")),
        "format-version": str(format_version),
    }
    if format_version > 1:
        metadata["sequence-number"] = str(snapshot["sequence-number"])
    if format_version >= MIN_FORMAT_VERSION_ROW_LINEAGE:
        metadata["first-row-id"] = str(snapshot["first-row-id"])
    found = list(manifests)
    if format_version > 1:
        for manifest in found:
            _check_counts(manifest)
    # Fields that the version does not have are passed over.
    return encode_rows(schema, metadata, (dict(zip(_NAMES, manifest, strict=True)) for manifest in found), location)


def _listed(values: tuple[Any, ...]) -> ListedManifest:
    """A row in the order of `_FIELDS`; what lists of format 1 leave out is filled in."""
    if None in values[_NUMBERED_FROM:_COUNTS_FROM]:
        values = tuple(_DEFAULTS.get(field.field_id) if value is None else value for field, value in zip(_FIELDS, values, strict=True))
    return ListedManifest._make(values)


def _check_counts(manifest: ListedManifest) -> None:
    if None in manifest[_COUNTS_FROM:_COUNTS_UNTIL]:
        missing = _NAMES[manifest.index(None, _COUNTS_FROM)]
        raise ConflictError(f"Manifest {manifest.path} was listed without its {missing} by an old writer: rewrite the table's manifests")


def _avro_field(field: _Field, format_version: int) -> dict[str, Any]:
    if field.required_from <= format_version:
        return {"name": field.name, "type": field.avro_type, "field-id": field.field_id}
    return {"name": field.name, "type": ["null", field.avro_type], "default": None, "field-id": field.field_id}
