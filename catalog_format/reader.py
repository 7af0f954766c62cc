"""Reading definitions: a root, and a transaction's own changes on top of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from catalog_format.definitions import read_definition
from catalog_format.node import NO_STAMP, Entry, Root
from catalog_format.storage import Storage
from catalog_format.tree.cursor import scan
from catalog_format.tree.search import lookup
from catalog_format.tree.source import NodeSource

MOST_FOUND = 4096
"""So many definitions a reader keeps at most, lest it looks them up again."""


class Reader:
    """One unchanging state: version `root`, with `overlay` (key to definition, None for dropped) above it."""

    def __init__(self, root: Root, nodes: NodeSource, storage: Storage, overlay: Mapping[bytes, bytes | None] | None = None) -> None:
        self.root = root
        self._nodes = nodes
        self.storage = storage
        self._overlay = overlay or {}
        self._found: dict[bytes, bytes | None] = {}

    @property
    def version(self) -> int:
        return self.root.version

    async def entry(self, key: bytes) -> Entry | None:
        """The tree's live entry, overlay aside."""
        return await lookup(self.root, key, self._nodes)

    async def stamp(self, key: bytes) -> int:
        """The version that last wrote the key's entry; `NO_STAMP` if there is none."""
        entry = await self.entry(key)
        return NO_STAMP if entry is None else entry.stamp

    async def definition(self, key: bytes) -> bytes | None:
        """The object's definition, None if it does not exist."""
        if key in self._overlay:
            return self._overlay[key]
        if key in self._found:
            return self._found[key]
        entry = await self.entry(key)
        definition = None if entry is None else await self._held(entry)
        if len(self._found) == MOST_FOUND:
            self._found.clear()
        self._found[key] = definition
        return definition

    async def exists(self, key: bytes) -> bool:
        if key in self._overlay:
            return self._overlay[key] is not None
        return await self.entry(key) is not None

    async def scan(self, low: bytes, high: bytes, after: bytes | None = None) -> AsyncGenerator[bytes, None]:
        """Keys in [low, high) above `after`, in order."""
        own = sorted(key for key in self._overlay if low <= key < high and (after is None or key > after))
        position = 0
        async for entry in scan(self.root, low, high, self._nodes, after):
            while position < len(own) and own[position] < entry.key:
                if self._overlay[own[position]] is not None:
                    yield own[position]
                position += 1
            if entry.key not in self._overlay:
                yield entry.key
        for key in own[position:]:
            if self._overlay[key] is not None:
                yield key

    async def _held(self, entry: Entry) -> bytes:
        return await read_definition(entry.value or b"", self.storage)
