"""What the kinds of tables and views hold of one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

METADATA_PATH_PROPERTY = "write.metadata.path"


@dataclass(frozen=True, slots=True, eq=False)
class MetadataState:
    """Metadata and the file that holds it: `location` is None until it is written, `previous` the file before it."""

    metadata: Json
    location: str | None
    previous: str | None = None


def metadata_folder(metadata: Json) -> str:
    """Where the next metadata file goes: `write.metadata.path`, else the `metadata` folder of the location."""
    chosen = metadata.get("properties", {}).get(METADATA_PATH_PROPERTY)
    return str(chosen or f"{metadata['location'].rstrip('/')}/metadata")
