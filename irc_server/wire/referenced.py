"""`snapshots=refs`: table metadata with those snapshots only that somebody can name."""

from __future__ import annotations

from typing import Any

from orjson import dumps, loads

from catalog_format.scope import LoadedMetadata
from irc_server.wire.made_once import MadeOnce


class ReferencedSnapshots:
    """Metadata in this form, computed once a metadata file, whoever asks and how."""

    def __init__(self, cache_bytes: int) -> None:
        self._forms: MadeOnce[str] = MadeOnce(cache_bytes)

    def of(self, loaded: LoadedMetadata) -> bytes:
        """The JSON of a table in this form."""
        return self._forms.of(loaded.metadata_location, lambda: _with_referenced_snapshots(loaded.metadata))


def _with_referenced_snapshots(metadata: bytes) -> bytes:
    """The metadata with those snapshots only that a branch or a tag names, or that are current (version 1 has no refs)."""
    parsed: dict[str, Any] = loads(metadata)
    named = {ref["snapshot-id"] for ref in (parsed.get("refs") or {}).values()} | {parsed.get("current-snapshot-id")}
    if "snapshots" in parsed:
        parsed["snapshots"] = [snapshot for snapshot in parsed["snapshots"] or [] if snapshot["snapshot-id"] in named]
    # A copy is as large as it looks: what is encoded keeps room to grow behind it.
    return bytes(memoryview(dumps(parsed)))
