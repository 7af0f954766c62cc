"""Views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import orjson
from starlette.responses import Response

from catalog_format.keys import Identifier
from catalog_format.names import Place, resolve
from catalog_format.scope import LoadedMetadata, NewView
from irc_server.call import Call, Target, no_view
from irc_server.endpoints.listings import listed
from irc_server.endpoints.tables import exists, loaded, place_of_listing, rename_targets
from irc_server.wire.answers import Form, etag_of, identifiers_body, json_response, no_content
from irc_server.wire.described import Json
from irc_server.wire.parameters import IF_NONE_MATCH
from irc_server.wire.requests import CommitViewRequest, CreateViewRequest, RegisterViewRequest, RenameRequest


async def list_views(call: Call) -> Response:
    target = await place_of_listing(call)
    if target is None:
        return json_response(identifiers_body([], None))

    def body(items: Sequence[Identifier], next_token: str | None) -> object:
        return identifiers_body([target.shown(item) for item in items], next_token)

    return await listed(call, partial(target.scope.list_views, target.rest), body, in_transaction=bool(target.prefix))


async def load_view(call: Call) -> Response:
    target = await call.object_target(call.object_name("view"), no_view, write=False)
    return await _shown(call, target, await target.scope.load_view(target.rest), if_none_match=call.header(IF_NONE_MATCH))


async def view_exists(call: Call) -> Response:
    name = call.object_name("view")
    target = await call.object_target(name, no_view, write=False)
    location = await target.scope.view_location(target.rest)
    if location is None:
        raise no_view(name)
    return exists(call, etag_of(location, _form(target)))


async def create_view(call: Call, body: CreateViewRequest) -> Response:
    target = await call.new_object_target((*call.namespace(), body["name"]))
    new = NewView(
        schema=body["schema"],
        view_version=_plain(body["view-version"]),
        location=body.get("location"),
        properties=body.get("properties") or {},
    )
    return await _shown(call, target, await target.scope.create_view(target.rest, new, call.context()))


async def register_view(call: Call, body: RegisterViewRequest) -> Response:
    target = await call.new_object_target((*call.namespace(), body["name"]))
    return await _shown(call, target, await target.scope.register_view(target.rest, body["metadata-location"], call.context()))


async def replace_view(call: Call, body: CommitViewRequest) -> Response:
    requirements = body.get("requirements") or []
    updates = [_plain_update(update) for update in body["updates"]]
    target = await call.object_target(call.object_name("view"), no_view, write=True)
    return await _shown(call, target, await target.scope.replace_view(target.rest, requirements, updates, call.context()))


async def drop_view(call: Call) -> Response:
    target = await call.object_target(call.object_name("view"), no_view, write=True)
    await target.scope.drop_view(target.rest, call.context())
    return no_content()


async def rename_view(call: Call, body: RenameRequest) -> Response:
    source, destination = await rename_targets(call, body, no_view)
    await source.scope.rename_view(source.rest, destination.rest, call.context())
    return no_content()


async def _shown(call: Call, target: Target, answer: LoadedMetadata, *, if_none_match: str | None = None) -> Response:
    """A view as it is answered. Read below a transaction's name, its SQL's plain names mean the transaction's tables too."""
    if not target.prefix:
        return await loaded(call, answer, form=_form(target), if_none_match=if_none_match)
    metadata: Json = orjson.loads(answer.metadata)
    for version in metadata["versions"]:
        version["default-namespace"] = [*target.prefix, *version["default-namespace"]]
    within = replace(answer, metadata=orjson.dumps(metadata))
    return await loaded(call, within, form=_form(target), if_none_match=if_none_match)


def _form(target: Target) -> Form:
    return Form(seen_from=target.prefix)


def _plain(version: Json) -> Json:
    """A view version whose default namespace does not name the transaction that it is made in: the view outlives it."""
    levels = version.get("default-namespace")
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        # The catalog refuses it.
        return version
    resolved = resolve(tuple(levels))
    return {**version, "default-namespace": list(resolved.rest)} if resolved.place is Place.TRANSACTION else version


def _plain_update(update: Json) -> Json:
    version = update.get("view-version")
    return {**update, "view-version": _plain(version)} if isinstance(version, dict) else update
