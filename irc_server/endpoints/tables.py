"""Tables."""

from __future__ import annotations

from starlette.responses import Response

from catalog_format.errors import InvalidArgumentError
from catalog_format.keys import Identifier
from catalog_format.names import Place, resolve
from catalog_format.scope import LoadedMetadata, NewTable, TableCommit
from irc_server.call import Call, Target
from irc_server.wire.answers import identifiers_body, json_response, no_content
from irc_server.wire.json_body import Json, object_list, optional, required, string_map, table_identifier

_TRUE = {"true": True, "false": False}


def _name(call: Call) -> Identifier:
    return (*call.namespace(), call.segment("table"))


def flag(call: Call, name: str) -> bool:
    """A boolean of the query; absent is false."""
    text = call.query(name)
    if text is None:
        return False
    value = _TRUE.get(text.lower())
    if value is None:
        raise InvalidArgumentError(f"{name} must be true or false, not {text!r}")
    return value


def loaded(call: Call, answer: LoadedMetadata, *, snapshots: str = "all", conditional: bool = False) -> Response:
    """An object with its metadata, as loads, creates and commits answer it."""
    if_none_match = call.request.headers.get("if-none-match") if conditional else None
    return call.services.answers.response(answer, call.root.client_config, snapshots=snapshots, if_none_match=if_none_match)


async def list_tables(call: Call) -> Response:
    namespace = call.namespace()
    resolved = resolve(namespace)
    if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS}:
        return json_response(identifiers_body([], None))
    target = await call.target(resolved, write=False)
    if not target.rest:
        return json_response(identifiers_body([], None))
    listing = await target.scope.list_tables(target.rest, call.page())
    return json_response(identifiers_body([target.shown(item) for item in listing.items], listing.next_token))


async def load_table(call: Call) -> Response:
    snapshots = call.query("snapshots") or "all"
    if snapshots not in {"all", "refs"}:
        raise InvalidArgumentError(f"snapshots must be all or refs, not {snapshots!r}")
    target = await call.object_target(_name(call), write=False)
    return loaded(call, await target.scope.load_table(target.rest), snapshots=snapshots, conditional=True)


async def table_exists(call: Call) -> Response:
    name = _name(call)
    target = await call.object_target(name, write=False)
    if not await target.scope.table_exists(target.rest):
        return Response(status_code=404)
    return no_content()


async def create_table(call: Call) -> Response:
    body = await call.body()
    name = (*call.namespace(), required(body, "name", str))
    target = await call.object_target(name, write=True)
    new = NewTable(
        schema=required(body, "schema", dict),
        partition_spec=optional(body, "partition-spec", dict),
        write_order=optional(body, "write-order", dict),
        location=optional(body, "location", str),
        properties=string_map(body, "properties"),
    )
    if optional(body, "stage-create", bool):
        metadata = await target.scope.stage_table(target.rest, new)
        return json_response({"metadata": metadata, "config": dict(call.root.client_config)})
    return loaded(call, await target.scope.create_table(target.rest, new, await call.context()))


async def register_table(call: Call) -> Response:
    body = await call.body()
    name = (*call.namespace(), required(body, "name", str))
    location = required(body, "metadata-location", str)
    overwrite = optional(body, "overwrite", bool) or False
    target = await call.object_target(name, write=True)
    return loaded(call, await target.scope.register_table(target.rest, location, overwrite, await call.context()))


async def commit_table(call: Call) -> Response:
    body = await call.body()
    name = _name(call)
    target = await call.object_target(name, write=True)
    [answer] = await target.scope.commit_tables([_commit(target.rest, body)], await call.context())
    return loaded(call, answer)


async def drop_table(call: Call) -> Response:
    target = await call.object_target(_name(call), write=True)
    await target.scope.drop_table(target.rest, flag(call, "purgeRequested"), await call.context())
    return no_content()


async def rename_table(call: Call) -> Response:
    scope_target, source, destination = await rename_targets(call)
    await scope_target.scope.rename_table(source, destination, await call.context())
    return no_content()


async def report_metrics(call: Call) -> Response:
    """Accepted and dropped."""
    await call.body()
    return no_content()


async def commit_transaction(call: Call) -> Response:
    """Commits of several tables in one version."""
    body = await call.body()
    targets: list[Target] = []
    commits: list[TableCommit] = []
    for index, change in enumerate(object_list(body, "table-changes")):
        within = f"table-changes[{index}]"
        target = await call.object_target(table_identifier(change, "identifier", within), write=True)
        targets.append(target)
        commits.append(_commit(target.rest, change, within))
    if not commits:
        raise InvalidArgumentError("table-changes must not be empty")
    if len({target.prefix for target in targets}) > 1:
        raise InvalidArgumentError("table-changes must all be in one transaction, or all outside of any")
    await targets[0].scope.commit_tables(commits, await call.context())
    return no_content()


async def rename_targets(call: Call) -> tuple[Target, Identifier, Identifier]:
    """Scope, source and destination of a rename; both must lie in one scope."""
    body = await call.body()
    source = await call.object_target(table_identifier(body, "source"), write=True)
    destination = await call.object_target(table_identifier(body, "destination"), write=True)
    if source.prefix != destination.prefix:
        raise InvalidArgumentError("source and destination of a rename must be in the same transaction, or both outside of any")
    return source, source.rest, destination.rest


def _commit(table: Identifier, body: Json, within: str = "") -> TableCommit:
    return TableCommit(table, object_list(body, "requirements", within), object_list(body, "updates", within))
