"""`treeline serve` with routes that return bytes from memory, behind the same middleware as everything else.

What the product's loads are measured against: `/memory` is a route as anybody writes one with Starlette; `/memory/ready` sends
an answer that is ready, without a request object or any handling of errors, which is the least that a route can do here.
A POST to `/memory` leaves the bytes there, with the ETag that goes with them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from catalog_format.clock import Clock
from catalog_format.ids import Ids
from irc_server.app import Application, make_app
from irc_server.cli import serve as product
from irc_server.settings import Settings

MEMORY = "/memory"
READY = "/memory/ready"


class Memory:
    """The bytes, and the two routes to them."""

    def __init__(self) -> None:
        self._body = b""
        self._headers: dict[str, str] = {}
        self._ready = Response(status_code=404)

    async def endpoint(self, request: Request) -> Response:
        if request.method == "POST":
            self._body, self._headers = await request.body(), {"etag": request.headers["etag"]}
            self._ready = self._answer()
        return self._answer()

    async def ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._ready(scope, receive, send)

    def _answer(self) -> Response:
        return Response(self._body, headers=self._headers, media_type="application/json")


class _Asgi:
    """Keeps Starlette from taking a bound method for an endpoint."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._memory.ready(scope, receive, send)


def make_reference_app(settings: Settings, clock: Clock | None = None, ids: Ids | None = None) -> Application:
    """The product's application with these routes, which are tried right after the one of loads: neither side pays for more routes."""
    app, memory = make_app(settings, clock, ids), Memory()
    app.router.routes[1:1] = [Route(MEMORY, memory.endpoint, methods=["GET", "POST"]), Route(READY, _Asgi(memory))]
    return app


if __name__ == "__main__":
    product.make_app = make_reference_app  # type: ignore[attr-defined]
    product.serve()
