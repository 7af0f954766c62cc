"""Nodes that an update is about to write."""

from __future__ import annotations

from dataclasses import dataclass

from catalog_format.node import Entry
from catalog_format.node_codec import EncodedNode, encode_node
from catalog_format.objects import TreeLimits
from catalog_format.tree.pack import Measure, measure
from catalog_format.tree.source import NodeSource


@dataclass(slots=True)
class Part:
    """A node being edited: its pivot's key and stamp, and its rows once they have been read.

    `name` is its file as long as the rows are those of the file, else None.
    """

    key: bytes
    stamp: int
    name: str | None
    rows: list[Entry] | None = None


def part_of(pivot: Entry) -> Part:
    """The child that a pivot names, unread."""
    assert pivot.value is not None, "a pivot names its child"
    return Part(pivot.key, pivot.stamp, pivot.value.decode())


class Draft:
    """Encodes parts that changed, and takes a node back if it is edited once more before it is uploaded."""

    def __init__(self, limits: TreeLimits, source: NodeSource, attempt_id: str) -> None:
        self.limits = limits
        self.measure: Measure = measure(limits)
        self.source = source
        self._attempt_id = attempt_id
        self._encoded: dict[str, EncodedNode] = {}
        self._inner_rows: dict[str, list[Entry]] = {}

    @property
    def nodes(self) -> list[EncodedNode]:
        """The nodes to upload, children before their parents."""
        return list(self._encoded.values())

    def seal(self, part: Part, level: int) -> Entry:
        """The pivot of a part; encodes it if it has no file."""
        if part.name is None:
            assert part.rows, "a node has rows"
            node = encode_node(part.rows, level, self._attempt_id)
            part.name = node.name
            self._encoded[node.name] = node
            if level > 0:
                self._inner_rows[node.name] = part.rows
        return Entry(part.key, part.name.encode(), part.stamp)

    async def open(self, part: Part) -> list[Entry]:
        """The rows of a part, read if need be. An inner node sealed in this draft is taken back: its reader will write another."""
        if part.rows is None:
            assert part.name is not None, "a part without rows has a file"
            if part.name in self._inner_rows:
                del self._encoded[part.name]
                part.rows = self._inner_rows.pop(part.name)
                part.name = None
            else:
                part.rows = (self.source.cached(part.name) or await self.source.node(part.name)).rows.entries()
        return part.rows
