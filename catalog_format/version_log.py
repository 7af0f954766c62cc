"""The log of versions: finding the latest root and reading any kept one.

Every version up to the latest exists, so the latest is found from any version that exists by galloping ahead
and bisecting; hints only shorten the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from cachetools import LRUCache

from catalog_format import paths
from catalog_format.clock import Clock, iso
from catalog_format.errors import CorruptFileError, NoSuchVersionError, NotACatalogError, TreelineError
from catalog_format.node import Root
from catalog_format.node_codec import decode_root
from catalog_format.storage import Storage

ROOT_CACHE_BYTES = 16 * 1024 * 1024


class SharedProbe:
    """Lets concurrent reads share a probe, but never one whose first request was sent before the read began."""

    def __init__(self, probe: Callable[[], Awaitable[Root]]) -> None:
        self._probe = probe
        self._running: asyncio.Future[None] | None = None
        self._next: asyncio.Task[Root] | None = None

    async def __call__(self) -> Root:
        if self._running is None:
            return await self._run()
        if self._next is None:
            self._next = asyncio.create_task(self._follow())
            # Taken notice of here too, for the case that everybody who waited was cancelled.
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._next)

    async def _follow(self) -> Root:
        while self._running is not None:
            await asyncio.shield(self._running)
        # From here on the probe counts as sent: whoever comes now needs the one after it.
        self._next = None
        return await self._run()

    async def _run(self) -> Root:
        done = asyncio.get_running_loop().create_future()
        self._running = done
        try:
            return await self._probe()
        finally:
            if self._running is done:
                self._running = None
            done.set_result(None)


class VersionLog:
    """The versions of one catalog, as one process knows them."""

    def __init__(self, storage: Storage, clock: Clock, max_staleness_s: float = 0.0) -> None:
        self._storage = storage
        self._clock = clock
        self._max_staleness_s = max_staleness_s
        self._latest: Root | None = None
        self._confirmed_at = float("-inf")
        self._roots: LRUCache[int, Root] = LRUCache(ROOT_CACHE_BYTES, getsizeof=lambda root: root.size_bytes)
        self._shared_probe = SharedProbe(self._find_latest)
        self._hint_wanted: int | None = None
        self._hint_writer: asyncio.Task[None] | None = None

    @property
    def known(self) -> Root:
        """The newest root that this process has seen; maybe no longer the latest. Raises `NotACatalogError` before the first look."""
        if self._latest is None:
            raise NotACatalogError(f"{self._storage.url} has not been opened")
        return self._latest

    async def confirm(self, *, anew: bool = False) -> Root:
        """The latest root: every version acknowledged before the call is in it (or before `max_staleness_s` ago, if set, unless `anew`)."""
        if self._max_staleness_s and not anew and self._clock.elapsed() - self._confirmed_at <= self._max_staleness_s:
            return self.known
        # Where probes do not wait, there is nothing to share.
        return await (self._shared_probe() if self._storage.is_remote else self._find_latest())

    async def open(self) -> Root:
        """First look. Raises `NotACatalogError` if there is no version 0."""
        if self._latest is None:
            self._latest = await self._start()
        return await self.confirm()

    def observe(self, root: Root) -> None:
        """Take note of a root that exists."""
        self._roots[root.version] = root
        # A stub is never the latest, and nobody could read anything in it.
        if not root.stub and (self._latest is None or root.version > self._latest.version):
            self._latest = root

    async def read(self, version: int) -> Root:
        """The root of a kept version. Raises `NoSuchVersionError`, `CorruptFileError`."""
        root = await self.trace(version)
        if root.stub:
            raise given_up(version)
        return root

    async def trace(self, version: int) -> Root:
        """The root of a version, or the stub of one that was given up: its actions and system keys. Raises as `read`."""
        cached = self._roots.get(version)
        if cached is not None:
            return cached
        root = await self.find(version)
        if root is None:
            latest = (await self.confirm()).version
            if version <= latest:
                raise CorruptFileError(
                    f"The root of version {version} ({paths.root_path(version)}) is missing although version {latest} exists: "
                    "restore the file, or run `treeline check` to see what else is gone"
                )
            raise NoSuchVersionError(f"Version {version} does not exist; the latest is {latest}")
        return root

    async def find(self, version: int) -> Root | None:
        """The root of a version, or None if no file of that name exists. One request."""
        try:
            data = await self._storage.get(paths.root_path(version))
        except FileNotFoundError:
            return None
        root = decode_root(version, data)
        self._roots[version] = root
        return root

    async def version_at(self, timestamp_ms: int) -> Root:
        """The root that was the latest at a moment: created-at rises strictly, so this is a bisection."""
        high = await self.confirm()
        if high.header.created_at_ms <= timestamp_ms:
            return high
        low = await self.trace(high.header.oldest)
        if low.header.created_at_ms > timestamp_ms:
            raise NoSuchVersionError(
                f"No version is as old as {iso(timestamp_ms)}; "
                f"the oldest kept one, {low.version}, was made at {iso(low.header.created_at_ms)}"
            )
        while high.version - low.version > 1:
            middle = await self.trace((low.version + high.version) // 2)
            if middle.header.created_at_ms <= timestamp_ms:
                low = middle
            else:
                high = middle
        if low.stub:
            raise given_up(low.version)
        return low

    async def _start(self) -> Root:
        """Some root that exists, as late as the hint tells."""
        hinted = await self._read_hint()
        if hinted is not None:
            root = await self.find(hinted)
            if root is not None:
                return root
        root = await self.find(paths.FIRST_VERSION)
        if root is None:
            raise NotACatalogError(f"{self._storage.url} holds no catalog: create one with `treeline init {self._storage.url}`")
        return root

    async def _read_hint(self) -> int | None:
        try:
            text = await self._storage.get(paths.LATEST_HINT)
        except FileNotFoundError:
            return None
        digits = text.decode("ascii", "replace").strip()
        if not digits.isdecimal() or int(digits) >= 1 << (paths.VERSION_BITS - 1):
            return None
        return int(digits)

    async def _find_latest(self) -> Root:
        began = self._clock.elapsed()
        newest = self.known
        after = await self.find(newest.version + 1)
        while after is not None:
            newest = await self._gallop(after)
            # What was found may have been given up by now: then there are later ones.
            after = await self.find(newest.version + 1) if newest.stub else None
        if newest.stub:
            raise CorruptFileError(
                f"Version {newest.version} was given up, and no later one is there ({paths.root_path(newest.version + 1)}): "
                "roots are missing; restore them before anything is committed"
            )
        if newest is not self._latest:
            self.observe(newest)
        self._confirmed_at = began
        return self.known

    async def _gallop(self, start: Root) -> Root:
        """The latest root, from one that exists: +1, +2, +4 … until absent, then bisect."""
        exists, step = start.version, 1
        while await self._storage.exists(paths.root_path(exists + step)):
            exists += step
            step *= 2
        absent = exists + step
        while absent - exists > 1:
            middle = (exists + absent) // 2
            if await self._storage.exists(paths.root_path(middle)):
                exists = middle
            else:
                absent = middle
        return await self.trace(exists)

    def forget(self, version: int) -> None:
        """Drop a root from the cache, whose file has become a stub."""
        self._roots.pop(version, None)

    def hint(self, version: int) -> None:
        """Have the latest hint written soon; several wishes become one write. Never fails."""
        self._hint_wanted = max(version, self._hint_wanted or 0)
        if self._hint_writer is None or self._hint_writer.done():
            self._hint_writer = asyncio.create_task(self._write_hints())

    async def _write_hints(self) -> None:
        while self._hint_wanted is not None:
            version, self._hint_wanted = self._hint_wanted, None
            try:
                await self._storage.replace(paths.LATEST_HINT, str(version).encode())
            except (OSError, TreelineError):
                # A hint may be stale, missing or wrong; nothing depends on it.
                return

    async def close(self) -> None:
        """Wait for a hint under way."""
        if self._hint_writer is not None:
            await self._hint_writer


def given_up(version: int) -> NoSuchVersionError:
    """The error for reading a version that is not kept any more."""
    return NoSuchVersionError(f"Version {version} was given up: its log is kept, its state is not; read a later version")
