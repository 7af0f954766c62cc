"""Locations of files: absolute for clients, relative to the catalog's root in the tree."""

from __future__ import annotations

import posixpath
import re

from catalog_format.errors import InvalidArgumentError
from catalog_format.keys import Identifier
from catalog_format.storage.names import check_path
from catalog_format.storage.opening import split_location

_RELATIVE = "./"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.=-]")

# The catalog's own folders, below its root; `data` alone is for engines.
_OWN_FOLDERS = frozenset({"vn", "node", "def", "dtxn", "dtxn-open", "branch"})


class Locations:
    """Turns locations around for a catalog at `root_url`, so that the catalog's own files can be moved as a folder."""

    def __init__(self, root_url: str) -> None:
        self._root = normalised(root_url).rstrip("/") + "/"
        self._place = place_of(root_url) + "/"

    def to_relative(self, location: str) -> str:
        """`./…` for what lies below the root; other locations as they are."""
        plain = normalised(location)
        return _RELATIVE + plain[len(self._root) :] if plain.startswith(self._root) else location

    def to_absolute(self, location: str) -> str:
        return self._root + location[len(_RELATIVE) :] if location.startswith(_RELATIVE) else location

    def below_root(self, location: str) -> str | None:
        """The path relative to the root, None for a location elsewhere."""
        if location.startswith(self._root):
            return location[len(self._root) :]
        relative = self.to_relative(location)
        return relative[len(_RELATIVE) :] if relative.startswith(_RELATIVE) else None

    def check(self, location: str) -> str:
        """The location, if tables may keep files there. Raises `InvalidArgumentError`.

        It must be absolute, without "." and "..", and not among the catalog's own files: somebody who may make a table could
        otherwise put files where versions and transactions are looked for.
        """
        if ":" not in location and not location.startswith("/"):
            raise InvalidArgumentError(f"Location {location!r} is not absolute; write a URL such as {self._root}data/name")
        _, _, path = split_location(location)
        try:
            check_path(path.rstrip("/"))
        except ValueError as error:
            raise InvalidArgumentError(f"Location {location!r} cannot hold files: {error}") from None
        own = place_of(location)
        below = own.removeprefix(self._place).split("/")[0] if own.startswith(self._place) else "" if own + "/" == self._place else None
        if below is not None and below in _OWN_FOLDERS | {""}:
            raise InvalidArgumentError(f"Location {location!r} is where the catalog keeps its own files; choose one below {self._root}data")
        return location

    def default_location(self, identifier: Identifier, uuid: str) -> str:
        """Where a new table or view keeps its files. Names are only for people to read: the UUID makes it unique."""
        levels = [_as_folder(level) for level in identifier]
        return f"{self._root}data/{'/'.join(levels)}-{uuid}"

    def location_below(self, base: str, name: str, uuid: str) -> str:
        """The same below a namespace's own location."""
        return f"{base.rstrip('/')}/{_as_folder(name)}-{uuid}"


def place_of(location: str) -> str:
    """The one spelling of where a location is, for comparing only. Raises `InvalidArgumentError` for an unknown scheme.

    What may be one place on some stores (two slashes for one, a way through "..") is one here.
    """
    scheme, authority, path = split_location(location)
    plain = posixpath.normpath("/" + path.lstrip("/"))
    return f"{scheme}://{authority}{plain if plain != '/' else ''}"


def _as_folder(name: str) -> str:
    """A name as part of a path; a leading dot would make it "..", or a hidden file."""
    plain = _UNSAFE.sub("_", name)
    return f"_{plain[1:]}" if plain.startswith(".") else plain


def normalised(location: str) -> str:
    """One spelling for local files, which Java writes as `file:/…` and as `file:///…`."""
    if location.startswith("file:/"):
        return "file:///" + location[len("file:") :].lstrip("/")
    if location.startswith("/"):
        return "file://" + location
    if location.startswith(("s3a://", "s3n://")):
        return "s3://" + location.split("://", 1)[1]
    return location
