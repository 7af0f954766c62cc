"""Configuration for clients, and the health of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from catalog_format.errors import TreelineError
from irc_server.call import Services
from irc_server.error_map import NotReadyError
from irc_server.roots import Root
from irc_server.warehouses import find_warehouse
from irc_server.wire.answers import json_response

READY_WITHIN_S = 5.0


async def config(request: Request, services: Services, endpoints: Sequence[str]) -> Response:
    """What a client needs: the prefix of its warehouse, how to reach the files, what is served."""
    warehouse = await find_warehouse(services.roots, request.query_params.get("warehouse"))
    return json_response(
        {
            "defaults": warehouse.root.client_config,
            "overrides": {"prefix": warehouse.prefix},
            "endpoints": endpoints,
            "idempotency-key-lifetime": f"PT{services.settings.idempotency_lifetime_minutes}M",
        }
    )


async def healthz(request: Request, services: Services) -> Response:
    """The process lives."""
    return json_response({"status": "ok"})


async def readyz(request: Request, services: Services) -> Response:
    """Each root's latest version (null: no catalog there yet). Raises `NotReadyError`."""
    roots = list(services.roots)
    versions = await asyncio.gather(*(_latest_version(root) for root in roots))
    return json_response({"status": "ready", "versions": {root.name: version for root, version in zip(roots, versions, strict=True)}})


async def _latest_version(root: Root) -> int | None:
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            if not await root.open(init=False):
                return None
            return await (await root.catalog()).latest_version()
    except TimeoutError:
        raise NotReadyError(f"{root.name} ({root.url}) did not answer within {READY_WITHIN_S:g} s") from None
    except (TreelineError, OSError) as error:
        raise NotReadyError(f"{root.name} ({root.url}) cannot be read: {error}") from error
