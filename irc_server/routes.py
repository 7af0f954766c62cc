"""From the table of operations to what answers requests."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from catalog_format.errors import StoreUnavailableError, UnknownOutcomeError
from irc_server.call import Call, Services
from irc_server.error_map import MethodNotAllowedError, RouteNotFoundError, error_response
from irc_server.middleware import ERROR_KEY
from irc_server.operations import OPERATIONS, Handler
from irc_server.warehouses import by_prefix

PlainHandler = Callable[[Request], Awaitable[Response]]

# Spark puts an empty namespace before the name of an unqualified metadata table; what it gets must be "no such table".
_MAYBE_NO_NAMESPACE = re.compile(r"{namespace}(?=/(?:tables|views)/{)")


class _Level(Convertor[str]):
    """A level of the raw path."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class _MaybeEmpty(_Level):
    """The same, or nothing."""

    regex = "[^/]*"


class _Prefix(_Level):
    """The level of the prefix; never a word with which a path without prefix goes on."""

    regex = "(?!(?:namespaces|tables|views|transactions)(?:/|$))[^/]+"


register_url_convertor("level", _Level())
register_url_convertor("maybe", _MaybeEmpty())
register_url_convertor("prefix", _Prefix())


class _Path:
    """All methods of one path, as an ASGI application."""

    def __init__(self, handlers: Mapping[str, PlainHandler]) -> None:
        self._handlers = handlers
        self._allowed = ", ".join(sorted(handlers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        # HEAD where the specification has none: GET without its body.
        handler = self._handlers.get(request.method) or (self._handlers.get("GET") if request.method == "HEAD" else None)
        try:
            if handler is None:
                raise MethodNotAllowedError(f"{request.method} is not offered for {scope['path']}, but {self._allowed}")
            response = await handler(request)
        except Exception as error:
            response = _refusal(request, error)
            if handler is None:
                response.headers["allow"] = self._allowed
        await response(scope, receive, send)


def make_router(services: Services) -> Router:
    """What answers every path."""
    by_path: dict[str, dict[str, PlainHandler]] = {}
    for operation in OPERATIONS:
        for template in dict.fromkeys((operation.template, operation.template.replace("/{prefix}", ""))):
            by_path.setdefault(template, {})[operation.method] = partial(_called, operation.handler, services)
    routes = [Route(_pattern(template), _Path(handlers)) for template, handlers in by_path.items()]
    return Router(routes, redirect_slashes=False, default=_not_found)


def _pattern(template: str) -> str:
    """The template with the convertor of each level."""
    template = _MAYBE_NO_NAMESPACE.sub("{namespace:maybe}", template).replace("{prefix}", "{prefix:prefix}")
    # Starlette's names have no hyphens.
    return re.sub(r"{([\w-]+)}", lambda level: f"{{{level[1].replace('-', '_')}:level}}", template)


async def _called(handler: Handler, services: Services, request: Request) -> Response:
    prefix = request.path_params.get("prefix")
    warehouse = by_prefix(services.roots, None if prefix is None else unquote(prefix))
    return await handler(Call(request, services, warehouse))


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        request = Request(scope, receive)
        await _refusal(request, RouteNotFoundError(f"No such path: {scope['path']}"))(scope, receive, send)


def _refusal(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError):
        # Reading tried nothing. Of a write nobody can tell here how far it came.
        reading = request.method in {"GET", "HEAD"}
        error = (StoreUnavailableError if reading else UnknownOutcomeError)(f"The store could not be reached: {error}")
    request.scope[ERROR_KEY] = error
    return error_response(error, with_body=request.method != "HEAD")
