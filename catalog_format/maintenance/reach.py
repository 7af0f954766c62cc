"""What versions need: the nodes, definitions and metadata files that a reader of them would ask for."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Container, Iterable
from contextlib import aclosing

from catalog_format import paths
from catalog_format.changes import Committed
from catalog_format.definitions import file_of, read_definition
from catalog_format.keys import ObjectType, type_of
from catalog_format.maintenance.parts import MOST_AT_ONCE, Parts, ahead
from catalog_format.node import Entry, Root
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.tree import lookup
from catalog_format.tree.invariants import reachable


class Reach:
    """Paths, relative to the root, of the files that the versions added so far need. Roots themselves are not among them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._nodes: set[str] = set()
        self._hidden: dict[tuple[bytes, int], bytes] = {}
        """Definitions in leaves, by key and stamp, that the write buffers of all versions so far hide."""
        self._replaced: dict[tuple[bytes, int], bytes] = {}
        """Those of them that the newest version so far has no more: only an older one can show them."""
        self._newest = -1
        self._added: set[str] = set()
        """Files of definitions that were read, and whose own files are among `files`."""
        self.files: set[str] = set()
        self._elsewhere: set[str] = set()
        """Names of metadata files that do not seem to lie below the root."""
        self.tables: set[str] = set()
        """Metadata files of the tables that these versions show, as definitions name them."""

    async def add(self, root: Root) -> None:
        """One more version; what it shares with earlier ones costs nothing. Raises `LostFileError`, `CorruptFileError`."""
        above = {row.key: row.value for row in root.buffer}
        await self._uncover(root, above)
        found = sorted(await reachable(root, self._parts.nodes, self._nodes))
        for start in range(0, len(found), MOST_AT_ONCE):
            some = found[start : start + MOST_AT_ONCE]
            for node in await asyncio.gather(*map(self._parts.nodes.node, some)):
                if node.level == 0:
                    await self._add_rows(node.rows, above)
        await self._add_rows(root.buffer, ())
        # Only now: a version that could not be read to its end must not hide what others share with it.
        self._nodes |= set(found)
        self._newest = max(self._newest, root.version)
        self.files.update(map(paths.node_path, found))

    def add_definition(self, key: bytes, definition: bytes) -> None:
        """Files that an object's definition names. Raises `NewerFormatError` for an object of a type that is not known here."""
        object_type = type_of(key)
        if object_type in self._parts.kinds:
            locations = self._parts.kinds[object_type].files(definition)
            self._add_locations(locations)
            if object_type is ObjectType.TABLE:
                self.tables.update(locations)
        elif object_type is ObjectType.IDEMPOTENCY:
            answer = Committed.from_bytes(pb.IdempotentAnswer.FromString(definition).answer)
            for written, result in answer.definitions.items():
                if result is not None and (kind := self._parts.kinds.get(type_of(written))) is not None:
                    self._add_locations(kind.files(result))
        elif object_type is ObjectType.PURGE:
            self._add_locations([pb.PurgeWish.FromString(definition).metadata_location])

    async def _uncover(self, root: Root, above: Container[bytes]) -> None:
        """Of what was hidden so far, take what this version shows."""
        is_newest = root.version > self._newest
        for (key, stamp), definition in list((self._hidden if is_newest else self._hidden | self._replaced).items()):
            if key in above:
                continue
            entry = await lookup(root, key, self._parts.nodes)
            if entry is not None and entry.stamp == stamp:
                self.add_definition(key, definition)
            elif is_newest:
                # Stamps only rise, so no later version shows it, and none needs to be asked.
                self._replaced[key, stamp] = definition
            else:
                continue
            self._hidden.pop((key, stamp), None)

    async def _add_rows(self, rows: Iterable[Entry], above: Container[bytes]) -> None:
        """Rows of one leaf, or of the write buffer; those with a key in `above` are hidden."""
        unknown: list[tuple[Entry, str | None]] = []
        for row in rows:
            if row.value is None:
                continue
            path, place = file_of(row.value), (row.key, row.stamp)
            if path is not None:
                # It is needed as long as a node names it, hidden or not.
                self.files.add(path)
            if path in self._added:
                continue
            if row.key in above and (place in self._hidden or place in self._replaced):
                self._hidden.setdefault(place, self._replaced.get(place, b""))
                continue
            unknown.append((row, path))
        stored = [row.value or b"" for row, path in unknown if path is not None]
        async with aclosing(ahead(stored, self._definition)) as reading:
            for row, path in unknown:
                definition = await self._definition(row.value or b"") if path is None else await anext(reading)
                if row.key in above:
                    self._hidden[row.key, row.stamp] = definition
                    continue
                self.add_definition(row.key, definition)
                if path is not None:
                    self._added.add(path)

    async def _definition(self, value: bytes) -> bytes:
        return await read_definition(value, self._parts.storage)

    def needs(self, path: str) -> bool:
        """Whether one of these versions names a file, however it spells the file's location."""
        return path in self.files or posixpath.normpath(path) in self.files or posixpath.basename(path) in self._elsewhere

    def _add_locations(self, locations: Iterable[str]) -> None:
        for location in locations:
            path = self._parts.locations.place_below_root(location)
            if path is not None:
                self.files.add(path)
            else:
                # Some links and mounts lead below the root after all, and nobody can tell. The names are unique enough.
                self._elsewhere.add(posixpath.basename(location))
