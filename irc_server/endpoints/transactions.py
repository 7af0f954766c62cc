"""A transaction's namespace, `sys.dtxns.dtxn_<id>`: making it begins, its property `commit` commits, dropping it rolls back."""

from __future__ import annotations

from collections.abc import Mapping

from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionInfo
from catalog_format.errors import InvalidArgumentError, NoSuchTransactionError, ReadOnlyError, TransactionEndedError
from catalog_format.keys import Identifier
from catalog_format.names import resolve
from catalog_format.scope import Listing, Page, PropertiesUpdate
from irc_server.call import Call, no_namespace
from irc_server.idempotency import remember_success
from irc_server.warehouses import View, check_transaction_id

ISOLATION = "isolation-level"
TTL = "ttl-millis"
COMMIT = ("commit", "committed")
# Shown by the namespace and known to Treeline alone.
_TOLD = frozenset({"status", "base-version", "version", "began-at", "ended-at", "expires-at", "reason"})
_LONGEST_NUMBER = 18


class Transaction:
    """One transaction, open or ended."""

    def __init__(self, call: Call, namespace: Identifier, transaction_id: str) -> None:
        self._call = call
        self._namespace = namespace
        self._id = transaction_id

    async def children(self, page: Page | None) -> Listing:
        """The top-level namespaces, as the transaction sees them."""
        target = await self._call.target(resolve(self._namespace), write=False)
        listing = await target.scope.list_namespaces((), page)
        return Listing([target.shown(item) for item in listing.items], listing.next_token)

    async def load(self) -> Mapping[str, str]:
        return _shown(await self._info())

    async def check_exists(self) -> None:
        await self._info()

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        """BEGIN."""
        if self._call.warehouse.view is View.VERSION:
            raise ReadOnlyError(f"A transaction cannot begin in a past version; begin it in warehouse {self._call.root.name}")
        refused = sorted(properties.keys() & {*_TOLD, *COMMIT})
        if refused:
            raise InvalidArgumentError(f"Property {refused[0]} cannot be given when a transaction begins")
        kept = {key: value for key, value in properties.items() if key not in {ISOLATION, TTL}}
        isolation, ttl_ms = _isolation(properties), self._ttl_ms(properties)
        transactions = (await self._call.root.catalog()).transactions
        info = await transactions.begin(self._id, isolation, ttl_ms, kept, self._call.context())
        remember_success(self._call.request.scope)
        return _shown(info)

    def _ttl_ms(self, properties: Mapping[str, str]) -> int:
        text = properties.get(TTL)
        if text is None:
            return self._call.services.settings.transaction_ttl_minutes * 60_000
        if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
            raise InvalidArgumentError(f"{TTL} must be a positive number of milliseconds, not {text[:40]!r}")
        return int(text)

    async def update(self, removals: list[str], updates: Mapping[str, str]) -> PropertiesUpdate:
        """COMMIT, when `commit` is set to true; other properties are set before."""
        wanted = [key for key in COMMIT if key in updates]
        for key in wanted:
            if updates[key].strip().lower() != "true":
                raise InvalidArgumentError(f"{key} can be set to true only, not {updates[key]!r}; drop the namespace to roll back")
        fixed = sorted({*_TOLD, ISOLATION, TTL} & (updates.keys() | set(removals)))
        if fixed:
            raise InvalidArgumentError(f"Property {fixed[0]} of a transaction cannot be changed")
        transactions = (await self._call.root.catalog()).transactions
        before = (await self._info()).properties
        others = {key: value for key, value in updates.items() if key not in COMMIT}
        try:
            if others or removals:
                await transactions.set_properties(self._id, removals, others)
        except TransactionEndedError:
            # A repeated commit is answered as the first was; the commit itself says what is wrong otherwise.
            if not wanted:
                raise
        if wanted:
            await transactions.commit(self._id, self._call.context())
        gone = sorted(set(removals))
        return PropertiesUpdate(sorted(updates), [key for key in gone if key in before], [key for key in gone if key not in before])

    async def drop(self) -> None:
        """ROLLBACK; that the transaction shows content does not matter."""
        transactions = (await self._call.root.catalog()).transactions
        try:
            await transactions.rollback(check_transaction_id(self._id))
        except NoSuchTransactionError as error:
            raise no_namespace(self._namespace) from error

    async def _info(self) -> TransactionInfo:
        catalog = await self._call.root.catalog()
        try:
            return await catalog.transactions.load(check_transaction_id(self._id))
        except NoSuchTransactionError as error:
            raise no_namespace(self._namespace) from error


def _isolation(properties: Mapping[str, str]) -> IsolationLevel:
    text = properties.get(ISOLATION, IsolationLevel.SNAPSHOT.value)
    try:
        return IsolationLevel(text.strip().lower())
    except ValueError:
        raise InvalidArgumentError(f"{ISOLATION} must be {' or '.join(IsolationLevel)}, not {text[:40]!r}") from None


def _shown(info: TransactionInfo) -> dict[str, str]:
    """A transaction as its namespace's properties; times in milliseconds since the epoch."""
    told = {
        "status": info.status.value,
        ISOLATION: info.isolation.value,
        "base-version": str(info.base_version),
        "began-at": str(info.began_at_ms),
        "expires-at": str(info.expires_at_ms),
    }
    if info.version is not None:
        told["version"] = str(info.version)
    if info.ended_at_ms is not None:
        told["ended-at"] = str(info.ended_at_ms)
    if info.reason:
        told["reason"] = info.reason
    return {**info.properties, **told}
