"""Locations of files: absolute for clients, relative to the catalog's root in the tree."""

from __future__ import annotations

import posixpath
import re

from catalog_format.errors import InvalidArgumentError
from catalog_format.keys import Identifier
from catalog_format.storage.names import check_path
from catalog_format.storage.opening import split_location

_RELATIVE = "./"
_LOCAL = "file://"
_SLASHES = re.compile("/{2,}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.=-]")

# The catalog's own folders, below its root; `data` alone is for engines.
_OWN_FOLDERS = frozenset({"vn", "node", "def", "dtxn", "dtxn-open", "branch"})


class Locations:
    """Turns locations around for a catalog at `root_url`, so that the catalog's own files can be moved as a folder."""

    def __init__(self, root_url: str) -> None:
        self._store, folder = _spelled(root_url)
        self._folder = f"{folder.rstrip('/')}/" if folder else ""
        self._root = f"{self._store}/{self._folder}"
        self._place = place_of(root_url) + "/"

    def to_relative(self, location: str) -> str:
        """`./…` for what lies below the root; other locations as they are."""
        below = self.below_root(location)
        return location if below is None else _RELATIVE + below

    def to_absolute(self, location: str) -> str:
        return self._root + location[len(_RELATIVE) :] if location.startswith(_RELATIVE) else location

    def below_root(self, location: str) -> str | None:
        """The path relative to the root, as the store has it; None for a location elsewhere. Takes stored ones (`./…`) as well."""
        if location.startswith(_RELATIVE):
            return location[len(_RELATIVE) :]
        if location.startswith(self._root) and "//" not in location[len(self._root) - 1 :]:
            return location[len(self._root) :] or None
        try:
            store, path = _spelled(location)
        except InvalidArgumentError:
            return None
        if store == _LOCAL:
            path = _SLASHES.sub("/", path)
        if store != self._store or not path.startswith(self._folder):
            return None
        path = path[len(self._folder) :]
        # Behind two slashes an object store has other files than behind one; they have no path below a store's root.
        return None if not path or path.startswith("/") else path

    def place_below_root(self, location: str) -> str | None:
        """The same in the one spelling of all that may be one place (see `place_of`), for comparing only."""
        try:
            place = place_of(self.to_absolute(location))
        except InvalidArgumentError:
            return None
        return place[len(self._place) :] if place.startswith(self._place) else None

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


def _spelled(location: str) -> tuple[str, str]:
    """(store, path within it) of a location, in one spelling but for the path. Raises `InvalidArgumentError`."""
    scheme, authority, path = split_location(location)
    return f"{scheme}://{authority}", path


def _as_folder(name: str) -> str:
    """A name as part of a path; a leading dot would make it "..", or a hidden file."""
    plain = _UNSAFE.sub("_", name)
    return f"_{plain[1:]}" if plain.startswith(".") else plain
