"""Views."""

from __future__ import annotations

from starlette.responses import Response

from catalog_format.errors import NoSuchTableError, NoSuchViewError
from catalog_format.keys import Identifier
from catalog_format.names import Place, resolve
from catalog_format.scope import NewView
from irc_server.call import Call, Target
from irc_server.endpoints.tables import loaded, rename_targets
from irc_server.wire.answers import identifiers_body, json_response, no_content
from irc_server.wire.json_body import object_list, optional, required, string_map


async def _target(call: Call, *, write: bool) -> Target:
    name: Identifier = (*call.namespace(), call.segment("view"))
    try:
        return await call.object_target(name, write=write)
    except NoSuchTableError:
        raise NoSuchViewError(f"View does not exist: {'.'.join(name)}") from None


async def list_views(call: Call) -> Response:
    resolved = resolve(call.namespace())
    if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS}:
        return json_response(identifiers_body([], None))
    target = await call.target(resolved, write=False)
    if not target.rest:
        return json_response(identifiers_body([], None))
    listing = await target.scope.list_views(target.rest, call.page())
    return json_response(identifiers_body([target.shown(item) for item in listing.items], listing.next_token))


async def load_view(call: Call) -> Response:
    target = await _target(call, write=False)
    return loaded(call, await target.scope.load_view(target.rest), conditional=True)


async def view_exists(call: Call) -> Response:
    target = await _target(call, write=False)
    if not await target.scope.view_exists(target.rest):
        return Response(status_code=404)
    return no_content()


async def create_view(call: Call) -> Response:
    body = await call.body()
    target = await call.object_target((*call.namespace(), required(body, "name", str)), write=True)
    new = NewView(
        schema=required(body, "schema", dict),
        view_version=required(body, "view-version", dict),
        location=optional(body, "location", str),
        properties=string_map(body, "properties"),
    )
    return loaded(call, await target.scope.create_view(target.rest, new, await call.context()))


async def replace_view(call: Call) -> Response:
    body = await call.body()
    target = await _target(call, write=True)
    requirements = object_list(body, "requirements") if body.get("requirements") is not None else []
    return loaded(call, await target.scope.replace_view(target.rest, requirements, object_list(body, "updates"), await call.context()))


async def drop_view(call: Call) -> Response:
    target = await _target(call, write=True)
    await target.scope.drop_view(target.rest, await call.context())
    return no_content()


async def rename_view(call: Call) -> Response:
    target, source, destination = await rename_targets(call)
    await target.scope.rename_view(source, destination, await call.context())
    return no_content()
