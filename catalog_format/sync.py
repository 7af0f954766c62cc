"""A synchronous facade, for embedded use: notebooks, jobs, PyIceberg. No server, no event loop of one's own.

with sync.open_catalog("/data/warehouse", init=True) as catalog:
    catalog.main.create_namespace(("sales",), {})
    with catalog.transaction() as inside:
        inside.commit_tables([...])
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from catalog_format import catalog as asynchronous
from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionInfo
from catalog_format.ids import SystemIds
from catalog_format.keys import Identifier
from catalog_format.maintenance.collect import CollectReport, collect
from catalog_format.maintenance.expire import ExpireReport, ExpiryPolicy, expire
from catalog_format.scope import (
    NO_CONTEXT,
    Json,
    Listing,
    LoadedMetadata,
    NewTable,
    NewView,
    Page,
    PropertiesUpdate,
    RequestContext,
    Scope,
    TableCommit,
)

T = TypeVar("T")


class _Loop:
    """An event loop in a thread of its own, which ends with the catalog."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="treeline", daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[T]) -> T:
        return asyncio.run_coroutine_threadsafe(_as_coroutine(work), self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _as_coroutine(work: Awaitable[T]) -> Coroutine[Any, Any, T]:
    async def awaited() -> T:
        return await work

    return awaited()


class SyncScope:
    """The operations of `scope.Scope`, each returning its result. Safe to use from several threads."""

    def __init__(self, scope: Scope, loop: _Loop) -> None:
        self._scope = scope
        self._run = loop.run

    def list_namespaces(self, parent: Identifier = (), page: Page | None = None) -> Listing:
        return self._run(self._scope.list_namespaces(parent, page))

    def load_namespace(self, namespace: Identifier) -> dict[str, str]:
        return self._run(self._scope.load_namespace(namespace))

    def namespace_exists(self, namespace: Identifier) -> bool:
        return self._run(self._scope.namespace_exists(namespace))

    def create_namespace(
        self, namespace: Identifier, properties: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> dict[str, str]:
        return self._run(self._scope.create_namespace(namespace, properties, context))

    def update_namespace(
        self, namespace: Identifier, removals: Sequence[str], updates: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> PropertiesUpdate:
        return self._run(self._scope.update_namespace(namespace, removals, updates, context))

    def drop_namespace(self, namespace: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        self._run(self._scope.drop_namespace(namespace, context))

    def list_tables(self, namespace: Identifier, page: Page | None = None) -> Listing:
        return self._run(self._scope.list_tables(namespace, page))

    def load_table(self, table: Identifier) -> LoadedMetadata:
        return self._run(self._scope.load_table(table))

    def table_exists(self, table: Identifier) -> bool:
        return self._run(self._scope.table_exists(table))

    def table_location(self, table: Identifier) -> str | None:
        return self._run(self._scope.table_location(table))

    def create_table(self, table: Identifier, new: NewTable, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        return self._run(self._scope.create_table(table, new, context))

    def stage_table(self, table: Identifier, new: NewTable) -> Json:
        return self._run(self._scope.stage_table(table, new))

    def register_table(
        self, table: Identifier, metadata_location: str, overwrite: bool = False, context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata:
        return self._run(self._scope.register_table(table, metadata_location, overwrite, context))

    def commit_tables(self, commits: Sequence[TableCommit], context: RequestContext = NO_CONTEXT) -> list[LoadedMetadata]:
        return self._run(self._scope.commit_tables(commits, context))

    def drop_table(self, table: Identifier, purge: bool = False, context: RequestContext = NO_CONTEXT) -> None:
        self._run(self._scope.drop_table(table, purge, context))

    def unregister_table(self, table: Identifier, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        return self._run(self._scope.unregister_table(table, context))

    def rename_table(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        self._run(self._scope.rename_table(source, target, context))

    def list_views(self, namespace: Identifier, page: Page | None = None) -> Listing:
        return self._run(self._scope.list_views(namespace, page))

    def load_view(self, view: Identifier) -> LoadedMetadata:
        return self._run(self._scope.load_view(view))

    def view_exists(self, view: Identifier) -> bool:
        return self._run(self._scope.view_exists(view))

    def view_location(self, view: Identifier) -> str | None:
        return self._run(self._scope.view_location(view))

    def create_view(self, view: Identifier, new: NewView, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        return self._run(self._scope.create_view(view, new, context))

    def register_view(self, view: Identifier, metadata_location: str, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        return self._run(self._scope.register_view(view, metadata_location, context))

    def replace_view(
        self, view: Identifier, requirements: Sequence[Json], updates: Sequence[Json], context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata:
        return self._run(self._scope.replace_view(view, requirements, updates, context))

    def drop_view(self, view: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        self._run(self._scope.drop_view(view, context))

    def rename_view(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        self._run(self._scope.rename_view(source, target, context))


class SyncCatalog:
    """An open catalog. Close it, or use it in a `with` statement."""

    def __init__(self, catalog: asynchronous.StoredCatalog, loop: _Loop) -> None:
        self._catalog = catalog
        self._loop = loop
        self._ids = SystemIds()

    @property
    def url(self) -> str:
        return self._catalog.url

    @property
    def main(self) -> SyncScope:
        """The latest version, whichever that is at each call."""
        return SyncScope(self._catalog.main, self._loop)

    def latest_version(self) -> int:
        return self._loop.run(self._catalog.latest_version())

    def at(self, version: int) -> SyncScope:
        """A past version, read only. Raises `NoSuchVersionError`."""
        return SyncScope(self._loop.run(self._catalog.at(version)), self._loop)

    def at_timestamp(self, timestamp_ms: int) -> SyncScope:
        """What was the latest version at that moment (milliseconds since the epoch)."""
        return self.at(self._loop.run(self._catalog.version_at(timestamp_ms)))

    def begin(
        self,
        transaction_id: str | None = None,
        isolation: IsolationLevel = IsolationLevel.SNAPSHOT,
        ttl_ms: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> TransactionInfo:
        """Begin a transaction that any process can continue; without an id, one is drawn."""
        chosen = transaction_id or self._ids.transaction_id()
        return self._loop.run(self._catalog.transactions.begin(chosen, isolation, ttl_ms, properties))

    def within(self, transaction_id: str) -> SyncScope:
        """The catalog as an open transaction sees it. Raises `NoSuchTransactionError`, `TransactionEndedError`."""
        return SyncScope(self._loop.run(self._catalog.within(transaction_id)), self._loop)

    def load_transaction(self, transaction_id: str) -> TransactionInfo:
        return self._loop.run(self._catalog.transactions.load(transaction_id))

    def list_transactions(self) -> list[TransactionInfo]:
        """The open ones."""
        return self._loop.run(self._catalog.transactions.list_open())

    def commit(self, transaction_id: str) -> TransactionInfo:
        """Raises `TransactionRefusedError`, `TransactionEndedError`."""
        return self._loop.run(self._catalog.transactions.commit(transaction_id))

    def rollback(self, transaction_id: str) -> None:
        self._loop.run(self._catalog.transactions.rollback(transaction_id))

    @contextmanager
    def transaction(self, isolation: IsolationLevel = IsolationLevel.SNAPSHOT) -> Iterator[SyncScope]:
        """A transaction that commits when the block ends, and rolls back when it raises."""
        transaction_id = self.begin(isolation=isolation).transaction_id
        try:
            yield self.within(transaction_id)
        except BaseException:
            self.rollback(transaction_id)
            raise
        self.commit(transaction_id)

    def expire(self, policy: ExpiryPolicy, *, dry_run: bool = False) -> ExpireReport:
        """Give up the versions that the policy does not keep. Raises as `maintenance.expire.expire`."""
        return self._loop.run(expire(self._catalog.parts, policy, dry_run=dry_run))

    def collect(self, *, dry_run: bool = False) -> CollectReport:
        """Delete the files that nothing kept needs. Raises as `maintenance.collect.collect`."""
        return self._loop.run(collect(self._catalog.parts, dry_run=dry_run))

    def close(self) -> None:
        self._loop.run(self._catalog.close())
        self._loop.stop()

    def __enter__(self) -> SyncCatalog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_catalog(url: str, *, init: bool = False, options: Mapping[str, str] | None = None) -> SyncCatalog:
    """Open the catalog at `url`; raises as `catalog_format.catalog.open_catalog` does."""
    loop = _Loop()
    try:
        return SyncCatalog(loop.run(asynchronous.open_catalog(url, init=init, options=options)), loop)
    except BaseException:
        loop.stop()
        raise
