"""Tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from orjson import Fragment
from starlette.responses import Response

from catalog_format.errors import InvalidArgumentError, NotFoundError
from catalog_format.keys import Identifier
from catalog_format.names import Place, resolve
from catalog_format.scope import LoadedMetadata, NewTable, TableCommit
from irc_server.call import Call, Target, no_namespace, no_table
from irc_server.endpoints.listings import listed
from irc_server.warehouses import View
from irc_server.wire.answers import (
    ALL,
    REFS,
    AnsweredLoad,
    Form,
    Protection,
    etag_of,
    identifiers_body,
    json_response,
    metadata_response,
    no_content,
    unless_known,
)
from irc_server.wire.parameters import IF_NONE_MATCH, PURGE_REQUESTED, SNAPSHOTS, Parameter
from irc_server.wire.requests import (
    CommitTableRequest,
    CommitTransactionRequest,
    CreateTableRequest,
    RegisterTableRequest,
    RenameRequest,
    ReportMetricsRequest,
    levels_of,
)

_FLAGS = {"true": True, "false": False}


def flag(call: Call, parameter: Parameter) -> bool:
    """A boolean of the query; absent is false."""
    text = call.query(parameter)
    if text is None:
        return False
    value = _FLAGS.get(text.lower())
    if value is None:
        raise InvalidArgumentError(f"{parameter.name} must be true or false, not {text[:40]!r}")
    return value


async def loaded(call: Call, answer: LoadedMetadata, *, form: Form, if_none_match: str | None = None) -> Response:
    """An object with its metadata, as loads, creates and commits answer it."""
    services, location = call.services, answer.metadata_location
    metadata = services.referenced.of(answer) if form.snapshots == REFS else answer.metadata
    if form.protection is not Protection.NONE:
        unless_told = form.protection is Protection.UNLESS_TOLD
        metadata = services.protected.of(location, form.snapshots, metadata, unless_told=unless_told)
    response = await metadata_response(location, metadata, call.root.table_config, form, call.accepts_gzip)
    return unless_known(response, if_none_match)


def _form(call: Call, target: Target, snapshots: str = ALL) -> Form:
    """How a table is answered where the target lies.

    Files that engines delete in a past version are missing in later ones, always; those deleted in a transaction, if it is rolled back.
    """
    if call.warehouse.view is View.VERSION:
        return Form(snapshots, Protection.ALL)
    is_main = call.warehouse.view is View.MAIN and not target.prefix
    unprotected = is_main and not call.services.settings.protect_old_versions
    return Form(snapshots, Protection.NONE if unprotected else Protection.UNLESS_TOLD)


def exists(call: Call, etag: str) -> Response:
    """It is there, with the ETag that loading it would give."""
    return unless_known(Response(status_code=204, headers={"etag": etag}), call.header(IF_NONE_MATCH))


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

    def body(items: Sequence[Identifier], next_token: str | None) -> object:
        return identifiers_body([target.shown(item) for item in items], next_token)

    return await listed(call, partial(target.scope.list_tables, target.rest), body, in_transaction=bool(target.prefix))


async def load_table(call: Call) -> Response:
    earlier = call.services.loads.get(call.asked)
    load = await (_load_first(call) if earlier is None else _load_again(call, earlier))
    return unless_known(load.response, call.header(IF_NONE_MATCH))


async def _load_first(call: Call) -> AnsweredLoad:
    snapshots = _snapshots(call)
    target = await call.object_target(call.object_name("table"), no_table, write=False)
    found = await target.scope.load_table(target.rest)
    form = _form(call, target, snapshots)
    load = AnsweredLoad(target.scope, target.rest, form, found, await loaded(call, found, form=form))
    # Below a transaction a path does not always lead to the same scope: transactions end.
    if call.warehouse.view is not View.TRANSACTION and not target.prefix:
        call.services.loads.keep(call.asked, load)
    return load


def _snapshots(call: Call) -> str:
    snapshots = call.query(SNAPSHOTS) or ALL
    if snapshots not in {ALL, REFS}:
        raise InvalidArgumentError(f"snapshots must be {ALL} or {REFS}, not {snapshots[:40]!r}")
    return snapshots


async def _load_again(call: Call, earlier: AnsweredLoad) -> AnsweredLoad:
    found = await earlier.scope.load_table(earlier.name, earlier.loaded)
    if found is earlier.loaded:
        return earlier
    load = replace(earlier, loaded=found, response=await loaded(call, found, form=earlier.form))
    call.services.loads.keep(call.asked, load)
    return load


async def table_exists(call: Call) -> Response:
    name = call.object_name("table")
    target = await call.object_target(name, no_table, write=False)
    location = await target.scope.table_location(target.rest)
    if location is None:
        raise no_table(name)
    return exists(call, etag_of(location, _form(call, target, _snapshots(call))))


async def create_table(call: Call, body: CreateTableRequest) -> Response:
    target = await call.new_object_target((*call.namespace(), body["name"]))
    new = NewTable(
        schema=body["schema"],
        partition_spec=body.get("partition-spec"),
        write_order=body.get("write-order"),
        location=body.get("location"),
        properties=body.get("properties") or {},
    )
    if body.get("stage-create"):
        # As it will be stored: clients send all of it back.
        metadata = await target.scope.stage_table(target.rest, new)
        return json_response({"metadata": metadata, "config": Fragment(call.root.table_config)})
    return await loaded(call, await target.scope.create_table(target.rest, new, call.context()), form=_form(call, target))


async def register_table(call: Call, body: RegisterTableRequest) -> Response:
    target = await call.new_object_target((*call.namespace(), body["name"]))
    overwrite = body.get("overwrite") or False
    answer = await target.scope.register_table(target.rest, body["metadata-location"], overwrite, call.context())
    return await loaded(call, answer, form=_form(call, target))


async def unregister_table(call: Call) -> Response:
    """The table leaves the catalog; its files stay for whoever registers them."""
    target = await call.object_target(call.object_name("table"), no_table, write=True)
    last = await target.scope.unregister_table(target.rest, call.context())
    return json_response({"metadata-location": last.metadata_location, "metadata": Fragment(last.metadata)})


async def commit_table(call: Call, body: CommitTableRequest) -> Response:
    target = await call.object_target(call.object_name("table"), no_table, write=True)
    [answer] = await target.scope.commit_tables([TableCommit(target.rest, body["requirements"], body["updates"])], call.context())
    return await loaded(call, answer, form=_form(call, target))


async def drop_table(call: Call) -> Response:
    purge = flag(call, PURGE_REQUESTED)
    target = await call.object_target(call.object_name("table"), no_table, write=True)
    await target.scope.drop_table(target.rest, purge, call.context())
    return no_content()


async def rename_table(call: Call, body: RenameRequest) -> Response:
    source, destination = await rename_targets(call, body, no_table)
    await source.scope.rename_table(source.rest, destination.rest, call.context())
    return no_content()


async def report_metrics(call: Call, body: ReportMetricsRequest) -> Response:
    """Accepted and dropped."""
    return no_content()


async def commit_transaction(call: Call, body: CommitTransactionRequest) -> Response:
    """Commits of several tables in one version."""
    targets: list[Target] = []
    commits: list[TableCommit] = []
    for change in body["table-changes"]:
        target = await call.object_target(levels_of(change["identifier"]), no_table, write=True)
        targets.append(target)
        commits.append(TableCommit(target.rest, change["requirements"], change["updates"]))
    if len({target.home for target in targets}) > 1:
        raise InvalidArgumentError("table-changes must all be in one transaction, or all outside of any")
    await targets[0].scope.commit_tables(commits, call.context())
    return no_content()


async def rename_targets(call: Call, body: RenameRequest, missing: Callable[[Identifier], NotFoundError]) -> tuple[Target, Target]:
    """Source and destination of a rename; both must lie in one scope."""
    source = await call.object_target(levels_of(body["source"]), missing, write=True)
    destination = await call.new_object_target(levels_of(body["destination"]))
    if source.home != destination.home:
        raise InvalidArgumentError("source and destination of a rename must be in the same transaction, or both outside of any")
    return source, destination
