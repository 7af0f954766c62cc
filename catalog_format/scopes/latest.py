"""The latest version as a place, and past versions."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager

from catalog_format.changes import Change, ChangeSet, Committed, IdempotencyWish
from catalog_format.committer import Committer
from catalog_format.errors import ContendedError, LostFileError, MissingFileError, ReadOnlyError, StoreUnavailableError
from catalog_format.ids import Ids
from catalog_format.node import Root
from catalog_format.reader import Reader
from catalog_format.scope import RequestContext
from catalog_format.storage import Storage
from catalog_format.tree.source import NodeSource
from catalog_format.version_log import VersionLog, given_up


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

    def __init__(self, reader: Awaitable[Reader], versions: VersionLog) -> None:
        self._reader = reader
        self._versions = versions
        self._version = 0

    async def __aenter__(self) -> Reader:
        try:
            reader = await self._reader
        except OSError as error:
            raise unreadable(error) from error
        self._version = reader.version
        return reader

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise unreadable(error) from error
        if isinstance(error, LostFileError | MissingFileError) and await self._given_up():
            raise ContendedError(f"Version {self._version} was given up while it was read: read again") from error

    async def _given_up(self) -> bool:
        """Whether files of the version that was read may be gone by right."""
        with only_reading():
            return self._version < (await self._versions.confirm(anew=True)).header.oldest


async def kept(versions: VersionLog, version: int) -> Root:
    """The root of a version that may be read by its number. Raises `NoSuchVersionError`."""
    root = await versions.read(version)
    if version < versions.known.header.oldest:
        # Its root may still lie there, or in the cache: nobody promises its nodes.
        raise given_up(version)
    return root


class LatestPlace:
    """Reads see every commit acknowledged before they began; writes go through the committer."""

    def __init__(self, versions: VersionLog, nodes: NodeSource, storage: Storage, committer: Committer, ids: Ids) -> None:
        self._versions = versions
        self._nodes = nodes
        self._storage = storage
        self._committer = committer
        self._ids = ids
        self._latest: Reader | None = None

    def reading(self, version: int | None = None) -> _Reading:
        return _Reading(self._confirmed() if version is None else self._past(version), self._versions)

    async def peek(self, key: bytes) -> bytes | None:
        try:
            return await self._reader(self._versions.known).definition(key)
        except LostFileError:
            # What this process remembers may have been given up.
            return None

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        wish = ChangeSet(self._ids.transaction_id(), tuple(changes), context.agent, idempotency_of(context), note)
        return await self._committer.submit(wish)

    async def _confirmed(self) -> Reader:
        return self._reader(await self._versions.confirm())

    async def _past(self, version: int) -> Reader:
        return Reader(await kept(self._versions, version), self._nodes, self._storage)

    def _reader(self, root: Root) -> Reader:
        """A reader of the latest root, shared by all who read it."""
        if self._latest is None or self._latest.root is not root:
            self._latest = Reader(root, self._nodes, self._storage)
        return self._latest


class PastPlace:
    """One version for ever; nothing can be written."""

    def __init__(self, version: int, versions: VersionLog, nodes: NodeSource, storage: Storage) -> None:
        self._version = version
        self._versions = versions
        self._nodes = nodes
        self._storage = storage

    def reading(self, version: int | None = None) -> _Reading:
        return _Reading(self._reader(), self._versions)

    async def peek(self, key: bytes) -> bytes | None:
        try:
            return await (await self._reader()).definition(key)
        except LostFileError:
            # Given up since its root was looked at; whoever reads it in earnest is told so.
            return None

    async def _reader(self) -> Reader:
        return Reader(await kept(self._versions, self._version), self._nodes, self._storage)

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        raise ReadOnlyError(f"Version {self._version} is in the past and cannot be written; write to the latest version instead")
