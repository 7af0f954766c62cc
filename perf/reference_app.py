"""`treeline serve` with one more route: `/memory` returns bytes from memory, behind the same middleware as everything else.

What the product's loads are measured against. A POST leaves the bytes there, with the ETag that goes with them.
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

PATH = "/memory"


class Memory:
    """One ready answer. An ASGI application, so that Starlette adds nothing to it."""

    def __init__(self) -> None:
        self._answer = Response(status_code=404)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._answer(scope, receive, send)
            return
        request = Request(scope, receive)
        headers = {"etag": request.headers["etag"]}
        self._answer = Response(await request.body(), headers=headers, media_type="application/json")
        await Response(status_code=204)(scope, receive, send)


def make_reference_app(settings: Settings, clock: Clock | None = None, ids: Ids | None = None) -> Application:
    """The product's application with the route, which is tried before all others."""
    app = make_app(settings, clock, ids)
    app.router.routes.insert(0, Route(PATH, Memory()))
    return app


if __name__ == "__main__":
    product.make_app = make_reference_app  # type: ignore[attr-defined]
    product.serve()
