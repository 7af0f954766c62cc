"""Namespaces, those of the system included: transactions are begun, committed and rolled back here."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionInfo
from catalog_format.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTransactionError,
)
from catalog_format.keys import Identifier
from catalog_format.names import SYSTEM, TRANSACTION_PREFIX, TRANSACTIONS, Place, ResolvedName, resolve
from irc_server.call import Call, namespace_of
from irc_server.wire.answers import json_response, namespaces_body, no_content
from irc_server.wire.json_body import string_list, string_map

ISOLATION = "isolation-level"
TTL = "ttl-millis"
COMMIT = ("commit", "committed")
LIST_SYSTEM = "list-system-namespace"
# Shown by a transaction's namespace, so a client that sends them back does not mean to set them.
_SHOWN = frozenset({"status", ISOLATION, "base-version", "version", "began-at", "ended-at", "expires-at", "reason"})


async def list_namespaces(call: Call) -> Response:
    parent_text = call.query("parent")
    parent = namespace_of(parent_text) if parent_text else ()
    resolved = resolve(parent)
    match resolved.place:
        case Place.SYSTEM:
            _ = call.root.catalog
            return json_response(namespaces_body([(*parent, TRANSACTIONS)], None))
        case Place.TRANSACTIONS:
            infos = await call.root.catalog.transactions.list_open()
            return json_response(namespaces_body([(*parent, TRANSACTION_PREFIX + info.transaction_id) for info in infos], None))
        case Place.UNKNOWN:
            raise _missing(parent)
        case _:
            target = await call.target(resolved, write=False)
            page = call.page()
            listing = await target.scope.list_namespaces(target.rest, page)
            items = [target.shown(item) for item in listing.items]
            begins = page is None or page.token is None
            if not parent and begins and (await call.root.catalog.properties()).get(LIST_SYSTEM, "").lower() == "true":
                items.insert(0, (SYSTEM,))
            return json_response(namespaces_body(items, listing.next_token))


async def create_namespace(call: Call) -> Response:
    body = await call.body()
    namespace = tuple(string_list(body, "namespace"))
    if not namespace:
        raise InvalidArgumentError("namespace must have at least one level")
    properties = string_map(body, "properties")
    resolved = resolve(namespace)
    match resolved.place:
        case Place.SYSTEM:
            await _initialise(call)
            return json_response({"namespace": list(namespace), "properties": {}})
        case Place.TRANSACTIONS:
            raise AlreadyExistsError(f"Namespace already exists: {'.'.join(namespace)}")
        case Place.UNKNOWN:
            raise InvalidArgumentError(
                f"{'.'.join(namespace)} cannot be made: begin a transaction with {SYSTEM}.{TRANSACTIONS}.{TRANSACTION_PREFIX}<id>"
            )
        case Place.TRANSACTION if not resolved.rest:
            shown = await _begin(call, resolved, properties)
        case _:
            target = await call.target(resolved, write=True)
            shown = await target.scope.create_namespace(target.rest, properties, await call.context())
    return json_response({"namespace": list(namespace), "properties": shown})


async def load_namespace(call: Call) -> Response:
    namespace = call.namespace()
    return json_response({"namespace": list(namespace), "properties": await _properties(call, namespace)})


async def namespace_exists(call: Call) -> Response:
    namespace = call.namespace()
    resolved = resolve(namespace)
    if resolved.place is Place.CATALOG or resolved.rest:
        target = await call.target(resolved, write=False)
        if not await target.scope.namespace_exists(target.rest):
            raise _missing(namespace)
    else:
        await _properties(call, namespace)
    return no_content()


async def drop_namespace(call: Call) -> Response:
    namespace = call.namespace()
    resolved = resolve(namespace)
    if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS}:
        raise InvalidArgumentError(f"{'.'.join(namespace)} is the system's and cannot be dropped")
    if resolved.place is Place.UNKNOWN:
        raise _missing(namespace)
    if resolved.place is Place.TRANSACTION and not resolved.rest and resolved.transaction_id is not None:
        await call.root.catalog.transactions.rollback(resolved.transaction_id)
    else:
        target = await call.target(resolved, write=True)
        await target.scope.drop_namespace(target.rest, await call.context())
    return no_content()


async def update_properties(call: Call) -> Response:
    namespace = call.namespace()
    body = await call.body()
    removals, updates = string_list(body, "removals"), string_map(body, "updates")
    resolved = resolve(namespace)
    if resolved.place in {Place.SYSTEM, Place.TRANSACTIONS, Place.UNKNOWN}:
        await _properties(call, namespace)
        raise InvalidArgumentError(f"{'.'.join(namespace)} has no properties that can be set")
    if resolved.place is Place.TRANSACTION and not resolved.rest:
        return await _update_transaction(call, resolved, removals, updates)
    target = await call.target(resolved, write=True)
    done = await target.scope.update_namespace(target.rest, removals, updates, await call.context())
    return json_response({"updated": done.updated, "removed": done.removed, "missing": done.missing})


async def _properties(call: Call, namespace: Identifier) -> Mapping[str, str]:
    resolved = resolve(namespace)
    match resolved.place:
        case Place.SYSTEM | Place.TRANSACTIONS:
            _ = call.root.catalog
            return {}
        case Place.UNKNOWN:
            raise _missing(namespace)
        case Place.TRANSACTION if not resolved.rest and resolved.transaction_id is not None:
            try:
                return _shown(await call.root.catalog.transactions.load(resolved.transaction_id))
            except NoSuchTransactionError:
                raise _missing(namespace) from None
        case _:
            target = await call.target(resolved, write=False)
            return await target.scope.load_namespace(target.rest)


async def _initialise(call: Call) -> None:
    """`CREATE NAMESPACE sys`: make the catalog that is not there yet."""
    if call.root.is_open:
        raise AlreadyExistsError(f"Namespace already exists: {SYSTEM}; the catalog {call.root.name} is there")
    settings = call.services.settings
    await call.root.open(init=True, node_cache_bytes=settings.node_cache_mib << 20, max_staleness_s=settings.max_staleness_ms / 1000)


async def _begin(call: Call, resolved: ResolvedName, properties: Mapping[str, str]) -> Mapping[str, str]:
    level = properties.get(ISOLATION, IsolationLevel.SNAPSHOT.value)
    if level not in set(IsolationLevel):
        raise InvalidArgumentError(f"{ISOLATION} must be one of {', '.join(IsolationLevel)}, not {level!r}")
    ttl = properties.get(TTL)
    if ttl is not None and not (ttl.isascii() and ttl.isdecimal()):
        raise InvalidArgumentError(f"{TTL} must be a whole number of milliseconds, not {ttl!r}")
    kept = {key: value for key, value in properties.items() if key not in {ISOLATION, TTL}}
    info = await call.root.catalog.transactions.begin(
        resolved.transaction_id or "", IsolationLevel(level), None if ttl is None else int(ttl), kept, await call.context()
    )
    return _shown(info)


async def _update_transaction(call: Call, resolved: ResolvedName, removals: list[str], updates: dict[str, str]) -> Response:
    transactions = call.root.catalog.transactions
    transaction_id = resolved.transaction_id or ""
    wishes = {key: updates[key] for key in COMMIT if key in updates}
    for key, value in wishes.items():
        if value.lower() != "true":
            raise InvalidArgumentError(f"{key} can be set to true only, not {value!r}; drop the namespace to roll back")
    fixed = sorted(_SHOWN & (updates.keys() | set(removals)))
    if fixed:
        raise InvalidArgumentError(f"Property {fixed[0]} of a transaction cannot be changed after it began")
    others = {key: value for key, value in updates.items() if key not in COMMIT}
    try:
        before = (await transactions.load(transaction_id)).properties
        if others or removals:
            await transactions.set_properties(transaction_id, removals, others)
        if wishes:
            await transactions.commit(transaction_id, await call.context())
    except NoSuchTransactionError:
        raise _missing(resolved.prefix) from None
    return json_response(
        {
            "updated": sorted(updates),
            "removed": sorted(key for key in set(removals) if key in before),
            "missing": sorted(key for key in set(removals) if key not in before),
        }
    )


def _shown(info: TransactionInfo) -> dict[str, str]:
    """A transaction as its namespace's properties; times in milliseconds since the epoch."""
    told = {
        "status": info.status.value,
        ISOLATION: info.isolation.value,
        "base-version": str(info.base_version),
        "version": None if info.version is None else str(info.version),
        "began-at": str(info.began_at_ms),
        "ended-at": None if info.ended_at_ms is None else str(info.ended_at_ms),
        "expires-at": str(info.expires_at_ms),
        "reason": info.reason or None,
    }
    return {**info.properties, **{key: value for key, value in told.items() if value is not None}}


def _missing(namespace: Identifier) -> NoSuchNamespaceError:
    return NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(namespace)}")
