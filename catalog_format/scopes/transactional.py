"""A distributed transaction as a place: its base version and its own changes, for reads and writes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from catalog_format.changes import NO_READS, Change, Committed, IsolationLevel, ReadSet, RecordedChange, Verb
from catalog_format.clock import Clock
from catalog_format.distributed.coordinator import TransactionCoordinator, ended
from catalog_format.distributed.image import TransactionImage
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    LostFileError,
    MissingFileError,
    NoSuchNamespaceError,
    NoSuchVersionError,
    TreelineError,
    UnknownOutcomeError,
)
from catalog_format.idempotency import answer_entry, earlier_answer
from catalog_format.ids import Ids
from catalog_format.kinds import Kinds, Upload
from catalog_format.node import Root
from catalog_format.reader import Reader
from catalog_format.scope import RequestContext
from catalog_format.scopes.latest import idempotency_of, only_reading
from catalog_format.staging import Stage
from catalog_format.storage import Storage
from catalog_format.tree.source import NodeSource
from catalog_format.version_log import VersionLog


class TrackingReader(Reader):
    """Notes what is read, absent keys and listed ranges included."""

    def __init__(self, root: Root, nodes: NodeSource, storage: Storage, overlay: Mapping[bytes, bytes | None]) -> None:
        super().__init__(root, nodes, storage, overlay)
        self._points: set[bytes] = set()
        self._ranges: set[tuple[bytes, bytes]] = set()

    @property
    def reads(self) -> ReadSet:
        return ReadSet(frozenset(self._points), frozenset(self._ranges))

    async def definition(self, key: bytes) -> bytes | None:
        self._points.add(key)
        return await super().definition(key)

    async def exists(self, key: bytes) -> bool:
        self._points.add(key)
        return await super().exists(key)

    def scan(self, low: bytes, high: bytes, after: bytes | None = None) -> AsyncGenerator[bytes, None]:
        self._ranges.add((low, high))
        return super().scan(low, high, after)


class TransactionPlace:
    """One transaction, however many processes work in it."""

    def __init__(
        self,
        transaction_id: str,
        coordinator: TransactionCoordinator,
        versions: VersionLog,
        nodes: NodeSource,
        storage: Storage,
        kinds: Kinds,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._id = transaction_id
        self._coordinator = coordinator
        self._versions = versions
        self._nodes = nodes
        self._storage = storage
        self._kinds = kinds
        self._clock = clock
        self._ids = ids

    @asynccontextmanager
    async def reading(self, version: int | None = None) -> AsyncIterator[Reader]:
        image = await self._coordinator.image(self._id)
        if image.status is not TransactionStatus.OPEN:
            raise NoSuchNamespaceError(f"Namespace does not exist: {ended(image).message}")
        with only_reading():
            reader = await self._reader(image)
        try:
            with only_reading():
                yield reader
        except (LostFileError, MissingFileError):
            # Its files are nobody's any more, if it has ended meanwhile.
            image = await self._coordinator.image(self._id)
            if image.status is not TransactionStatus.OPEN:
                raise NoSuchNamespaceError(f"Namespace does not exist: {ended(image).message}") from None
            await self._check_base(image)
            raise
        finally:
            # What is about to be answered, be it "there is no such thing", must be in the log first.
            await self._record_reads(image, reader)

    async def peek(self, key: bytes) -> bytes | None:
        image = self._coordinator.known_open(self._id)
        if image is None:
            return None
        try:
            return await (await self._reader(image)).definition(key)
        except LostFileError:
            # It has ended since, and what it was based on was given up; whoever reads it in earnest is told so.
            return None

    async def write(self, changes: Sequence[Change], context: RequestContext, note: bytes = b"") -> Committed:
        image, fresh = self._coordinator.known_open(self._id), False
        while True:
            if image is None:
                image, fresh = await self._coordinator.image(self._id), True
            if image.status is not TransactionStatus.OPEN:
                raise ended(image)
            with only_reading():
                reader = await self._reader(image)
            try:
                done = await self._try_to_write(image, reader, changes, context, note)
            except UnknownOutcomeError:
                # It may stand in the log; done again on a newer image it would be done twice.
                raise
            except TreelineError as error:
                # On what this process remembers a refusal may be wrong: somebody else may have gone on.
                if fresh:
                    if isinstance(error, LostFileError | MissingFileError):
                        await self._check_base(image)
                    # A refusal tells what is there, so it is a read.
                    await self._record_reads(image, reader)
                    raise
                done = None
            if done is not None:
                return done
            image = None

    async def _try_to_write(
        self, image: TransactionImage, reader: Reader, changes: Sequence[Change], context: RequestContext, note: bytes
    ) -> Committed | None:
        """None if the transaction moved on meanwhile."""
        wish = idempotency_of(context)
        if wish is not None:
            earlier = await earlier_answer(reader, wish)
            if earlier is not None:
                return earlier
        now_ms = self._clock.now_ms()
        stage = Stage(reader, self._kinds, now_ms)
        slots = await stage.apply(changes)
        await self._coordinator.check_clock()
        failures = await stage.store(Upload(self._ids.attempt_id(), self._id))
        for failure in failures.values():
            raise failure
        recorded = [
            RecordedChange(change, None if change.verb is Verb.DROP else slots[change.target or change.key].definition)
            for change in stage.applied
            if change.key in slots
        ]
        definitions = {key: slot.definition for key, slot in slots.items()}
        for change in changes:
            # What changed nothing is answered with the object as it stands.
            if change.key not in definitions:
                definitions[change.key] = await reader.definition(change.key)
        done = Committed(image.base_version, definitions, note)
        if wish is not None:
            key, answer = answer_entry(wish, done, now_ms)
            recorded.append(RecordedChange(Change(Verb.CREATE, key), answer))
        reads = reader.reads - image.reads if isinstance(reader, TrackingReader) else NO_READS
        if not recorded and not reads:
            return done
        if await self._coordinator.record(image, recorded, reads) is None:
            return None
        return done

    async def _reader(self, image: TransactionImage) -> Reader:
        kind = TrackingReader if image.isolation is IsolationLevel.SERIALIZABLE else Reader
        try:
            base = await self._versions.read(image.base_version)
        except NoSuchVersionError:
            # Only a transaction that nobody could find among the open ones loses its base.
            raise ended(await self._coordinator.give_up(image)) from None
        return kind(base, self._nodes, self._storage, image.overlay())

    async def _check_base(self, image: TransactionImage) -> None:
        """Raise that the transaction has ended if its base is gone, whose root this process may remember."""
        self._versions.forget(image.base_version)
        await self._reader(image)
        if image.base_version < (await self._versions.confirm(anew=True)).header.oldest:
            # Given up, and no stub yet.
            raise ended(await self._coordinator.give_up(image))

    async def _record_reads(self, image: TransactionImage, reader: Reader) -> None:
        if isinstance(reader, TrackingReader):
            await self._coordinator.record_reads(image, reader.reads)
