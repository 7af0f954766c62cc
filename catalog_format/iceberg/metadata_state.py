"""What the kinds of tables and views hold of one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]

METADATA_PATH_PROPERTY = "write.metadata.path"


class NewFile(NamedTuple):
    """A file that is not written yet."""

    location: str
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class MetadataState:
    """Metadata and the file that holds it: `location` is None until it is written, `previous` the file before it."""

    metadata: Json
    location: str | None
    previous: str | None = None
    files: tuple[NewFile, ...] = ()
    """What has to be written before the metadata may be shown."""

    def followed_by(self, metadata: Json, files: tuple[NewFile, ...] = ()) -> MetadataState:
        """The state after this one, which is this one if the metadata are the same object."""
        if metadata is self.metadata:
            return self
        return MetadataState(metadata, None, self.location or self.previous, self.files + files)


def metadata_folder(metadata: Json) -> str:
    """Where the next metadata file goes: `write.metadata.path`, else the `metadata` folder of the location."""
    chosen = metadata.get("properties", {}).get(METADATA_PATH_PROPERTY)
    return str(chosen or f"{metadata['location'].rstrip('/')}/metadata")
