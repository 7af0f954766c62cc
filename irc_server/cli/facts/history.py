"""The versions of a catalog and what each did, from the actions sections of their roots."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from catalog_format.catalog import StoredCatalog
from catalog_format.changes import isolation_from_pb
from catalog_format.clock import iso
from catalog_format.definitions import read_definition
from catalog_format.door import TransactionStatus
from catalog_format.errors import LostFileError, NoSuchTransactionError
from catalog_format.keys import outcome_key
from catalog_format.node import Root
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.tree import lookup
from irc_server.cli.facts.actions import ActionFacts, action_of

# Roots read at the same time.
_AHEAD = 16


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What one transaction did in a version. Plain commits are transactions too, of one request."""

    id: str
    agent: str
    """Who asked, as the client said."""
    isolation: str
    base_version: int
    ordered_before: int | None
    """The version before whose changes it has its place, which had overwritten what it read; None if its place is its own version."""
    refusal: str | None
    """Why its commit was refused; None if it was not."""
    actions: tuple[ActionFacts, ...]


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version: when it was made, and by what."""

    version: int
    created_at: str
    given_up: bool
    """Whether its state cannot be read any more, or is not promised any more."""
    transactions: tuple[RecordFacts, ...]


async def history(catalog: StoredCatalog, limit: int) -> AsyncGenerator[VersionFacts, None]:
    """Versions, newest first, those given up included; at most `limit`, all if that is 0. Raises `CorruptFileError`."""
    latest = await catalog.versions.confirm()
    versions = range(latest.version, -1, -1)
    waiting = deque(versions[:limit] if limit else versions)
    reading: deque[asyncio.Task[VersionFacts]] = deque()
    try:
        while waiting or reading:
            while waiting and len(reading) < _AHEAD:
                reading.append(asyncio.create_task(_version(catalog, waiting.popleft(), latest.header.oldest)))
            yield await reading.popleft()
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def actions_in(catalog: StoredCatalog, version: int, transaction_id: str) -> tuple[ActionFacts, ...]:
    """What a transaction did in a version; nothing if that version does not name it."""
    for row in (await catalog.versions.trace(version)).actions:
        record = pb.TransactionRecord.FromString(row.value or b"")
        if record.transaction_id == transaction_id:
            return tuple(action_of(action) for action in record.actions)
    return ()


async def verdict_in(catalog: StoredCatalog, root: Root, base_version: int, transaction_id: str) -> pb.Outcome | None:
    """The verdict on a distributed transaction, if `root` holds one."""
    entry = await lookup(root, outcome_key(base_version, transaction_id), catalog.nodes)
    if entry is None:
        return None
    return pb.Outcome.FromString(await read_definition(entry.value or b"", catalog.storage))


async def _version(catalog: StoredCatalog, version: int, oldest: int) -> VersionFacts:
    root = await catalog.versions.trace(version)
    records = [await _record(catalog, root, row.value or b"") for row in root.actions]
    return VersionFacts(version, iso(root.header.created_at_ms), root.stub or version < oldest, tuple(records))


async def _record(catalog: StoredCatalog, root: Root, data: bytes) -> RecordFacts:
    record = pb.TransactionRecord.FromString(data)
    actions = tuple(action_of(action) for action in record.actions)
    # Without actions it only read, or it was refused: the verdict tells.
    refusal = None if actions else await _refusal(catalog, root, record)
    ordered_before = record.ordered_before.version if record.HasField("ordered_before") else None
    isolation = isolation_from_pb(record.isolation).value
    return RecordFacts(record.transaction_id, record.agent, isolation, record.base_version, ordered_before, refusal, actions)


async def _refusal(catalog: StoredCatalog, root: Root, record: pb.TransactionRecord) -> str | None:
    """Why a transaction was refused in a version; None if it was not."""
    if not root.stub:
        try:
            outcome = await verdict_in(catalog, root, record.base_version, record.transaction_id)
            return outcome.reason if outcome is not None and not outcome.committed else None
        except LostFileError:
            # Given up, though its root is not a stub yet.
            pass
    # A stub holds no verdicts; the transaction's log repeats them.
    try:
        image = await catalog.logs.load(record.transaction_id)
    except NoSuchTransactionError:
        return None
    return image.reason if image.status is TransactionStatus.REFUSED else None
