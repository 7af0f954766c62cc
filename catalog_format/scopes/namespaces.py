"""Operations on namespaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from catalog_format.changes import Change, Verb
from catalog_format.errors import InvalidArgumentError, NoSuchNamespaceError
from catalog_format.iceberg.namespace_kind import properties_request
from catalog_format.keys import Identifier, ObjectType, namespace_key
from catalog_format.names import SYSTEM_NAMES
from catalog_format.objects import NamespaceDefinition
from catalog_format.scope import NO_CONTEXT, Listing, Page, PropertiesUpdate, RequestContext
from catalog_format.scopes.operations import Operations


class NamespaceOperations(Operations):
    """See `scope.Scope`."""

    async def list_namespaces(self, parent: Identifier = (), page: Page | None = None) -> Listing:
        return await self._children(ObjectType.NAMESPACE, parent, page)

    async def load_namespace(self, namespace: Identifier) -> dict[str, str]:
        async with self._place.reading() as reader:
            definition = await reader.definition(namespace_key(namespace))
        if definition is None:
            raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(namespace)}")
        return dict(NamespaceDefinition.from_bytes(definition).properties)

    async def namespace_exists(self, namespace: Identifier) -> bool:
        async with self._place.reading() as reader:
            return await reader.exists(namespace_key(namespace))

    async def create_namespace(
        self, namespace: Identifier, properties: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> dict[str, str]:
        if namespace and namespace[0] in SYSTEM_NAMES:
            raise InvalidArgumentError(f"Namespace {namespace[0]} is the system's; choose another name")
        change = Change(Verb.CREATE, namespace_key(namespace), properties_request(properties))
        done = await self._place.write([change], context)
        return dict(NamespaceDefinition.from_bytes(done.definitions[change.key] or b"").properties)

    async def update_namespace(
        self, namespace: Identifier, removals: Sequence[str], updates: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> PropertiesUpdate:
        both = sorted(set(removals) & set(updates))
        if both:
            raise InvalidArgumentError(f"Cannot set and remove the same property: {both[0]}")
        before = await self.load_namespace(namespace)
        told = {
            "updated": sorted(updates),
            "removed": sorted(key for key in set(removals) if key in before),
            "missing": sorted(key for key in set(removals) if key not in before),
        }
        summary = ", ".join([*(f"set {key}" for key in sorted(updates)), *(f"remove {key}" for key in sorted(removals))])
        change = Change(Verb.UPDATE, namespace_key(namespace), properties_request(updates, removals), summary=summary)
        # The note goes with the answer, so that a repeated request is told the same.
        done = await self._place.write([change], context, orjson.dumps(told))
        return PropertiesUpdate(**orjson.loads(done.note))

    async def drop_namespace(self, namespace: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        await self._place.write([Change(Verb.DROP, namespace_key(namespace))], context)
