"""Namespaces: the catalog's own, and, by what their names mean, those of the system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from starlette.responses import Response

from catalog_format.keys import Identifier
from catalog_format.names import SYSTEM, Place, ResolvedName, resolve
from catalog_format.scope import Listing, Page, PropertiesUpdate
from irc_server.call import Call, namespace_of, no_namespace
from irc_server.endpoints.listings import listed
from irc_server.endpoints.system_namespaces import Reserved, System, Transactions
from irc_server.endpoints.transactions import Transaction
from irc_server.error_map import UnprocessableError
from irc_server.warehouses import View
from irc_server.wire.answers import json_response, namespaces_body, no_content
from irc_server.wire.parameters import PARENT
from irc_server.wire.requests import CreateNamespaceRequest, UpdateNamespacePropertiesRequest
from irc_server.wire.results import NamespaceResult, UpdateNamespacePropertiesResult

LIST_SYSTEM = "list-system-namespace"
# The page that holds nothing but the system namespace, when the others were full.
_SYSTEM_PAGE = SYSTEM


class NamespaceLike(Protocol):
    """What can be done with a namespace, whatever it stands for."""

    async def children(self, page: Page | None) -> Listing: ...

    async def load(self) -> Mapping[str, str]: ...

    async def check_exists(self) -> None: ...

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]: ...

    async def update(self, removals: list[str], updates: Mapping[str, str]) -> PropertiesUpdate: ...

    async def drop(self) -> None: ...


class Ordinary:
    """A namespace of the catalog, or of the catalog as a transaction sees it. The empty name is where the others begin."""

    def __init__(self, call: Call, namespace: Identifier, resolved: ResolvedName) -> None:
        self._call = call
        self._namespace = namespace
        self._resolved = resolved

    async def children(self, page: Page | None) -> Listing:
        if not self._namespace and self._call.warehouse.view is View.MAIN:
            return await self._top_level(page)
        target = await self._call.target(self._resolved, write=False)
        listing = await target.scope.list_namespaces(target.rest, page)
        return Listing([target.shown(item) for item in listing.items], listing.next_token)

    async def _top_level(self, page: Page | None) -> Listing:
        """With the system namespace after the others, if the catalog wants it shown."""
        catalog = await self._call.root.catalog()
        if page is not None and page.token == _SYSTEM_PAGE:
            return Listing([(SYSTEM,)])
        listing = await catalog.main.list_namespaces((), page)
        # They never change, so any root tells them.
        properties = catalog.versions.known.header.catalog.properties
        if listing.next_token is not None or properties.get(LIST_SYSTEM, "").lower() != "true":
            return listing
        if page is not None and len(listing.items) >= page.size:
            return Listing(listing.items, _SYSTEM_PAGE)
        return Listing([*listing.items, (SYSTEM,)])

    async def load(self) -> Mapping[str, str]:
        target = await self._call.target(self._resolved, write=False)
        return await target.scope.load_namespace(target.rest)

    async def check_exists(self) -> None:
        target = await self._call.target(self._resolved, write=False)
        if not await target.scope.namespace_exists(target.rest):
            raise no_namespace(self._namespace)

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        # As for tables: in an ended transaction nothing can be made, and its name is gone (404).
        target = await self._call.target(self._resolved, write=False)
        return await target.scope.create_namespace(target.rest, properties, self._call.context())

    async def update(self, removals: list[str], updates: Mapping[str, str]) -> PropertiesUpdate:
        target = await self._call.target(self._resolved, write=True)
        return await target.scope.update_namespace(target.rest, removals, updates, self._call.context())

    async def drop(self) -> None:
        target = await self._call.target(self._resolved, write=True)
        await target.scope.drop_namespace(target.rest, self._call.context())


def _named(call: Call, namespace: Identifier) -> NamespaceLike:
    resolved = resolve(namespace)
    if resolved.place is Place.TRANSACTION and not resolved.rest:
        return Transaction(call, namespace, resolved.transaction_id or "")
    return _BY_PLACE[resolved.place](call, namespace, resolved)


_BY_PLACE: dict[Place, type[Ordinary] | type[System] | type[Transactions] | type[Reserved]] = {
    Place.CATALOG: Ordinary,
    Place.TRANSACTION: Ordinary,
    Place.SYSTEM: System,
    Place.TRANSACTIONS: Transactions,
    Place.UNKNOWN: Reserved,
}


async def list_namespaces(call: Call) -> Response:
    parent = namespace_of(call.query(PARENT) or "")
    in_transaction = resolve(parent).place is Place.TRANSACTION
    return await listed(call, _named(call, parent).children, namespaces_body, in_transaction=in_transaction)


async def create_namespace(call: Call, body: CreateNamespaceRequest) -> Response:
    namespace = tuple(body["namespace"])
    return _shown(namespace, await _named(call, namespace).create(body.get("properties") or {}))


async def load_namespace(call: Call) -> Response:
    namespace = call.namespace()
    return _shown(namespace, await _named(call, namespace).load())


async def namespace_exists(call: Call) -> Response:
    await _named(call, call.namespace()).check_exists()
    return no_content()


async def drop_namespace(call: Call) -> Response:
    await _named(call, call.namespace()).drop()
    return no_content()


async def update_properties(call: Call, body: UpdateNamespacePropertiesRequest) -> Response:
    namespace = call.namespace()
    removals, updates = body.get("removals") or [], body.get("updates") or {}
    both = sorted(set(removals) & updates.keys())
    if both:
        raise UnprocessableError(f"Cannot set and remove the same property: {both[0]}")
    done = await _named(call, namespace).update(removals, updates)
    result: UpdateNamespacePropertiesResult = {"updated": done.updated, "removed": done.removed, "missing": done.missing}
    return json_response(result)


def _shown(namespace: Identifier, properties: Mapping[str, str]) -> Response:
    result: NamespaceResult = {"namespace": list(namespace), "properties": dict(properties)}
    return json_response(result)
