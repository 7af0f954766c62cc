"""When: versions by number or time."""

from __future__ import annotations

import re

from catalog_format.catalog import StoredCatalog
from catalog_format.errors import InvalidArgumentError
from catalog_format.node import Root
from catalog_format.scopes.latest import kept
from irc_server.wire.moments import timestamp_ms

_VERSION = re.compile(r"v?(\d{1,11})")


async def root_at(catalog: StoredCatalog, text: str | None) -> Root:
    """The root of a version, given by its number, by epoch milliseconds or in ISO 8601 (UTC unless it says otherwise).

    None is the latest. Raises `NoSuchVersionError`, `InvalidArgumentError`, `CorruptFileError`.
    """
    if text is None:
        return await catalog.versions.confirm()
    number = _VERSION.fullmatch(text)
    if number is not None:
        return await kept(catalog.versions, int(number[1]))
    moment = timestamp_ms(text)
    if moment is None:
        raise InvalidArgumentError(
            f"{text!r} is no version and no time; write a number, such as 12, or a time, such as 2026-11-21T12:00:00Z"
        )
    return await catalog.versions.version_at(moment)
