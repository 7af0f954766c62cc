"""What the server says of itself: configuration for clients, its document, its health."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from catalog_format.errors import TreelineError
from irc_server.call import Call
from irc_server.error_map import NotReadyError
from irc_server.roots import Root
from irc_server.warehouses import find_warehouse
from irc_server.wire.answers import json_response
from irc_server.wire.parameters import WAREHOUSE
from irc_server.wire.results import CatalogConfig, Health, Readiness

READY_WITHIN_S = 5.0


async def config(call: Call) -> Response:
    """What a client needs: the prefix of its warehouse, how to reach the files, what is served."""
    services = call.services
    warehouse = await find_warehouse(services.roots, call.query(WAREHOUSE))
    result: CatalogConfig = {
        "defaults": dict(warehouse.root.client_config),
        "overrides": {"prefix": warehouse.prefix},
        "endpoints": list(services.endpoints),
        "idempotency-key-lifetime": f"PT{services.settings.idempotency_lifetime_minutes}M",
    }
    return json_response(result)


async def document(call: Call) -> Response:
    """The operations, as OpenAPI describes them."""
    return Response(call.services.document(), media_type="application/json")


async def healthz(call: Call) -> Response:
    """The process lives."""
    result: Health = {"status": "ok"}
    return json_response(result)


async def readyz(call: Call) -> Response:
    """Each root's latest version (null: no catalog there yet). Raises `NotReadyError`."""
    roots = list(call.services.roots)
    versions = await asyncio.gather(*(_latest_version(root) for root in roots))
    result: Readiness = {"status": "ready", "versions": {root.name: version for root, version in zip(roots, versions, strict=True)}}
    return json_response(result)


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
