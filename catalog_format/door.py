"""What an open catalog offers: to the server, to the synchronous facade, to embedded users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from catalog_format.changes import IsolationLevel
from catalog_format.keys import Identifier
from catalog_format.scope import NO_CONTEXT, RequestContext, Scope


class TransactionStatus(StrEnum):
    OPEN = "open"
    SEALED = "sealed"
    COMMITTED = "committed"
    REFUSED = "refused"
    ROLLED_BACK = "rolled-back"
    EXPIRED = "expired"

    @property
    def final(self) -> bool:
        return self not in {TransactionStatus.OPEN, TransactionStatus.SEALED}


@dataclass(frozen=True, slots=True)
class TransactionInfo:
    """A distributed transaction as it stands. Times are milliseconds since the epoch."""

    transaction_id: str
    status: TransactionStatus
    isolation: IsolationLevel
    base_version: int
    version: int | None
    """The version that its commit produced."""
    began_at_ms: int
    expires_at_ms: int
    ended_at_ms: int | None
    reason: str
    properties: Mapping[str, str]
    """Set by clients (`owner`, `comment`, …), kept as they are."""


class Transactions(Protocol):
    """BEGIN, COMMIT and ROLLBACK of transactions that any process can continue. Ids: 1 to 128 of [A-Za-z0-9_.-]."""

    async def begin(
        self,
        transaction_id: str,
        isolation: IsolationLevel = IsolationLevel.SNAPSHOT,
        ttl_ms: int | None = None,
        properties: Mapping[str, str] | None = None,
        context: RequestContext = NO_CONTEXT,
    ) -> TransactionInfo:
        """Raises `AlreadyExistsError` when the id was ever used, `InvalidArgumentError` for a bad id or lifetime."""
        ...

    async def load(self, transaction_id: str) -> TransactionInfo:
        """Ended ones too, as long as their log is kept. Raises `NoSuchTransactionError`."""
        ...

    async def list_open(self) -> list[TransactionInfo]:
        """Unfinished ones, sorted by id."""
        ...

    async def set_properties(self, transaction_id: str, removals: list[str], updates: Mapping[str, str]) -> TransactionInfo:
        """Properties of the transaction's namespace. Raises `NoSuchTransactionError`, `TransactionEndedError`."""
        ...

    async def commit(self, transaction_id: str, context: RequestContext = NO_CONTEXT) -> TransactionInfo:
        """Twice answers as the first did. Raises `TransactionRefusedError`, `TransactionEndedError` (rolled back, expired)."""
        ...

    async def rollback(self, transaction_id: str) -> None:
        """Raises `NoSuchTransactionError`, `TransactionEndedError` when it was committed; twice is no error."""
        ...


class Catalog(Protocol):
    """An open catalog. `catalog_format.catalog.open_catalog` makes one."""

    @property
    def url(self) -> str: ...

    @property
    def main(self) -> Scope:
        """The latest state; every read sees what was acknowledged before it began."""
        ...

    @property
    def transactions(self) -> Transactions: ...

    async def properties(self) -> Mapping[str, str]:
        """Properties of the catalog itself, such as `list-system-namespace`."""
        ...

    async def latest_version(self) -> int:
        """Confirmed."""
        ...

    async def version_at(self, timestamp_ms: int) -> int:
        """The version that was the latest at that moment. Raises `NoSuchVersionError` before the first one."""
        ...

    async def at(self, version: int) -> Scope:
        """A past version, read only. Raises `NoSuchVersionError`."""
        ...

    async def within(self, transaction_id: str) -> Scope:
        """The catalog as an open transaction sees it. Raises `NoSuchTransactionError`, `TransactionEndedError`."""
        ...

    async def close(self) -> None:
        """Finish what was taken and release the store."""
        ...


__all__ = ["Catalog", "Identifier", "IsolationLevel", "TransactionInfo", "TransactionStatus", "Transactions"]
