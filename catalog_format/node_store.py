"""Node files in a store, behind a cache: what is read or written once is not read again while it stays in the cache."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

from catalog_format.clock import Clock, SystemClock
from catalog_format.errors import LostFileError, StoreThrottledError
from catalog_format.node import Node
from catalog_format.node_codec import EncodedNode, decode_node
from catalog_format.paths import node_path
from catalog_format.storage.protocol import Storage

MOST_READS: Final = 32
MOST_WRITES: Final = 16
MOST_TRIES: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.05

T = TypeVar("T")


class NodeStore:
    """A `NodeSource` over a store. Nodes are immutable and named by their hash, so nothing in the cache is ever out of date."""

    def __init__(self, storage: Storage, cache_bytes: int, clock: Clock | None = None) -> None:
        """`cache_bytes` bounds the files' bytes held; what was used last stays longest."""
        self._storage = storage
        self._cache_bytes = cache_bytes
        self._clock = clock or SystemClock()
        self._nodes: OrderedDict[str, Node] = OrderedDict()
        self._held_bytes = 0
        self._reading: dict[str, asyncio.Task[Node]] = {}
        self._reads = asyncio.Semaphore(MOST_READS)

    @property
    def held_bytes(self) -> int:
        """Bytes of the files in the cache."""
        return self._held_bytes

    def cached(self, name: str) -> Node | None:
        """The node if it is in the cache."""
        node = self._nodes.get(name)
        if node is not None:
            self._nodes.move_to_end(name)
        return node

    async def node(self, name: str) -> Node:
        """The node, verified against its name. Those who ask at the same time share one request.

        Raises `LostFileError` if the file is missing, `CorruptFileError` if it is damaged, and what the store raises.
        """
        node = self.cached(name)
        if node is not None:
            return node
        reading = self._reading.get(name)
        if reading is None:
            reading = asyncio.create_task(self._read(name))
            self._reading[name] = reading
            reading.add_done_callback(lambda done: self._finished(name, done))
        # The shield keeps a caller that is cancelled from cancelling the request of the others.
        return await asyncio.shield(reading)

    async def upload(self, nodes: Iterable[EncodedNode]) -> None:
        """Put the nodes, in parallel, and keep them in the cache. All are durable when this returns.

        A node that exists already is the same one, since its name is its hash; so a put whose fate is unknown is put again.
        Raises `OSError` or `StoreThrottledError` after a few tries, and what else the store raises; some nodes may then exist.
        """
        waiting = iter(list(nodes))

        async def put_next() -> None:
            for node in waiting:
                await self._tried(partial(self._storage.put_if_absent, node_path(node.name), node.data))
                self._keep(decode_node(node.name, node.data))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(MOST_WRITES):
                    group.create_task(put_next())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _read(self, name: str) -> Node:
        async with self._reads:
            try:
                data = await self._tried(partial(self._storage.get, node_path(name)))
            except FileNotFoundError:
                raise LostFileError(
                    f"The node file {node_path(name)} is missing in {self._storage.url}: "
                    "run `treeline check` to see which versions need it (one that is no longer kept may have been collected)"
                ) from None
        node = decode_node(name, data)
        self._keep(node)
        return node

    async def _tried(self, request: Callable[[], Awaitable[T]]) -> T:
        pause = FIRST_PAUSE_SECONDS
        for _ in range(MOST_TRIES - 1):
            try:
                return await request()
            except FileNotFoundError:
                raise
            except (OSError, StoreThrottledError):
                await self._clock.sleep(pause)
                pause *= 2
        return await request()

    def _keep(self, node: Node) -> None:
        if node.name in self._nodes:
            self._nodes.move_to_end(node.name)
            return
        self._nodes[node.name] = node
        self._held_bytes += node.size_bytes
        while self._held_bytes > self._cache_bytes and self._nodes:
            _, oldest = self._nodes.popitem(last=False)
            self._held_bytes -= oldest.size_bytes

    def _finished(self, name: str, done: asyncio.Task[Node]) -> None:
        del self._reading[name]
        if not done.cancelled():
            # Taken notice of here too, for the case that everybody who waited was cancelled.
            done.exception()
