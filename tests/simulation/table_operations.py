"""What clients do with tables."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from catalog_format.catalog import PlaceScope
from catalog_format.changes import Verb
from catalog_format.errors import TreelineError
from catalog_format.keys import Identifier, table_key
from catalog_format.scope import NewTable, RequestContext, TableCommit
from tests.simulation.disk import URL
from tests.simulation.engine import Read, RowChange, data_file, head_of, live_files, snapshot_of
from tests.simulation.operation import Making, Operation, located, property_of, setting
from tests.simulation.plan import BALANCE, Step
from tests.simulation.sights import OtherHead, Sight
from tests.simulation.states import REBASES, Json, Wanted
from tests.support.catalogs import SCHEMA

SHARED_FOLDER = f"{URL}/data/shared"


class SetProperty(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (_update(step.target, [], [setting({property_of(step): step.id})]),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []


class SetBoth(SetProperty):
    """One property on two tables, in one commit."""

    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = tuple(_update(name, [], [setting({property_of(step): step.id})]) for name in (step.target, step.other))


class Append(Operation):
    """A new snapshot on top of the one that was seen, with a row more."""

    looks_first = True
    _rebases = False

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        loaded = await scope.load_table(self.step.target)
        metadata = orjson.loads(loaded.metadata)
        self.wanted = (_update(self.step.target, *self._snapshot(metadata, self._change(metadata))),)
        self._rebases = metadata["properties"].get(REBASES) == "true" and self.wanted[0].only_appends
        return [located(table_key(self.step.target), loaded)]

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []

    def denied(self, error: TreelineError) -> Sight | None:
        sight = super().denied(error)
        # Whatever came first, rows can be added to it.
        return None if self._rebases and isinstance(sight, OtherHead) else sight

    def _change(self, metadata: Json) -> RowChange:
        return RowChange("append", self._row(metadata))

    def _row(self, metadata: Json) -> dict[str, bytes]:
        return {data_file(metadata, self.step.id): self.step.id.encode()}

    def _snapshot(self, metadata: Json, change: RowChange) -> tuple[list[Json], list[Json]]:
        """Requirements and updates of a snapshot on top of main's head in `metadata`."""
        snapshot, files = snapshot_of(self.read_file, metadata, self.step.id, change)
        self.files |= files
        reference = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot["snapshot-id"]}
        guard = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": head_of(metadata)}
        return [guard], [{"action": "add-snapshot", "snapshot": snapshot}, reference]


class AddFiles(Append):
    """The same with a data file that another table has."""

    _others: Sequence[str] = ()

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        other = await scope.load_table(self.step.other)
        self._others = live_files(self.read_file, orjson.loads(other.metadata))[-1:]
        return [located(table_key(self.step.other), other), *await super().prepare(scope)]

    def _change(self, metadata: Json) -> RowChange:
        return RowChange("append", self._row(metadata), borrowed=self._others)


class OverwriteRows(Append):
    """A row in the place of those of one data file, if there is any."""

    def _change(self, metadata: Json) -> RowChange:
        found = live_files(self.read_file, metadata)
        return (
            RowChange("overwrite", self._row(metadata), [found[int(self.step.fraction * len(found))]])
            if found
            else super()._change(metadata)
        )


class DeleteRows(Append):
    """Without the rows of one data file, if there is any."""

    def _change(self, metadata: Json) -> RowChange:
        found = live_files(self.read_file, metadata)
        return RowChange("delete", removed=[found[int(self.step.fraction * len(found))]]) if found else super()._change(metadata)


class Compact(Append):
    """The rows of two data files in one, if there are two."""

    def _change(self, metadata: Json) -> RowChange:
        found = live_files(self.read_file, metadata)
        if len(found) < 2:
            return super()._change(metadata)
        first = int(self.step.fraction * (len(found) - 1))
        two = found[first : first + 2]
        rows = b"\n".join(map(self.read_file, two))
        return RowChange("replace", {data_file(metadata, self.step.id): rows}, two)


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
            wanted.append(_update(name, requirements, [setting({"balance": str(balance)}), *updates]))
            sights.append(located(table_key(name), loaded))
        self.wanted = tuple(wanted)
        return sights

    def _guarded(self, metadata: Json) -> tuple[list[Json], list[Json]]:
        return self._snapshot(metadata, self._change(metadata))


class TransferBetweenPurses(Transfer):
    """The same with nothing but the properties: in a transaction no more is needed."""

    def _guarded(self, metadata: Json) -> tuple[list[Json], list[Json]]:
        return [], []


class CreateTable(Making):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": {"by": step.id}}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        location = SHARED_FOLDER if self.step.amount else None
        await scope.create_table(self.step.target, NewTable(SCHEMA, location=location, properties={"by": self.step.id}), context)
        return []


class Register(Making):
    """The metadata that one table has, under another name as well; with an `amount`, whatever has that name."""

    looks_first = True

    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.subjects = (step.other, step.target) if step.amount else (step.other,)
        self._location = ""

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        loaded = await scope.load_table(self.step.other)
        self._location = loaded.metadata_location
        metadata = orjson.loads(loaded.metadata)
        shown: Json = {name: metadata.get(name) or empty for name, empty in (("properties", {}), ("snapshots", []))}
        # Only the catalog knows whether it replaces something.
        verb = Verb.UPDATE if self.step.amount else Verb.CREATE
        self.wanted = (Wanted(verb, table_key(self.step.target), request={"metadata": shown}),)
        return [located(table_key(self.step.other), loaded)]

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.register_table(self.step.target, self._location, bool(self.step.amount), context)
        return []


class OpenAccount(Making):
    """A table that holds money; with an `amount`, one to which everybody may append at the same time."""

    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.properties = {"balance": str(BALANCE)} | ({REBASES: "true"} if step.amount else {})
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": self.properties}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_table(self.step.target, NewTable(SCHEMA, properties=self.properties), context)
        return []


class DropTable(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.purge = step.fraction < 0.5
        self.wanted = (Wanted(Verb.DROP, table_key(step.target), request={"purge": self.purge}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_table(self.step.target, self.purge, context)
        return []


class UnregisterTable(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.DROP, table_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.unregister_table(self.step.target, context)
        return []


class RenameTable(Operation):
    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.wanted = (Wanted(Verb.MOVE, table_key(step.target), table_key(step.other)),)
        self.subjects, self.claimed = (step.target,), (step.other,)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.rename_table(self.step.target, self.step.other, context)
        return []


class LoadTable(Operation):
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        return [located(table_key(self.step.target), await scope.load_table(self.step.target))]


def _update(name: Identifier, requirements: Sequence[Json], updates: Sequence[Json]) -> Wanted:
    return Wanted(Verb.UPDATE, table_key(name), request={"requirements": list(requirements), "updates": list(updates)})


def _commits(step: Step, wanted: Sequence[Wanted]) -> list[TableCommit]:
    names = (step.target, step.other)
    return [TableCommit(name, want.request["requirements"], want.request["updates"]) for name, want in zip(names, wanted, strict=False)]
