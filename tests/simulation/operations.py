"""What clients do on a scope: each operation knows what it asks for, sends it, and says what its answers claim."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import orjson

from catalog_format.catalog import PlaceScope
from catalog_format.changes import Verb
from catalog_format.errors import (
    AlreadyExistsError,
    ConflictError,
    MissingFileError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TreelineError,
)
from catalog_format.keys import Identifier, ObjectType, namespace_key, table_key, view_key
from catalog_format.scope import LoadedMetadata, NewTable, NewView, RequestContext, TableCommit
from tests.simulation.plan import BALANCE, Step
from tests.simulation.sights import Absent, Children, Located, NotEmpty, OtherHead, Present, Sight, WithProperties
from tests.simulation.states import Json, Wanted
from tests.support.catalogs import NEW_VIEW, SCHEMA


class Operation(ABC):
    """One wish of one client. `prepare` may look first; then `send` asks, maybe several times, always for the same."""

    looks_first = False

    def __init__(self, step: Step) -> None:
        self.step = step
        self.wanted: tuple[Wanted, ...] = ()
        """What it changes; known before it is sent."""
        self.subjects: tuple[Identifier, ...] = tuple(name for name in (step.target, step.other) if name)
        """Objects that have to exist."""
        self.claimed: tuple[Identifier, ...] = ()
        """Names that have to be free."""

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        """Look at what the wish depends on."""
        return []

    @abstractmethod
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        """Ask; what the answer says of the state it was given on."""

    def denied(self, error: TreelineError) -> Sight | None:
        """What a refusal says of the state; None if it is one that this operation must never meet."""
        match error:
            case NoSuchNamespaceError():
                return Absent(tuple(namespace_key(name[:1]) for name in (*self.subjects, *self.claimed)))
            case NoSuchTableError():
                return Absent(tuple(table_key(name) for name in self.subjects))
            case NoSuchViewError():
                return Absent(tuple(view_key(name) for name in self.subjects))
            case MissingFileError():
                return None
            case AlreadyExistsError() if self.claimed:
                return Present(tuple(key for name in self.claimed for key in _taken_by(name)))
            case NamespaceNotEmptyError():
                return NotEmpty(self.step.target)
            case ConflictError() if heads := _heads_in(self.wanted):
                return OtherHead(heads)
        return None


class SetProperty(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (_update(step.target, [], [_setting({_property(step): step.id})]),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []


class SetBoth(SetProperty):
    """One property on two tables, in one commit."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = tuple(_update(name, [], [_setting({_property(step): step.id})]) for name in (step.target, step.other))


