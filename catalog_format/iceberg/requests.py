"""Requests of changes to tables and views, as they stand in transaction logs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

Json = dict[str, Any]


def create_request(metadata: Json, location: str | None = None) -> bytes:
    """CREATE (or replace as a whole) with these metadata; with `location`, they are in that file already."""
    return orjson.dumps({"metadata": metadata, "location": location})


def update_request(requirements: Sequence[Json], updates: Sequence[Json]) -> bytes:
    """UPDATE as a client asks for it."""
    return orjson.dumps({"requirements": list(requirements), "updates": list(updates)})


def drop_request(purge: bool) -> bytes:
    """DROP of a table, with or without the wish to purge."""
    return orjson.dumps({"purge": purge})


def updates_summary(updates: Sequence[Json]) -> str:
    """The updates' actions in words, for the log."""
    return ", ".join(dict.fromkeys(str(update.get("action", "?")) for update in updates))
