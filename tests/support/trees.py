"""Trees without a store: nodes in a dict, and roots made from updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from catalog_format.errors import CorruptFileError
from catalog_format.node import Entry, Node, Root, RootHeader
from catalog_format.node_codec import NO_HASH, EncodedNode, decode_node, decode_root, encode_root
from catalog_format.objects import CatalogDefinition, TreeLimits
from catalog_format.tree import TreeUpdate, apply


@dataclass
class MemoryNodes:
    """A `NodeSource` that remembers which nodes were asked for. With `warm` off, nothing is ever at hand."""

    warm: bool = False
    nodes: dict[str, Node] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def add(self, encoded: Sequence[EncodedNode]) -> None:
        for node in encoded:
            self.nodes[node.name] = decode_node(node.name, node.data)

    async def node(self, name: str) -> Node:
        self.reads.append(name)
        if name not in self.nodes:
            raise CorruptFileError(f"Node {name} is missing")
        return self.nodes[name]

    def cached(self, name: str) -> Node | None:
        return self.nodes.get(name) if self.warm else None


def attempt_id(version: int) -> str:
    return f"{version:032x}"


def header_of(version: int, limits: TreeLimits, level: int = 0) -> RootHeader:
    """System keys of a root in which nothing is left to chance."""
    catalog = CatalogDefinition(catalog_id="0" * 32, created_at_ms=0, limits=limits)
    return RootHeader(
        version=version, created_at_ms=version, catalog=catalog, previous_hash=NO_HASH, attempt_id=attempt_id(version), level=level
    )


def make_root(header: RootHeader, pivots: Sequence[Entry] = (), buffer: Sequence[Entry] = ()) -> Root:
    """A root that went through its bytes."""
    data, _ = encode_root(header, pivots, buffer, [])
    return decode_root(header.version, data)


def empty_root(limits: TreeLimits) -> Root:
    return make_root(header_of(0, limits))


def root_after(root: Root, update: TreeUpdate, version: int) -> Root:
    """The root that an update makes of `root`."""
    header = replace(root.header, version=version, created_at_ms=version, attempt_id=attempt_id(version), level=update.level)
    return make_root(header, update.pivots, update.buffer)


async def commit(root: Root, changes: Mapping[bytes, bytes | None], nodes: MemoryNodes, version: int | None = None) -> Root:
    """The next version: `changes` applied, its nodes added."""
    stamp = root.version + 1 if version is None else version
    update = await apply(root, changes, stamp, root.header.catalog.limits, nodes, attempt_id(stamp))
    nodes.add(update.nodes)
    return root_after(root, update, stamp)
