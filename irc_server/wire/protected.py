"""Tables as they are answered where engines must not delete files: with `gc.enabled=false`.

Iceberg's Java library looks at that property before it expires snapshots, removes orphan files or purges, and refuses.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps, loads

from irc_server.wire.made_once import MadeOnce

GC_ENABLED = "gc.enabled"


class ProtectedTables:
    """Metadata in this form, computed once a metadata file and choice of snapshots."""

    def __init__(self, cache_bytes: int) -> None:
        self._forms: MadeOnce[tuple[str, str, bool]] = MadeOnce(cache_bytes)

    def of(self, location: str, snapshots: str, metadata: bytes, *, unless_told: bool) -> bytes:
        """The JSON `metadata` of the file at `location`, which holds the snapshots that were chosen, in this form.

        `unless_told`: as it is, if the table itself says `gc.enabled=true`.
        """
        return self._forms.of((location, snapshots, unless_told), lambda: _protected(metadata, unless_told))


def _protected(metadata: bytes, unless_told: bool) -> bytes:
    parsed: dict[str, Any] = loads(metadata)
    properties = parsed.get("properties") or {}
    if unless_told and str(properties.get(GC_ENABLED)).lower() == "true":
        return metadata
    parsed["properties"] = {**properties, GC_ENABLED: "false"}
    # A copy is as large as it looks: what is encoded keeps room to grow behind it.
    return bytes(memoryview(dumps(parsed)))
