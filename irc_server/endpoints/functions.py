"""Functions. Nothing can make one yet, so there are none."""

from __future__ import annotations

from starlette.responses import Response

from catalog_format.errors import InvalidArgumentError
from irc_server.call import Call, no_function, no_namespace
from irc_server.endpoints.tables import place_of_listing
from irc_server.wire.answers import json_response
from irc_server.wire.results import ListFunctionsResult


async def list_functions(call: Call) -> Response:
    await _check_namespace(call)
    page = call.page()
    if page is not None and page.token is not None:
        raise InvalidArgumentError(f"Page token {page.token[:40]!r} was not given by this catalog; begin the listing anew")
    result: ListFunctionsResult = {"identifiers": [], "next-page-token": None}
    return json_response(result)


async def load_function(call: Call) -> Response:
    await _check_namespace(call)
    raise no_function(call.object_name("function"))


async def _check_namespace(call: Call) -> None:
    target = await place_of_listing(call)
    if target is not None and not await target.scope.namespace_exists(target.rest):
        raise no_namespace(call.namespace())
