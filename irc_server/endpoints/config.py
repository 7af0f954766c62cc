"""Configuration for clients, and the health of the server."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from irc_server.call import Services
from irc_server.wire.answers import json_response


async def config(request: Request, services: Services, endpoints: Sequence[str]) -> Response:
    """What a client needs: the prefix of its warehouse, how to reach the files, what is served."""
    warehouse = await services.roots.warehouse(request.query_params.get("warehouse"))
    root = services.roots.named(warehouse.root)
    return json_response(
        {
            "defaults": dict(root.client_config),
            "overrides": {"prefix": warehouse.prefix},
            "endpoints": list(endpoints),
            "idempotency-key-lifetime": f"PT{services.settings.idempotency_lifetime_minutes}M",
        }
    )


async def healthz(request: Request, services: Services) -> Response:
    """The process lives."""
    return json_response({"status": "ok"})


async def readyz(request: Request, services: Services) -> Response:
    """Each root's latest version can be found. Raises the store's errors."""
    versions = {root.name: await root.catalog.latest_version() if root.is_open else None for root in services.roots}
    return json_response({"status": "ready", "versions": versions})
