"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from catalog_format.clock import Clock, SystemClock
from catalog_format.ids import Ids, SystemIds
from irc_server.call import Services
from irc_server.error_map import error_body
from irc_server.middleware import BearerToken, BodyReader, RawPath, RememberedRefusals, RequestLog
from irc_server.roots import Root, Roots
from irc_server.routes import make_routes
from irc_server.settings import Settings
from irc_server.wire.answers import MetadataAnswers

_COMPRESSION_LEVEL = 1
_COMPRESS_FROM_BYTES = 1024


def make_app(settings: Settings, clock: Clock | None = None, ids: Ids | None = None) -> Starlette:
    """The application; its catalogs are opened when it starts and closed when it stops. Raises `InvalidArgumentError`."""
    watch, source = clock or SystemClock(), ids or SystemIds()
    roots = Roots([Root(name, url, settings.store_options(), settings.client_config(url)) for name, url in settings.named_roots().items()])
    services = Services(roots, settings, MetadataAnswers(settings.response_cache_mib << 20))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            for root in roots:
                await root.open(
                    init=settings.init, node_cache_bytes=settings.node_cache_mib << 20, max_staleness_s=settings.max_staleness_ms / 1000
                )
            yield
        finally:
            for root in roots:
                await root.close()

    middleware = [Middleware(RequestLog, clock=watch, ids=source)] if settings.request_log else []
    if settings.token is not None:
        middleware.append(Middleware(BearerToken, token=settings.token.get_secret_value()))
    middleware += [
        Middleware(GZipMiddleware, minimum_size=_COMPRESS_FROM_BYTES, compresslevel=_COMPRESSION_LEVEL),
        Middleware(BodyReader, limit_bytes=settings.body_limit_mib << 20),
        Middleware(RememberedRefusals, lifetime_s=settings.idempotency_lifetime_minutes * 60, clock=watch),
        Middleware(RawPath),
    ]
    return Starlette(
        routes=make_routes(services), middleware=middleware, lifespan=lifespan, exception_handlers={HTTPException: _not_routed}
    )


async def _not_routed(request: Request, error: Exception) -> Response:
    """No such path, or no such method for it."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        message, kind = f"{request.method} is not offered for {request.url.path}", "UnsupportedOperationException"
    else:
        message, kind = f"No such path: {request.url.path}", "NotFoundException"
    body = b"" if request.method == "HEAD" else error_body(message, kind, error.status_code)
    return Response(body, error.status_code, dict(error.headers or {}), "application/json")
