"""`snapshots=refs`: table metadata with those snapshots only that somebody can name."""

from __future__ import annotations

from typing import Any

from cachetools import LRUCache
from orjson import dumps, loads

from catalog_format.scope import LoadedMetadata


class ReferencedSnapshots:
    """Metadata in this form, computed once a metadata file, whoever asks and how, in a cache bounded by its bytes."""

    def __init__(self, cache_bytes: int) -> None:
        # A cache of size 0 would refuse every entry with an error; of size 1 it holds none.
        self._forms: LRUCache[str, bytes] = LRUCache(max(1, cache_bytes), getsizeof=len)

    def of(self, loaded: LoadedMetadata) -> bytes:
        """The JSON of a table in this form."""
        location = loaded.metadata_location
        form = self._forms.get(location)
        if form is None:
            form = _with_referenced_snapshots(loaded.metadata)
            if len(form) <= self._forms.maxsize:
                self._forms[location] = form
        return form


def _with_referenced_snapshots(metadata: bytes) -> bytes:
    """The metadata with those snapshots only that a branch or a tag names, or that are current (version 1 has no refs)."""
    parsed: dict[str, Any] = loads(metadata)
    named = {ref["snapshot-id"] for ref in (parsed.get("refs") or {}).values()} | {parsed.get("current-snapshot-id")}
    if "snapshots" in parsed:
        parsed["snapshots"] = [snapshot for snapshot in parsed["snapshots"] or [] if snapshot["snapshot-id"] in named]
    # A copy is as large as it looks: what is encoded keeps room to grow behind it.
    return bytes(memoryview(dumps(parsed)))
