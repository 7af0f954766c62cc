"""Tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from orjson import Fragment
from starlette.responses import Response

from catalog_format.errors import InvalidArgumentError, NotFoundError
from catalog_format.keys import Identifier
from catalog_format.names import Place, resolve
from catalog_format.scope import LoadedMetadata, NewTable, TableCommit
from irc_server.call import Call, Target, no_namespace, no_table
from irc_server.warehouses import View
from irc_server.wire.answers import ALL, REFS, AnsweredLoad, identifiers_body, json_response, metadata_response, no_content, unless_known
from irc_server.wire.json_body import Json, object_list, optional, required, string_map, table_identifier

_FLAGS = {"true": True, "false": False}


def flag(call: Call, name: str) -> bool:
    """A boolean of the query; absent is false."""
    text = call.query(name)
    if text is None:
        return False
    value = _FLAGS.get(text.lower())
    if value is None:
        raise InvalidArgumentError(f"{name} must be true or false, not {text[:40]!r}")
    return value


async def loaded(call: Call, answer: LoadedMetadata, *, snapshots: str = ALL, if_none_match: str | None = None) -> Response:
    """An object with its metadata, as loads, creates and commits answer it."""
    return unless_known(await metadata_response(answer, call.root.table_config, snapshots, call.accepts_gzip), if_none_match)


async def place_of_listing(call: Call) -> Target | None:
    """Where to list the tables or views of the path's namespace; None where there can be none."""
    namespace = call.namespace()
    resolved = resolve(namespace)
    if resolved.place is Place.UNKNOWN:
        raise no_namespace(namespace)
    if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS}:
        await call.root.catalog()
        return None
    target = await call.target(resolved, write=False)
    return target if target.rest else None


async def list_tables(call: Call) -> Response:
    target = await place_of_listing(call)
    if target is None:
        return json_response(identifiers_body([], None))
    listing = await target.scope.list_tables(target.rest, call.page())
    return json_response(identifiers_body([target.shown(item) for item in listing.items], listing.next_token))


async def load_table(call: Call) -> Response:
    earlier = call.services.loads.get(call.asked)
    load = await (_load_first(call) if earlier is None else _load_again(call, earlier))
    return unless_known(load.response, call.header(b"if-none-match"))


async def _load_first(call: Call) -> AnsweredLoad:
    snapshots = call.query("snapshots") or ALL
    if snapshots not in {ALL, REFS}:
        raise InvalidArgumentError(f"snapshots must be {ALL} or {REFS}, not {snapshots[:40]!r}")
    target = await call.object_target(call.object_name("table"), no_table, write=False)
    found = await target.scope.load_table(target.rest)
    load = AnsweredLoad(target.scope, target.rest, snapshots, found, await loaded(call, found, snapshots=snapshots))
    # Below a transaction a path does not always lead to the same scope: transactions end.
    if call.warehouse.view is not View.TRANSACTION and not target.prefix:
        call.services.loads.keep(call.asked, load)
    return load


async def _load_again(call: Call, earlier: AnsweredLoad) -> AnsweredLoad:
    found = await earlier.scope.load_table(earlier.name, earlier.loaded)
    if found is earlier.loaded:
        return earlier
    load = replace(earlier, loaded=found, response=await loaded(call, found, snapshots=earlier.snapshots))
    call.services.loads.keep(call.asked, load)
    return load


async def table_exists(call: Call) -> Response:
    name = call.object_name("table")
    target = await call.object_target(name, no_table, write=False)
    if not await target.scope.table_exists(target.rest):
        raise no_table(name)
    return no_content()


async def create_table(call: Call) -> Response:
    body = await call.body()
    target = await call.new_object_target((*call.namespace(), required(body, "name", str)))
    new = NewTable(
        schema=required(body, "schema", dict),
        partition_spec=optional(body, "partition-spec", dict),
        write_order=optional(body, "write-order", dict),
        location=optional(body, "location", str),
        properties=string_map(body, "properties"),
    )
    if optional(body, "stage-create", bool):
        metadata = await target.scope.stage_table(target.rest, new)
        return json_response({"metadata": metadata, "config": Fragment(call.root.table_config)})
    return await loaded(call, await target.scope.create_table(target.rest, new, call.context()))


async def register_table(call: Call) -> Response:
    body = await call.body()
    target = await call.new_object_target((*call.namespace(), required(body, "name", str)))
    location = required(body, "metadata-location", str)
    overwrite = optional(body, "overwrite", bool) or False
    return await loaded(call, await target.scope.register_table(target.rest, location, overwrite, call.context()))


async def commit_table(call: Call) -> Response:
    body = await call.body()
    target = await call.object_target(call.object_name("table"), no_table, write=True)
    [answer] = await target.scope.commit_tables([_commit(target.rest, body)], call.context())
    return await loaded(call, answer)


async def drop_table(call: Call) -> Response:
    purge = flag(call, "purgeRequested")
    target = await call.object_target(call.object_name("table"), no_table, write=True)
    await target.scope.drop_table(target.rest, purge, call.context())
    return no_content()


async def rename_table(call: Call) -> Response:
    source, destination = await rename_targets(call, no_table)
    await source.scope.rename_table(source.rest, destination.rest, call.context())
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
        target = await call.object_target(table_identifier(change, "identifier", within), no_table, write=True)
        targets.append(target)
        commits.append(_commit(target.rest, change, within))
    if not commits:
        raise InvalidArgumentError("table-changes must not be empty")
    if len({target.home for target in targets}) > 1:
        raise InvalidArgumentError("table-changes must all be in one transaction, or all outside of any")
    await targets[0].scope.commit_tables(commits, call.context())
    return no_content()


async def rename_targets(call: Call, missing: Callable[[Identifier], NotFoundError]) -> tuple[Target, Target]:
    """Source and destination of a rename; both must lie in one scope."""
    body = await call.body()
    source = await call.object_target(table_identifier(body, "source"), missing, write=True)
    destination = await call.new_object_target(table_identifier(body, "destination"))
    if source.home != destination.home:
        raise InvalidArgumentError("source and destination of a rename must be in the same transaction, or both outside of any")
    return source, destination


def _commit(table: Identifier, body: Json, within: str = "") -> TableCommit:
    return TableCommit(table, object_list(body, "requirements", within), object_list(body, "updates", within))
