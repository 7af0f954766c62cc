"""What manifest lists and manifests name: of each row only the few fields that say so, whatever the format version.

Iceberg spec, "Manifests" and "Manifest Lists". Avro fields are found by their field ids, which versions 1, 2 and 3 share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from catalog_format.errors import CorruptFileError
from catalog_format.iceberg.avro_rows import rows_in

_MANIFEST_PATH: Final = 500
_MANIFEST_LENGTH: Final = 501
_ADDED_FILES: Final = 504
_EXISTING_FILES: Final = 505
_STATUS: Final = 0
_DATA_FILE: Final = 2
_FILE_PATH: Final = 100
_DELETED: Final = 2


class ListedManifest(NamedTuple):
    """A manifest, as a manifest list names it."""

    location: str
    length: int | None
    """In bytes; None if not known."""
    is_empty: bool
    """Whether it surely has no live entry."""


def manifests_in(data: bytes, location: str) -> list[ListedManifest]:
    """The manifests that a manifest list names. Raises `CorruptFileError`."""
    with _damage_told(location):
        schema, rows = rows_in(data)
        names = _names(schema)
        path = _needed(names, _MANIFEST_PATH, "manifest_path", location)
        optional = [names.get(field, "") for field in (_MANIFEST_LENGTH, _ADDED_FILES, _EXISTING_FILES)]
        found = []
        for row in rows:
            length, added, existing = (row.get(name) for name in optional)
            found.append(ListedManifest(row[path], length, added == 0 and existing == 0))
        return found


def live_files_in(data: bytes, location: str, length: int | None = None) -> list[str]:
    """Locations of the data files, delete files and deletion vectors (their puffin file, once) that a manifest's live entries name.

    Raises `CorruptFileError`, also if the manifest is not as long as its list says.
    """
    if length is not None and len(data) != length:
        raise CorruptFileError(f"Manifest {location} has {len(data)} bytes instead of {length}: restore it")
    with _damage_told(location):
        schema, rows = rows_in(data)
        names = _names(schema)
        status, of_file = _needed(names, _STATUS, "status", location), _needed(names, _DATA_FILE, "data_file", location)
        within = next(field["type"] for field in schema["fields"] if field["name"] == of_file)
        path = _needed(_names(within), _FILE_PATH, "file_path", location)
        return list(dict.fromkeys(row[of_file][path] for row in rows if row[status] != _DELETED))


@contextmanager
def _damage_told(location: str) -> Iterator[None]:
    """Damaged bytes lead a decoder anywhere; each way out means the same."""
    try:
        yield
    except CorruptFileError:
        raise
    except Exception as error:
        raise CorruptFileError(f"{location} cannot be read as an Avro file of Iceberg's: {error!r}") from error


def _names(record: Mapping[str, Any]) -> dict[int, str]:
    return {field["field-id"]: field["name"] for field in record["fields"] if "field-id" in field}


def _needed(names: Mapping[int, str], field_id: int, name: str, location: str) -> str:
    if field_id not in names:
        raise CorruptFileError(f"{location} cannot be read as an Avro file of Iceberg's: it has no field {name}")
    return names[field_id]
