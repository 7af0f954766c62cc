"""`treeline serve` with one more route: `/memory` returns bytes from memory, behind the same middleware as everything else.

What the product's loads are measured against: a route as anybody writes one with Starlette. A POST leaves the bytes there, with
the ETag that goes with them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from catalog_format.clock import Clock
from catalog_format.ids import Ids
from irc_server.app import Application, make_app
from irc_server.cli import serve as product
from irc_server.settings import Settings

MEMORY = "/memory"


class Memory:
    """The bytes, and the route to them."""

    def __init__(self) -> None:
        self._body = b""
        self._headers: dict[str, str] = {}

    async def endpoint(self, request: Request) -> Response:
        if request.method == "POST":
            self._body, self._headers = await request.body(), {"etag": request.headers["etag"]}
        return Response(self._body, headers=self._headers, media_type="application/json")


def make_reference_app(settings: Settings, clock: Clock | None = None, ids: Ids | None = None) -> Application:
    """The product's application with this route, which is tried right after the one of loads: neither pays for more routes."""
    app = make_app(settings, clock, ids)
    app.router.routes.insert(1, Route(MEMORY, Memory().endpoint, methods=["GET", "POST"]))
    return app


if __name__ == "__main__":
    product.make_app = make_reference_app  # type: ignore[attr-defined]
    product.serve()
