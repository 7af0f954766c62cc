"""What clients do on a scope: each operation knows what it asks for, sends it, and says what its answers claim."""

from __future__ import annotations

from catalog_format.catalog import PlaceScope
from catalog_format.changes import Verb
from catalog_format.keys import ObjectType, namespace_key, view_key
from catalog_format.scope import NewView, RequestContext
from tests.simulation.engine import Read
from tests.simulation.operation import Making, Operation, located, property_of, setting
from tests.simulation.plan import Step
from tests.simulation.sights import Absent, Children, Sight, WithProperties
from tests.simulation.states import Wanted
from tests.simulation.table_operations import (
    AddFiles,
    Append,
    Compact,
    CreateTable,
    DeleteRows,
    DropTable,
    LoadTable,
    OpenAccount,
    OverwriteRows,
    Register,
    RenameTable,
    SetBoth,
    SetProperty,
    Transfer,
    TransferBetweenPurses,
    UnregisterTable,
)
from tests.support.catalogs import NEW_VIEW


class SetNamespaceProperty(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.updates = {property_of(step): step.id}
        self.wanted = (Wanted(Verb.UPDATE, namespace_key(step.target), request={"updates": self.updates, "removals": []}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.update_namespace(self.step.target, [], self.updates, context)
        return []


class SetViewProperty(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.updates = [setting({property_of(step): step.id})]
        self.wanted = (Wanted(Verb.UPDATE, view_key(step.target), request={"requirements": [], "updates": self.updates}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.replace_view(self.step.target, [], self.updates, context)
        return []


class CreateView(Making):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.CREATE, view_key(step.target), request={"metadata": {"properties": {"by": step.id}}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        new = NewView(NEW_VIEW.schema, NEW_VIEW.view_version, properties={"by": self.step.id})
        await scope.create_view(self.step.target, new, context)
        return []


class CreateNamespace(Making):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.CREATE, namespace_key(step.target), request={"updates": {"by": step.id}, "removals": []}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_namespace(self.step.target, {"by": self.step.id}, context)
        return []


class DropView(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.DROP, view_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_view(self.step.target, context)
        return []


class DropNamespace(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.DROP, namespace_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_namespace(self.step.target, context)
        return []


class LoadView(Operation):
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        return [located(view_key(self.step.target), await scope.load_view(self.step.target))]


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
    "add-files": AddFiles,
    "overwrite-rows": OverwriteRows,
    "delete-rows": DeleteRows,
    "compact": Compact,
    "register": Register,
    "unregister": UnregisterTable,
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
