"""The table of routes: what is served, and what `/v1/config` says is served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from catalog_format.errors import StoreUnavailableError
from irc_server.call import Call, Services
from irc_server.endpoints import config, namespaces, tables, views
from irc_server.error_map import error_response

Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the specification. The template has its `{prefix}`; the path without it is served too."""

    method: str
    template: str
    handler: Handler


_NAMESPACE = "/v1/{prefix}/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
_VIEW = f"{_NAMESPACE}/views/{{view}}"

# Loads and commits come first: routes are tried in order.
OPERATIONS = (
    Operation("GET", _TABLE, tables.load_table),
    Operation("POST", _TABLE, tables.commit_table),
    Operation("HEAD", _TABLE, tables.table_exists),
    Operation("DELETE", _TABLE, tables.drop_table),
    Operation("POST", f"{_TABLE}/metrics", tables.report_metrics),
    Operation("GET", "/v1/{prefix}/namespaces", namespaces.list_namespaces),
    Operation("POST", "/v1/{prefix}/namespaces", namespaces.create_namespace),
    Operation("GET", _NAMESPACE, namespaces.load_namespace),
    Operation("HEAD", _NAMESPACE, namespaces.namespace_exists),
    Operation("DELETE", _NAMESPACE, namespaces.drop_namespace),
    Operation("POST", f"{_NAMESPACE}/properties", namespaces.update_properties),
    Operation("GET", f"{_NAMESPACE}/tables", tables.list_tables),
    Operation("POST", f"{_NAMESPACE}/tables", tables.create_table),
    Operation("POST", f"{_NAMESPACE}/register", tables.register_table),
    Operation("POST", "/v1/{prefix}/tables/rename", tables.rename_table),
    Operation("POST", "/v1/{prefix}/transactions/commit", tables.commit_transaction),
    Operation("GET", f"{_NAMESPACE}/views", views.list_views),
    Operation("POST", f"{_NAMESPACE}/views", views.create_view),
    Operation("GET", _VIEW, views.load_view),
    Operation("POST", _VIEW, views.replace_view),
    Operation("HEAD", _VIEW, views.view_exists),
    Operation("DELETE", _VIEW, views.drop_view),
    Operation("POST", "/v1/{prefix}/views/rename", views.rename_view),
)

ENDPOINTS = tuple(f"{operation.method} {operation.template}" for operation in OPERATIONS)


def make_routes(services: Services) -> list[Route]:
    """Routes for Starlette; one per path, with a handler for each method."""
    by_path: dict[str, dict[str, Handler]] = {}
    for operation in OPERATIONS:
        for template in (operation.template.replace("/{prefix}", ""), operation.template):
            by_path.setdefault(template, {})[operation.method] = operation.handler
    routes = [_route(path, handlers, services) for path, handlers in by_path.items()]
    routes.append(_plain("/v1/config", lambda request: config.config(request, services, ENDPOINTS)))
    routes.append(_plain("/healthz", lambda request: config.healthz(request, services)))
    routes.append(_plain("/readyz", lambda request: config.readyz(request, services)))
    return routes


def _route(path: str, handlers: dict[str, Handler], services: Services) -> Route:
    async def endpoint(request: Request) -> Response:
        handler = handlers.get(request.method)
        try:
            # HEAD where the specification has none: GET without its body.
            return await (handler or handlers["GET"])(Call(request, services))
        except Exception as error:
            return _answer(request, error)

    return Route(path, endpoint, methods=sorted(handlers))


def _plain(path: str, handler: Callable[[Request], Awaitable[Response]]) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return _answer(request, error)

    return Route(path, endpoint, methods=["GET"])


def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError):
        error = StoreUnavailableError(f"The store could not be reached: {error}")
    request.scope["treeline.error"] = error
    return error_response(error, with_body=request.method != "HEAD")
