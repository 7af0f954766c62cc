"""What clients do with tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from catalog_format.catalog import PlaceScope
from catalog_format.changes import Verb
from catalog_format.keys import Identifier, table_key
from catalog_format.scope import NewTable, RequestContext, TableCommit
from tests.simulation.disk import URL
from tests.simulation.engine import files_of_snapshot, manifest_list_of, rows_of
from tests.simulation.operation import Making, Operation, located, property_of, setting
from tests.simulation.plan import BALANCE, Step
from tests.simulation.sights import Sight
from tests.simulation.states import Json, Wanted
from tests.support.catalogs import SCHEMA

SHARED_FOLDER = f"{URL}/data/shared"


class SetProperty(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (_update(step.target, [], [setting({property_of(step): step.id})]),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []


class SetBoth(SetProperty):
    """One property on two tables, in one commit."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = tuple(_update(name, [], [setting({property_of(step): step.id})]) for name in (step.target, step.other))


class Append(Operation):
    """A new snapshot on top of the one that was seen."""

    looks_first = True

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        loaded = await scope.load_table(self.step.target)
        metadata = orjson.loads(loaded.metadata)
        self._write(metadata)
        self.wanted = (_update(self.step.target, *_appending(self.step, metadata)),)
        return [located(table_key(self.step.target), loaded)]

    def _write(self, metadata: Json, others: Sequence[str] = ()) -> None:
        snapshot_id, sequence_number = int(self.step.id[1:]), metadata["last-sequence-number"] + 1
        self.files |= files_of_snapshot(metadata["location"], self.step.id, snapshot_id, sequence_number, others)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.commit_tables(_commits(self.step, self.wanted), context)
        return []


class AddFiles(Append):
    """The same with a data file that another table has."""

    _others: Sequence[str] = ()

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        other = await scope.load_table(self.step.other)
        snapshots = orjson.loads(other.metadata).get("snapshots", [])
        self._others = [rows_of(snapshot) for snapshot in snapshots[-1:]]
        return [located(table_key(self.step.other), other), *await super().prepare(scope)]

    def _write(self, metadata: Json, others: Sequence[str] = ()) -> None:
        super()._write(metadata, self._others)


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
        self._write(metadata)
        return _appending(self.step, metadata)


class TransferBetweenPurses(Transfer):
    """The same with nothing but the properties: in a transaction no more is needed."""

    def _guarded(self, metadata: Json) -> tuple[list[Json], list[Json]]:
        return [], []


class CreateTable(Making):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": {"by": step.id}}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        location = SHARED_FOLDER if self.step.amount else None
        await scope.create_table(self.step.target, NewTable(SCHEMA, location=location, properties={"by": self.step.id}), context)
        return []


class Register(Making):
    """The metadata that one table has, under another name as well; with an `amount`, whatever has that name."""

    looks_first = True

    def __init__(self, step: Step) -> None:
        super().__init__(step)
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
    """A table that holds money."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.properties = {"balance": str(BALANCE)}
        self.wanted = (Wanted(Verb.CREATE, table_key(step.target), request={"metadata": {"properties": self.properties}}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.create_table(self.step.target, NewTable(SCHEMA, properties=self.properties), context)
        return []


class DropTable(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.purge = step.fraction < 0.5
        self.wanted = (Wanted(Verb.DROP, table_key(step.target), request={"purge": self.purge}),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.drop_table(self.step.target, self.purge, context)
        return []


class UnregisterTable(Operation):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.wanted = (Wanted(Verb.DROP, table_key(step.target)),)

    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        await scope.unregister_table(self.step.target, context)
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
        return [located(table_key(self.step.target), await scope.load_table(self.step.target))]


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
        "manifest-list": manifest_list_of(metadata["location"], step.id),
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
