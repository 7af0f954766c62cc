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


def drop_request(purge: bool, location: str | None = None) -> bytes:
    """DROP of a table or view, with or without the wish to purge; with `location`, only while that is its metadata file."""
    return orjson.dumps({"purge": purge} if location is None else {"purge": purge, "location": location})


def unregister_request(location: str) -> bytes:
    """DROP of a table whose last metadata file is this one, as its definition names it."""
    return drop_request(False, location)


def updates_summary(updates: Sequence[Json]) -> str:
    """The updates' actions in words, for the log."""
    return ", ".join(dict.fromkeys(str(update.get("action", "?")) for update in updates))
