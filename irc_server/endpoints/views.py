"""Views."""

from __future__ import annotations

from dataclasses import replace

import orjson
from starlette.responses import Response

from catalog_format.names import Place, resolve
from catalog_format.scope import LoadedMetadata, NewView
from irc_server.call import Call, Target, no_view
from irc_server.endpoints.tables import loaded, place_of_listing, rename_targets
from irc_server.wire.answers import ALL, identifiers_body, json_response, no_content
from irc_server.wire.json_body import Json, object_list, optional, required, string_list, string_map


async def list_views(call: Call) -> Response:
    target = await place_of_listing(call)
    if target is None:
        return json_response(identifiers_body([], None))
    listing = await target.scope.list_views(target.rest, call.page())
    return json_response(identifiers_body([target.shown(item) for item in listing.items], listing.next_token))


async def load_view(call: Call) -> Response:
    target = await call.object_target(call.object_name("view"), no_view, write=False)
    return await _shown(call, target, await target.scope.load_view(target.rest), if_none_match=call.header(b"if-none-match"))


async def view_exists(call: Call) -> Response:
    name = call.object_name("view")
    target = await call.object_target(name, no_view, write=False)
    if not await target.scope.view_exists(target.rest):
        raise no_view(name)
    return no_content()


async def create_view(call: Call) -> Response:
    body = await call.body()
    target = await call.new_object_target((*call.namespace(), required(body, "name", str)))
    new = NewView(
        schema=required(body, "schema", dict),
        view_version=_plain(required(body, "view-version", dict)),
        location=optional(body, "location", str),
        properties=string_map(body, "properties"),
    )
    return await _shown(call, target, await target.scope.create_view(target.rest, new, call.context()))


async def replace_view(call: Call) -> Response:
    body = await call.body()
    requirements = object_list(body, "requirements") if body.get("requirements") is not None else []
    updates = [_plain_update(update) for update in object_list(body, "updates")]
    target = await call.object_target(call.object_name("view"), no_view, write=True)
    return await _shown(call, target, await target.scope.replace_view(target.rest, requirements, updates, call.context()))


async def drop_view(call: Call) -> Response:
    target = await call.object_target(call.object_name("view"), no_view, write=True)
    await target.scope.drop_view(target.rest, call.context())
    return no_content()


async def rename_view(call: Call) -> Response:
    source, destination = await rename_targets(call, no_view)
    await source.scope.rename_view(source.rest, destination.rest, call.context())
    return no_content()


async def _shown(call: Call, target: Target, answer: LoadedMetadata, *, if_none_match: str | None = None) -> Response:
    """A view as it is answered. Read below a transaction's name, its SQL's plain names mean the transaction's tables too."""
    if not target.prefix:
        return await loaded(call, answer, if_none_match=if_none_match)
    metadata: Json = orjson.loads(answer.metadata)
    for version in metadata["versions"]:
        version["default-namespace"] = [*target.prefix, *version["default-namespace"]]
    within = replace(answer, metadata=orjson.dumps(metadata))
    return await loaded(call, within, snapshots=f"{ALL} {'.'.join(target.prefix)}", if_none_match=if_none_match)


def _plain(version: Json) -> Json:
    """A view version whose default namespace does not name the transaction that it is made in: the view outlives it."""
    resolved = resolve(tuple(string_list(version, "default-namespace", "view-version")))
    return {**version, "default-namespace": list(resolved.rest)} if resolved.place is Place.TRANSACTION else version


def _plain_update(update: Json) -> Json:
    if update.get("action") != "add-view-version":
        return update
    return {**update, "view-version": _plain(required(update, "view-version", dict))}
