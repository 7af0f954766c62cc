"""Distributed transactions as their logs and the tree tell of them. Looking changes nothing: none is expired or finished by it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from catalog_format.catalog import StoredCatalog
from catalog_format.clock import Clock, iso
from catalog_format.distributed.image import TransactionImage
from catalog_format.door import TransactionStatus
from catalog_format.errors import NoSuchTransactionError
from catalog_format.keys import USER_TYPES, type_of
from irc_server.cli.facts.actions import ActionFacts, action_of, range_words, read_words
from irc_server.cli.facts.history import actions_in, verdict_in

_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class TransactionFacts:
    """A distributed transaction."""

    id: str
    status: str
    """open, sealed, committed, refused, rolled-back or expired (also if nobody has written that down yet)."""
    isolation: str
    base_version: int
    version: int | None
    """The version that its commit produced (the base, if it had nothing to commit)."""
    began_at: str
    expires_at: str | None
    """None once it has ended."""
    ended_at: str | None
    reason: str
    properties: dict[str, str]
    changes: tuple[ActionFacts, ...]
    reads: tuple[str, ...]
    """What a serializable one read, in words; not kept beyond its end."""


async def open_transactions(catalog: StoredCatalog, clock: Clock) -> list[TransactionFacts]:
    """Those without a final state, sorted by id. Raises `CorruptFileError`."""
    found = []
    for transaction_id in await catalog.logs.list_open():
        try:
            image = await catalog.logs.load(transaction_id)
        except NoSuchTransactionError:
            # It ended between the listing and now.
            continue
        if not image.status.final:
            found.append(await _facts(catalog, image, clock))
    return found


async def transaction(catalog: StoredCatalog, transaction_id: str, clock: Clock) -> TransactionFacts:
    """One of them, ended or not. Raises `NoSuchTransactionError`, `CorruptFileError`."""
    if not _ID.fullmatch(transaction_id):
        raise NoSuchTransactionError(f"Transaction does not exist: {transaction_id}")
    return await _facts(catalog, await catalog.logs.load(transaction_id), clock)


async def _facts(catalog: StoredCatalog, image: TransactionImage, clock: Clock) -> TransactionFacts:
    status, version, reason = image.status, image.committed_version, image.reason
    ended_ms = image.written_at_ms if status.final else None
    if status is TransactionStatus.SEALED:
        # The verdict stands in the tree before the log repeats it.
        outcome = await verdict_in(catalog, await catalog.versions.confirm(), image.base_version, image.transaction_id)
        if outcome is not None:
            status = TransactionStatus.COMMITTED if outcome.committed else TransactionStatus.REFUSED
            version, reason, ended_ms = outcome.version if outcome.committed else None, outcome.reason, outcome.decided_at_ms
    elif image.expired_by(clock.now_ms()):
        status, reason, ended_ms = TransactionStatus.EXPIRED, "its lifetime passed without a commit", image.expires_at_ms
    changes = tuple(action_of(entry.change) for entry in image.changes if type_of(entry.change.key) in USER_TYPES)
    if status is TransactionStatus.COMMITTED and not changes and version is not None:
        # A final state does not repeat the changes; the root of the version does.
        changes = await actions_in(catalog, version, image.transaction_id)
    reads = [read_words(key) for key in sorted(image.reads.points)] + [range_words(*span) for span in sorted(image.reads.ranges)]
    return TransactionFacts(
        id=image.transaction_id,
        status=status.value,
        isolation=image.isolation.value,
        base_version=image.base_version,
        version=version,
        began_at=iso(image.began_at_ms),
        expires_at=iso(image.expires_at_ms) if status is TransactionStatus.OPEN else None,
        ended_at=None if ended_ms is None else iso(ended_ms),
        reason=reason,
        properties=dict(image.properties),
        changes=changes,
        reads=tuple(reads),
    )
