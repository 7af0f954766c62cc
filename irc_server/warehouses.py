"""Warehouses: a root as it is now, as it was, or as a transaction sees it; and the prefixes that stand for them in paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from catalog_format.door import Catalog
from catalog_format.errors import NoSuchNamespaceError, NoSuchTransactionError, NoSuchWarehouseError, TransactionEndedError
from catalog_format.names import SYSTEM, TRANSACTION_PREFIX, TRANSACTIONS
from catalog_format.scope import Scope
from irc_server.roots import Root, Roots
from irc_server.wire.moments import timestamp_ms

LATEST = "latest"
_VERSION = re.compile(r"v([0-9]{1,20})")
_TRANSACTION_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class View(Enum):
    """Which state of a root is meant."""

    MAIN = auto()
    VERSION = auto()
    TRANSACTION = auto()


@dataclass(frozen=True, slots=True)
class Warehouse:
    """One state of one root."""

    root: Root
    view: View = View.MAIN
    version: int = 0
    transaction_id: str = ""

    @property
    def prefix(self) -> str:
        """One URL-safe segment that names this again."""
        match self.view:
            case View.MAIN:
                return self.root.name
            case View.VERSION:
                return f"{self.root.name}@v{self.version}"
            case View.TRANSACTION:
                return f"{self.root.name}@{TRANSACTION_PREFIX}{self.transaction_id}"

    async def scope(self, *, write: bool) -> Scope:
        """Where the operations of a request take place."""
        catalog = await self.root.catalog()
        match self.view:
            case View.MAIN:
                return catalog.main
            case View.VERSION:
                return await catalog.at(self.version)
            case View.TRANSACTION:
                return await within(catalog, self.transaction_id, write=write)


def by_prefix(roots: Roots, prefix: str | None) -> Warehouse:
    """What the prefix of a path names: only what `Warehouse.prefix` gives out. Raises `NoSuchWarehouseError`."""
    if prefix is None:
        return Warehouse(roots.first)
    root = roots.get(prefix)
    if root is not None:
        return Warehouse(root)
    name, separator, state = prefix.rpartition("@")
    root = roots.get(name) if separator else None
    warehouse = None if root is None else _stated(root, state)
    if warehouse is None:
        raise roots.missing(prefix, "ask /v1/config for the prefix of a warehouse")
    return warehouse


def _stated(root: Root, state: str) -> Warehouse | None:
    """A state that is written in full: `v<N>` or `dtxn_<id>`."""
    version = _VERSION.fullmatch(state)
    if version:
        return Warehouse(root, View.VERSION, int(version[1]))
    if state.startswith(TRANSACTION_PREFIX):
        return Warehouse(root, View.TRANSACTION, transaction_id=state.removeprefix(TRANSACTION_PREFIX))
    return None


async def find_warehouse(roots: Roots, text: str | None) -> Warehouse:
    """What a client's `warehouse` names, proven to be there. Times and `@latest` are pinned to a version.

    Raises `NoSuchWarehouseError` and what tells that a version or a transaction is not there.
    """
    whole = (roots.get(text) or roots.by_url(text)) if text else roots.first
    if whole is not None:
        return Warehouse(whole)
    assert text is not None
    name, _, state = text.rpartition("@")
    root = roots.get(name) or roots.by_url(name)
    if root is None:
        raise roots.missing(text)
    warehouse = _stated(root, state) or await _pinned(root, state)
    catalog = await root.catalog()
    if warehouse.view is View.VERSION:
        await catalog.at(warehouse.version)
    else:
        try:
            await within(catalog, warehouse.transaction_id, write=False)
        except NoSuchNamespaceError as error:
            raise NoSuchWarehouseError(f"Warehouse does not exist: {text}: {error.message}") from error
    return warehouse


async def _pinned(root: Root, state: str) -> Warehouse:
    if state.startswith(("branch:", "tag:")):
        raise NoSuchWarehouseError(f"Warehouse does not exist: {root.name}@{state}; branches and tags are not served yet")
    if state == LATEST:
        return Warehouse(root, View.VERSION, await (await root.catalog()).latest_version())
    moment = timestamp_ms(state)
    if moment is None:
        raise NoSuchWarehouseError(
            f"Warehouse does not exist: {root.name}@{state}; a state is written @v<number>, @{TRANSACTION_PREFIX}<id>, @{LATEST}, "
            "or a time such as @2026-11-21T12:00:00Z"
        )
    return Warehouse(root, View.VERSION, await (await root.catalog()).version_at(moment))


def check_transaction_id(transaction_id: str) -> str:
    """Raises `NoSuchTransactionError` for what cannot be one, before it becomes part of a file's name."""
    if not _TRANSACTION_ID.fullmatch(transaction_id) or transaction_id in {".", ".."}:
        raise NoSuchTransactionError(f"Transaction does not exist: {transaction_id!r} (ids are letters, digits, '_', '.' and '-')")
    return transaction_id


async def within(catalog: Catalog, transaction_id: str, *, write: bool) -> Scope:
    """A transaction's scope. To a reader an ended one is gone (404); a writer is told that it has ended (409)."""
    name = f"{SYSTEM}.{TRANSACTIONS}.{TRANSACTION_PREFIX}{transaction_id}"
    try:
        return await catalog.within(check_transaction_id(transaction_id))
    except NoSuchTransactionError as error:
        raise NoSuchNamespaceError(f"Namespace does not exist: {name}") from error
    except TransactionEndedError as error:
        if write:
            raise
        raise NoSuchNamespaceError(f"Namespace does not exist: {name}: {error.message}") from error
