"""What maintenance works with: the parts of one open catalog."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from catalog_format.changes import Change, ChangeSet, Upkeep, Verb
from catalog_format.clock import Clock
from catalog_format.committer import Committer
from catalog_format.distributed.coordinator import TransactionCoordinator
from catalog_format.distributed.image import TransactionImage
from catalog_format.distributed.log import TransactionLogs
from catalog_format.errors import NoSuchTransactionError, RetryLater
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.ids import Ids
from catalog_format.keys import CATALOG_KEY
from catalog_format.kinds import Kinds
from catalog_format.node_store import NodeStore
from catalog_format.storage import Storage
from catalog_format.version_log import VersionLog

MOST_AT_ONCE = 16
"""Requests sent together: maintenance leaves room for those who wait."""

K = TypeVar("K")
T = TypeVar("T")

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and how much there is (None: not known)."""


def silent(doing: str, done: int, total: int | None) -> None:
    """A `Progress` that tells nobody."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one open catalog, and what maintenance does with them again and again."""

    storage: Storage
    versions: VersionLog
    nodes: NodeStore
    logs: TransactionLogs
    transactions: TransactionCoordinator
    committer: Committer
    kinds: Kinds
    locations: Locations
    files: MetadataFiles
    clock: Clock
    ids: Ids

    async def keep_up(self, upkeep: Upkeep, summary: str, agent: str) -> int:
        """Commit something about the catalog as a whole; the version that says so."""
        change = Change(Verb.UPDATE, CATALOG_KEY, summary=summary)
        wish = ChangeSet(self.ids.transaction_id(), (change,), agent, upkeep=upkeep)
        return (await self.committer.submit(wish)).version

    async def unfinished(self, *, dry_run: bool = False) -> list[TransactionImage]:
        """Transactions that are open now, sorted by id; sealed ones are brought to their verdict, and those whose time is up ended.

        A dry run writes nothing: it passes over those whose time is up, and takes sealed ones for unfinished.

        Raises `CorruptFileError` for a log that cannot be read: nobody can tell what that transaction needs.
        """
        found: dict[str, TransactionImage] = {}

        async def look(transaction_id: str) -> None:
            try:
                image = await (self.logs.load(transaction_id) if dry_run else self.transactions.image(transaction_id))
            except NoSuchTransactionError:
                # Ended since it was listed.
                return
            except RetryLater:
                # What it needs for its verdict cannot be read now (a table may lie anywhere). Until then it keeps its base.
                image = await self.logs.load(transaction_id)
            if not image.status.final:
                if not (dry_run and image.expired_by(self.clock.now_ms())):
                    found[transaction_id] = image
            elif not dry_run:
                await self.transactions.put_away(transaction_id)

        listed = await self.logs.list_open()
        await each((partial(look, transaction_id) for transaction_id in listed), lambda done: None)
        return [found[transaction_id] for transaction_id in listed if transaction_id in found]


async def ahead(keys: Iterable[K], read: Callable[[K], Awaitable[T]]) -> AsyncGenerator[T, None]:
    """What `read` answers for each key, in their order, while the next ones are being read. Raises what it raises, in turn.

    Use `aclosing`: who stops early leaves no reads behind.
    """

    async def one(key: K) -> T:
        return await read(key)

    waiting = iter(keys)
    under_way: deque[asyncio.Task[T]] = deque()
    try:
        while True:
            while len(under_way) < MOST_AT_ONCE:
                try:
                    key = next(waiting)
                except StopIteration:
                    break
                under_way.append(asyncio.create_task(one(key)))
            if not under_way:
                return
            result = await under_way[0]
            under_way.popleft()
            yield result
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def each(jobs: Iterable[Callable[[], Awaitable[None]]], done: Callable[[int], None]) -> None:
    """Do the jobs, some at the same time; `done` is told how many are. The first error ends it, others are left undone."""
    waiting, count = iter(jobs), 0

    async def work() -> None:
        nonlocal count
        for job in waiting:
            await job()
            count += 1
            done(count)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(MOST_AT_ONCE):
                group.create_task(work())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
