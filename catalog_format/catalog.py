"""Opening and creating catalogs, and the door made of everything below."""

from __future__ import annotations

from collections.abc import Mapping

from catalog_format import paths
from catalog_format.clock import Clock, SystemClock
from catalog_format.committer import Committer
from catalog_format.distributed.coordinator import TransactionCoordinator, ended
from catalog_format.distributed.log import TransactionLogs
from catalog_format.door import TransactionStatus
from catalog_format.errors import NoSuchVersionError, NotACatalogError, UnsupportedError
from catalog_format.iceberg.joining import ManifestReader, TableJoiner
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.namespace_kind import NamespaceKind
from catalog_format.iceberg.table_kind import TableKind
from catalog_format.iceberg.view_kind import ViewKind
from catalog_format.ids import Ids, SystemIds
from catalog_format.keys import ObjectType
from catalog_format.kinds import Kinds
from catalog_format.maintenance.parts import Parts
from catalog_format.node import RootHeader
from catalog_format.node_codec import NO_HASH, encode_root
from catalog_format.node_store import NodeStore
from catalog_format.objects import CatalogDefinition, TreeLimits
from catalog_format.publisher import Publisher
from catalog_format.scopes.latest import LatestPlace, PastPlace, kept
from catalog_format.scopes.namespaces import NamespaceOperations
from catalog_format.scopes.operations import Surroundings
from catalog_format.scopes.tables import TableOperations
from catalog_format.scopes.transactional import TransactionPlace
from catalog_format.scopes.views import ViewOperations
from catalog_format.skew import SkewGuard
from catalog_format.storage import Storage, StorageResolver, open_storage
from catalog_format.version_log import VersionLog

NODE_CACHE_BYTES = 40 * 1024 * 1024


class PlaceScope(NamespaceOperations, TableOperations, ViewOperations):
    """A `scope.Scope` over one place."""


class StoredCatalog:
    """A `door.Catalog` over a store."""

    def __init__(
        self,
        storage: Storage,
        resolver: StorageResolver,
        clock: Clock,
        ids: Ids,
        *,
        node_cache_bytes: int = NODE_CACHE_BYTES,
        max_staleness_s: float = 0.0,
    ) -> None:
        self.storage = storage
        self.versions = VersionLog(storage, clock, max_staleness_s)
        self.nodes = NodeStore(storage, node_cache_bytes, clock)
        self._resolver = resolver
        self._clock = clock
        self._ids = ids
        locations = Locations(storage.url)
        files = MetadataFiles(storage, locations, resolver)
        self._kinds: Kinds = {
            ObjectType.NAMESPACE: NamespaceKind(),
            ObjectType.TABLE: TableKind(files, locations, TableJoiner(ManifestReader(files.place), ids), ids),
            ObjectType.VIEW: ViewKind(files, locations),
        }
        self.logs = TransactionLogs(storage, clock, ids)
        skew = SkewGuard(storage, clock)
        self._committer = Committer(storage, self.versions, self.nodes, self._kinds, skew, clock, ids)
        self._transactions = TransactionCoordinator(self.logs, self.versions, self._committer, skew, clock, ids)
        self.parts = Parts(
            storage,
            self.versions,
            self.nodes,
            self.logs,
            self._transactions,
            self._committer,
            self._kinds,
            locations,
            files,
            clock,
            ids,
        )
        """For maintenance."""
        self._surroundings = Surroundings(files, locations, clock, ids)
        self._main = PlaceScope(LatestPlace(self.versions, self.nodes, storage, self._committer, ids), self._surroundings)

    @property
    def url(self) -> str:
        return self.storage.url

    @property
    def main(self) -> PlaceScope:
        return self._main

    @property
    def transactions(self) -> TransactionCoordinator:
        return self._transactions

    async def properties(self) -> Mapping[str, str]:
        return (await self.versions.confirm()).header.catalog.properties

    async def latest_version(self) -> int:
        return (await self.versions.confirm()).version

    async def version_at(self, timestamp_ms: int) -> int:
        return (await self.versions.version_at(timestamp_ms)).version

    async def at(self, version: int) -> PlaceScope:
        if not 0 <= version < 1 << paths.VERSION_BITS:
            raise NoSuchVersionError(f"Version {version} does not exist: versions are numbers from 0")
        await kept(self.versions, version)
        return PlaceScope(PastPlace(version, self.versions, self.nodes, self.storage), self._surroundings)

    async def within(self, transaction_id: str) -> PlaceScope:
        known = self._transactions.known_open(transaction_id)
        if known is None:
            image = await self._transactions.image(transaction_id)
            if image.status is not TransactionStatus.OPEN:
                raise ended(image)
        place = TransactionPlace(
            transaction_id, self._transactions, self.versions, self.nodes, self.storage, self._kinds, self._clock, self._ids
        )
        return PlaceScope(place, self._surroundings)

    async def close(self) -> None:
        await self._committer.close()
        await self._transactions.close()
        await self.versions.close()
        await self._resolver.close()
        await self.storage.close()


async def create_catalog(
    storage: Storage,
    clock: Clock,
    ids: Ids,
    *,
    properties: Mapping[str, str] | None = None,
    limits: TreeLimits | None = None,
) -> bool:
    """Put version 0, an empty catalog; False if there is a catalog already (which is left as it is)."""
    now_ms = clock.now_ms()
    attempt_id = ids.attempt_id()
    catalog = CatalogDefinition(ids.uuid(), now_ms, dict(properties or {}), limits or TreeLimits())
    header = RootHeader(paths.FIRST_VERSION, now_ms, catalog, NO_HASH, attempt_id)
    data, _ = encode_root(header, [], [], [])
    versions = VersionLog(storage, clock)
    winner = await Publisher(storage, versions, clock, ids).publish(paths.FIRST_VERSION, data, attempt_id, clock.elapsed())
    if winner is None and await storage.put_if_absent(paths.root_path(paths.FIRST_VERSION), data):
        raise UnsupportedError(
            f"{storage.url} creates a file that exists already: it ignores the condition that every commit depends on, "
            "and commits would be lost; use another store"
        )
    return winner is None


async def open_catalog(
    url: str,
    *,
    init: bool = False,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    node_cache_bytes: int = NODE_CACHE_BYTES,
    max_staleness_s: float = 0.0,
) -> StoredCatalog:
    """Open the catalog at `url` (a folder, `file:///…`, `s3://…`, `memory://…`); with `init`, make it if there is none.

    `options` configure the store (`s3.endpoint`, …). Raises `NotACatalogError`, `NewerFormatError`, `CorruptFileError`,
    `InvalidArgumentError` for a URL that no store is known for, and the store's errors.
    """
    catalog = StoredCatalog(
        open_storage(url, options),
        StorageResolver(options),
        clock or SystemClock(),
        ids or SystemIds(),
        node_cache_bytes=node_cache_bytes,
        max_staleness_s=max_staleness_s,
    )
    try:
        try:
            await catalog.versions.open()
        except NotACatalogError:
            if not init:
                raise
            await create_catalog(catalog.storage, clock or SystemClock(), ids or SystemIds())
            await catalog.versions.open()
    except BaseException:
        await catalog.close()
        raise
    return catalog
