"""The latest version as a place, and past versions."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager

from catalog_format.changes import Change, ChangeSet, Committed, IdempotencyWish
from catalog_format.committer import Committer
from catalog_format.errors import ReadOnlyError, StoreUnavailableError
from catalog_format.ids import Ids
from catalog_format.node import Root
from catalog_format.reader import Reader
from catalog_format.scope import RequestContext
from catalog_format.storage import Storage
from catalog_format.tree.source import NodeSource
from catalog_format.version_log import VersionLog


def idempotency_of(context: RequestContext) -> IdempotencyWish | None:
    if context.idempotency_key is None:
        return None
    return IdempotencyWish(context.idempotency_key, context.request_hash)


@contextmanager
def only_reading() -> Iterator[None]:
    """Nothing is written within it, so a store that cannot be reached has surely done nothing."""
    try:
        yield
    except OSError as error:
        raise unreadable(error) from error


def unreadable(error: BaseException) -> StoreUnavailableError:
    return StoreUnavailableError(f"The store could not be read: {error}")


class _Reading:
    """`async with` around reading one root; cheaper than a generator, and a load does little else."""

    def __init__(self, root: Awaitable[Root], nodes: NodeSource, storage: Storage) -> None:
        self._root = root
        self._nodes = nodes
        self._storage = storage

    async def __aenter__(self) -> Reader:
        with only_reading():
            return Reader(await self._root, self._nodes, self._storage)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise unreadable(error) from error


class LatestPlace:
    """Reads see every commit acknowledged before they began; writes go through the committer."""

    def __init__(self, versions: VersionLog, nodes: NodeSource, storage: Storage, committer: Committer, ids: Ids) -> None:
        self._versions = versions
        self._nodes = nodes
        self._storage = storage
        self._committer = committer
        self._ids = ids

    def reading(self, version: int | None = None) -> _Reading:
        root = self._versions.confirm() if version is None else self._versions.read(version)
        return _Reading(root, self._nodes, self._storage)

    async def peek(self, key: bytes) -> bytes | None:
        return await Reader(self._versions.known, self._nodes, self._storage).definition(key)

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        wish = ChangeSet(self._ids.transaction_id(), tuple(changes), context.agent, idempotency_of(context), note)
        return await self._committer.submit(wish)


class PastPlace:
    """One version for ever; nothing can be written."""

    def __init__(self, version: int, versions: VersionLog, nodes: NodeSource, storage: Storage) -> None:
        self._version = version
        self._versions = versions
        self._nodes = nodes
        self._storage = storage

    def reading(self, version: int | None = None) -> _Reading:
        return _Reading(self._versions.read(self._version), self._nodes, self._storage)

    async def peek(self, key: bytes) -> bytes | None:
        return await Reader(await self._versions.read(self._version), self._nodes, self._storage).definition(key)

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        raise ReadOnlyError(f"Version {self._version} is in the past and cannot be written; write to the latest version instead")