class SetNamespaceProperty(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.updates = {_property(step): step.id}
        self.wanted = (Wanted(Verb.UPDATE, namespace_key(step.target), request={"updates": self.updates, "removals": []}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.update_namespace(self.step.target, [], self.updates, context)
        return []


class SetViewProperty(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.updates = [_setting({_property(step): step.id})]
        self.wanted = (Wanted(Verb.UPDATE, view_key(step.target), request={"requirements": [], "updates": self.updates}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.replace_view(self.step.target, [], self.updates, context)
        return []


class Append(Operation):
    """A new snapshot on top of the one that was seen."""

    looks_first = True

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        loaded = await scope.load_table(self.step.target)
        self.wanted = (_update(self.step.target, *_appending(self.step, orjson.loads(loaded.metadata))),)
        return [_located(table_key(self.step.target), loaded)]

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []


class Transfer(Append):
    """Money from one account to another, if both are still as they were seen."""

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        sights: list[Sight] = []
        wanted: list[Wanted] = []
        for name, amount in ((self.step.target, -self.step.amount), (self.step.other, self.step.amount)):
            loaded = await scope.load_table(name)
            metadata = orjson.loads(loaded.metadata)
            requirements, updates = self._guarded(metadata)
            balance = int(metadata["properties"]["balance"]) + amount
            wanted.append(_update(name, requirements, [_setting({"balance": str(balance)}), *updates]))
            sights.append(_located(table_key(name), loaded))
        self.wanted = tuple(wanted)
        return sights

    def _guarded(self, metadata: Json) -> tuple[list[Json], list[Json]]:
        return _appending(self.step, metadata)


class TransferBetweenPurses(Transfer):
    """The same with nothing but the properties: in a transaction no more is needed."""

    def _guarded(self, metadata: Json) -> tuple[list[Json], list[Json]]:
        return [], []


class Making(Operation):
    """Something under a name that has to be free."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.subjects, self.claimed = (), (step.target,)


class CreateTable(Making):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": {"by": step.id}}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_table(self.step.target, NewTable(SCHEMA, properties={"by": self.step.id}), context)
        return []


class OpenAccount(Making):
    """A table that holds money."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.properties = {"balance": str(BALANCE)}
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": self.properties}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_table(self.step.target, NewTable(SCHEMA, properties=self.properties), context)
        return []


class CreateView(Making):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.CREATE, view_key(step.target), request={"metadata": {"properties": {"by": step.id}}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        new = NewView(NEW_VIEW.schema, NEW_VIEW.view_version, properties={"by": self.step.id})
        await scope.create_view(self.step.target, new, context)
        return []


class CreateNamespace(Making):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.CREATE, namespace_key(step.target), request={"updates": {"by": step.id}, "removals": []}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_namespace(self.step.target, {"by": self.step.id}, context)
        return []


class DropTable(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.DROP, table_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_table(self.step.target, self.step.fraction < 0.5, context)
        return []


class DropView(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.DROP, view_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_view(self.step.target, context)
        return []


class DropNamespace(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.DROP, namespace_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_namespace(self.step.target, context)
        return []


class RenameTable(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.MOVE, table_key(step.target), table_key(step.other)),)
        self.subjects, self.claimed = (step.target,), (step.other,)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.rename_table(self.step.target, self.step.other, context)
        return []


class LoadTable(Operation):
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        return [_located(table_key(self.step.target), await scope.load_table(self.step.target))]


class LoadView(Operation):
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        return [_located(view_key(self.step.target), await scope.load_view(self.step.target))]


class LoadNamespace(Operation):
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        key = namespace_key(self.step.target)
        if not await scope.namespace_exists(self.step.target):
            return [Absent((key,))]
        return [WithProperties(key, await scope.load_namespace(self.step.target))]


class ListChildren(Operation):
    """Tables, views or namespaces: one listing, one version."""

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        if self.step.fraction < 0.2:
            return [Children(ObjectType.NAMESPACE, (), frozenset((await scope.list_namespaces()).items))]
        if self.step.fraction < 0.4:
            return [Children(ObjectType.VIEW, self.step.target, frozenset((await scope.list_views(self.step.target)).items))]
        return [Children(ObjectType.TABLE, self.step.target, frozenset((await scope.list_tables(self.step.target)).items))]


OPERATIONS: dict[str, type[Operation]] = {
    "set": SetProperty,
    "set-both": SetBoth,
    "set-namespace": SetNamespaceProperty,
    "set-view": SetViewProperty,
    "append": Append,
    "transfer": Transfer,
    "transfer-purse": TransferBetweenPurses,
    "open-account": OpenAccount,
    "create-table": CreateTable,
    "create-view": CreateView,
    "create-namespace": CreateNamespace,
    "drop-table": DropTable,
    "drop-view": DropView,
    "drop-namespace": DropNamespace,
    "rename-table": RenameTable,
    "load": LoadTable,
    "load-past": LoadTable,
    "load-view": LoadView,
    "load-namespace": LoadNamespace,
    "list": ListChildren,
}


def _property(step: Step) -> str:
    """Few names, so that settings meet."""
    return "p" if step.fraction < 0.6 else "q"


def _setting(updates: dict[str, str]) -> Json:
    return {"action": "set-properties", "updates": updates}


def _update(name: Identifier, requirements: Sequence[Json], updates: Sequence[Json]) -> Wanted:
    return Wanted(Verb.UPDATE, table_key(name), request={"requirements": list(requirements), "updates": list(updates)})


def _commits(step: Step, wanted: Sequence[Wanted]) -> list[TableCommit]:
    names = (step.target, step.other)
    return [TableCommit(name, want.request["requirements"], want.request["updates"]) for name, want in zip(names, wanted, strict=False)]


def _appending(step: Step, metadata: Json) -> tuple[list[Json], list[Json]]:
    """Requirements and updates of a snapshot on top of main's head in `metadata`."""
    head = metadata.get("current-snapshot-id")
    head = None if head == -1 else head
    snapshot: dict[str, Any] = {
        "snapshot-id": int(step.id[1:]),
        "sequence-number": metadata["last-sequence-number"] + 1,
        "timestamp-ms": metadata["last-updated-ms"] + 1,
        "manifest-list": f"memory://simulated/data/{step.id}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    if head is not None:
        snapshot["parent-snapshot-id"] = head
    reference = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot["snapshot-id"]}
    return [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": head}], [
        {"action": "add-snapshot", "snapshot": snapshot},
        reference,
    ]


def _heads_in(wanted: Sequence[Wanted]) -> tuple[tuple[bytes, int | None], ...]:
    """The newest snapshots that a wish depends on."""
    return tuple(
        (want.key, requirement["snapshot-id"])
        for want in wanted
        for requirement in want.request.get("requirements", [])
        if "ref" in requirement
    )


def _located(key: bytes, loaded: LoadedMetadata) -> Located:
    return Located(key, loaded.metadata_location)


def _taken_by(name: Identifier) -> tuple[bytes, ...]:
    return (namespace_key(name),) if len(name) == 1 else (table_key(name), view_key(name))
