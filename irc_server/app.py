"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from catalog_format.catalog import open_catalog
from catalog_format.clock import Clock, SystemClock
from catalog_format.ids import Ids, SystemIds
from catalog_format.maintenance.expire import ExpiryPolicy
from irc_server.auth import StaticToken
from irc_server.call import Services
from irc_server.idempotency import AnswerMemory
from irc_server.middleware import BearerToken, BodyReader, Compression, RawPath, RepeatedRequests, RequestLog
from irc_server.openapi import document
from irc_server.operations import ENDPOINTS
from irc_server.roots import OpenCatalog, Opening, Root, Roots
from irc_server.routes import make_router
from irc_server.settings import Settings
from irc_server.upkeep import Upkeep
from irc_server.wire.answers import AnsweredLoads
from irc_server.wire.protected import ProtectedTables
from irc_server.wire.referenced import ReferencedSnapshots


class Application:
    """Everything that answers requests. Its catalogs are open between `open` and `close`, or while its lifespan lasts."""

    def __init__(self, settings: Settings, roots: Roots, router: Router, asgi: ASGIApp, upkeep: Upkeep | None) -> None:
        self.roots = roots
        self.router = router
        self._upkeep = upkeep
        self._settings = settings
        self._asgi = asgi
        router.lifespan_context = self._lifespan

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        try:
            await self.open()
            yield
        finally:
            await self.close()

    async def open(self) -> None:
        """Open every root. Raises what opening a catalog raises; a catalog that is not there yet is no error without `init`."""
        for root in self.roots:
            await root.open(init=self._settings.init)
        if self._upkeep is not None:
            self._upkeep.start()

    async def close(self) -> None:
        """Finish what was taken, and release the stores."""
        if self._upkeep is not None:
            await self._upkeep.stop()
        for root in self.roots:
            await root.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._asgi(scope, receive, send)


def make_app(
    settings: Settings, clock: Clock | None = None, ids: Ids | None = None, open_catalog: OpenCatalog = open_catalog
) -> Application:
    """Raises `InvalidArgumentError` for roots that make no sense."""
    watch, source = clock or SystemClock(), ids or SystemIds()
    opening = Opening(
        settings.store_options(), settings.node_cache_mib << 20, settings.max_staleness_ms / 1000, watch, source, open_catalog
    )
    roots = Roots([Root(name, url, settings.client_config(url), opening) for name, url in settings.named_roots().items()])
    # Answers themselves are asked for most, and metadata without its history is small.
    loads = AnsweredLoads(settings.response_cache_mib * (6 << 17))
    referenced = ReferencedSnapshots(settings.response_cache_mib * (1 << 17))
    protected = ProtectedTables(settings.response_cache_mib * (1 << 17))
    router = make_router(Services(roots, settings, loads, referenced, protected, ENDPOINTS, document))

    asgi: ASGIApp = RepeatedRequests(router, AnswerMemory(settings.idempotency_lifetime_minutes * 60, watch))
    asgi = Compression(BodyReader(asgi, settings.body_limit_mib << 20))
    if settings.token is not None:
        asgi = BearerToken(asgi, StaticToken(settings.token.get_secret_value()))
    if settings.request_log:
        asgi = RequestLog(asgi, watch, source)
    return Application(settings, roots, router, RawPath(asgi), _upkeep(settings, roots, watch, source))


def _upkeep(settings: Settings, roots: Roots, clock: Clock, ids: Ids) -> Upkeep | None:
    if settings.expire_older_than_hours is None:
        return None
    policy = ExpiryPolicy(settings.expire_older_than_hours * 3_600_000, settings.keep_versions)
    return Upkeep(roots, policy, settings.maintenance_interval_minutes * 60, clock, ids)
