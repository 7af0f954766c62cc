"""Where the tree takes its nodes from: the only input of the tree's functions besides their arguments."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Protocol

from catalog_format.node import Node


class NodeSource(Protocol):
    """Immutable nodes by name."""

    async def node(self, name: str) -> Node:
        """The node. Raises `CorruptFileError` if it is missing or damaged."""
        ...

    def cached(self, name: str) -> Node | None:
        """The node if it is at hand without waiting."""
        ...


async def load(names: Iterable[str], source: NodeSource) -> dict[str, Node]:
    """The nodes by name, all read at once; the source bounds how many requests run together."""
    found: dict[str, Node] = {}
    missing: list[str] = []
    for name in dict.fromkeys(names):
        node = source.cached(name)
        if node is None:
            missing.append(name)
        else:
            found[name] = node
    if missing:
        for node in await asyncio.gather(*(source.node(name) for name in missing)):
            found[node.name] = node
    return found


async def load_in_order(names: Sequence[str], source: NodeSource, most_ahead: int) -> AsyncGenerator[Node, None]:
    """The nodes one after the other, while up to `most_ahead` are being read.

    It begins with one and doubles, so that a reader who stops early costs little.
    """
    ahead: deque[Node | asyncio.Task[Node]] = deque()
    wanted, begun = 1, 0
    try:
        for _ in names:
            while begun < len(names) and len(ahead) < wanted:
                node = source.cached(names[begun])
                ahead.append(node if node is not None else asyncio.create_task(_read(names[begun], source)))
                begun += 1
            first = ahead.popleft()
            yield first if isinstance(first, Node) else await first
            wanted = min(2 * wanted, most_ahead)
    finally:
        for item in ahead:
            if isinstance(item, asyncio.Task) and not item.cancel() and not item.cancelled():
                # Nobody will ask for this node any more, so nobody else takes notice of its error.
                item.exception()


async def _read(name: str, source: NodeSource) -> Node:
    return await source.node(name)
