"""The catalog against a model of plain dicts: versions, transactions, their verdicts, illegal moves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from copy import deepcopy
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from catalog_format.catalog import PlaceScope, StoredCatalog, create_catalog
from catalog_format.changes import IsolationLevel
from catalog_format.door import TransactionStatus
from catalog_format.errors import (
    AlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchVersionError,
    TransactionEndedError,
    TransactionRefusedError,
)
from catalog_format.ids import SeededIds
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.scope import NewTable
from catalog_format.storage import MemoryStorage, StorageResolver
from tests.stateful.catalog_model import (
    Effect,
    IllegalMove,
    Key,
    Pending,
    State,
    Step,
    differs_from_serial,
    reads_of,
    stamps,
    step,
    verdict,
)
from tests.support.catalogs import SCHEMA, SMALL_TREE, ManualClock, properties_of, setting

T = TypeVar("T")
NAMESPACES = st.sampled_from(["a", "b", "c"])
TABLES = st.sampled_from(["t", "u"])
PROPERTIES = st.sampled_from(["p", "q"])
VALUES = st.integers(0, 9).map(str)
FEW: list[Key] = [("a", "t"), ("b", "t"), ("b", "u"), ("b",)]


class CatalogMachine(RuleBasedStateMachine):
    """Two processes on one store, small nodes, open transactions, and the model beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = MemoryStorage()
        self.clock = ManualClock()
        self.catalogs: list[StoredCatalog] = []
        self.versions: list[State] = [{}]
        self.effects: list[Effect] = []
        self.pending: dict[str, Pending] = {}
        self.begun = 0
        self.oldest = 0
        self.seed = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def open_process(self) -> StoredCatalog:
        self.seed += 1
        catalog = StoredCatalog(self.store, StorageResolver(), self.clock, SeededIds(self.seed))
        self.run(catalog.versions.open())
        return catalog

    @initialize()
    def begin(self) -> None:
        self.run(create_catalog(self.store, self.clock, SeededIds(0), limits=SMALL_TREE))
        self.catalogs = [self.open_process(), self.open_process()]
        for key in (("a",), ("b",), ("a", "t"), ("b", "t"), ("b", "u")):
            after = self.expect(self.now, "create", key, None, len(self.versions), self.catalogs[0].main)
            assert after is not None
            self.took_effect(after, Effect(len(self.versions), [("create", key, None)]))

    @property
    def now(self) -> State:
        return self.versions[-1]

    async def act(self, scope: PlaceScope, verb: str, key: Key, detail: Any) -> None:
        if verb == "create":
            await (scope.create_namespace(key, {}) if len(key) == 1 else scope.create_table(key, NewTable(SCHEMA)))
        elif verb == "set" and len(key) == 1:
            await scope.update_namespace(key, [], dict([detail]))
        elif verb == "set":
            await scope.commit_tables([setting(*key, **dict([detail]))])
        elif verb == "drop":
            await (scope.drop_namespace(key) if len(key) == 1 else scope.drop_table(key))
        else:
            await scope.rename_table(key, detail)

    def expect(self, state: State, verb: str, key: Key, detail: Any, version: int, scope: PlaceScope) -> State | None:
        """Do the step for real and in the model; the new state, or None if it was illegal (and refused as it should be)."""
        after = deepcopy(state)
        try:
            step(after, verb, key, detail, version)
        except IllegalMove as illegal:
            with pytest.raises(illegal.args[0]):
                self.run(self.act(scope, verb, key, detail))
            return None
        self.run(self.act(scope, verb, key, detail))
        return after

    def draw_step(self, data: st.DataObject, state: State) -> tuple[str, Key, Any]:
        """Mostly moves on what exists; the others are illegal moves."""
        verb = data.draw(st.sampled_from(["create", "set", "set", "set", "drop", "move"]))
        anything = st.one_of(st.tuples(NAMESPACES), st.tuples(NAMESPACES, TABLES))
        present = sorted(key for key in state if verb != "move" or len(key) == 2)
        likely = verb != "create" and bool(present) and data.draw(st.integers(0, 9)) > 0
        key: Key = data.draw(st.sampled_from(present) if likely else st.tuples(NAMESPACES, TABLES) if verb == "move" else anything)
        if verb == "set":
            return verb, key, (data.draw(PROPERTIES), data.draw(VALUES))
        return verb, key, data.draw(st.tuples(NAMESPACES, TABLES)) if verb == "move" else None

    @rule(data=st.data(), process=st.integers(0, 1))
    def plain_step(self, data: st.DataObject, process: int) -> None:
        what = self.draw_step(data, self.now)
        after = self.expect(self.now, *what, len(self.versions), self.catalogs[process].main)
        if after is not None and stamps(after) != stamps(self.now):
            self.took_effect(after, Effect(len(self.versions), [what]))

    @rule(serializable=st.booleans(), process=st.integers(0, 1))
    def begin_transaction(self, serializable: bool, process: int) -> None:
        if len(self.pending) >= 3:
            return
        self.begun += 1
        isolation = IsolationLevel.SERIALIZABLE if serializable else IsolationLevel.SNAPSHOT
        info = self.run(self.catalogs[process].transactions.begin(str(self.begun), isolation))
        assert info.base_version == len(self.versions) - 1
        self.pending[str(self.begun)] = Pending(isolation, info.base_version, self.now, deepcopy(self.now))

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), process=st.integers(0, 1))
    def step_inside(self, data: st.DataObject, process: int) -> None:
        self.step_in(data.draw(st.sampled_from(sorted(self.pending))), data, process)

    def step_in(self, name: str, data: st.DataObject, process: int) -> None:
        self.do_in(name, self.draw_step(data, self.pending[name].state), process)

    def do_in(self, name: str, what: Step, process: int) -> None:
        pending = self.pending[name]
        points, listed = reads_of(pending.state, *what)
        pending.points |= points
        pending.listed |= listed
        # Its own steps bear no version of the catalog.
        after = self.expect(pending.state, *what, -1, self.run(self.catalogs[process].within(name)))
        if after is not None:
            if after != pending.state:
                pending.steps.append(what)
            pending.state = after

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), namespace=NAMESPACES, table=TABLES, process=st.integers(0, 1), listing=st.booleans())
    def read_inside(self, data: st.DataObject, namespace: str, table: str, process: int, listing: bool) -> None:
        self.read_in(data.draw(st.sampled_from(sorted(self.pending))), namespace, table, process, listing)

    def read_in(self, name: str, namespace: str, table: str, process: int, listing: bool) -> None:
        pending = self.pending[name]
        scope = self.run(self.catalogs[process].within(name))
        if listing:
            pending.points.add((namespace,))
            if (namespace,) not in pending.state:
                with pytest.raises(NoSuchNamespaceError):
                    self.run(scope.list_tables((namespace,)))
                return
            pending.listed.add(namespace)
            expected = sorted(key for key in pending.state if len(key) == 2 and key[0] == namespace)
            assert self.run(scope.list_tables((namespace,))).items == expected
        else:
            pending.points.add((namespace, table))
            assert self.run(scope.table_exists((namespace, table))) == ((namespace, table) in pending.state)

    @precondition(lambda self: any(each.steps or each.points for each in self.pending.values()))
    @rule(data=st.data(), process=st.integers(0, 1))
    def commit(self, data: st.DataObject, process: int) -> None:
        self.commit_it(data.draw(st.sampled_from(sorted(self.pending))), process)

    @rule(data=st.data(), serializable=st.booleans(), inside=st.integers(0, 3), beside=st.integers(0, 2), reads=st.integers(0, 2))
    def race(self, data: st.DataObject, serializable: bool, inside: int, beside: int, reads: int) -> None:
        """A whole transaction beside plain commits: what conflicts are made of."""
        before = set(self.pending)
        self.begin_transaction(serializable, 0)
        for name in set(self.pending) - before:
            for _ in range(reads):
                self.read_in(name, data.draw(NAMESPACES), data.draw(TABLES), data.draw(st.integers(0, 1)), data.draw(st.booleans()))
            for _ in range(inside):
                self.step_in(name, data, data.draw(st.integers(0, 1)))
            for _ in range(beside):
                self.plain_step(data, data.draw(st.integers(0, 1)))
            self.commit_it(name, data.draw(st.integers(0, 1)))

    @rule(rng=st.randoms(use_true_random=False))
    def weave(self, rng: Random) -> None:
        """Serializable transactions on a few names: some come before others that committed first, some cannot."""
        mine: list[str] = []
        for number in range(4):
            before = set(self.pending)
            self.begin_transaction(True, number % 2)
            for name in set(self.pending) - before:
                mine.append(name)
                source, target = rng.sample(FEW, 2)
                self.read_in(name, source[0], source[-1], 0, listing=len(source) == 1)
                if rng.random() < 0.8:
                    self.do_in(name, ("set", target, ("p", name)), 1)
            if mine and rng.random() < 0.5:
                self.commit_it(mine.pop(rng.randrange(len(mine))), number % 2)
        for name in mine:
            self.commit_it(name, 0)

    def commit_it(self, name: str, process: int) -> None:
        pending = self.pending.pop(name)
        catalog = self.catalogs[process]
        if not pending.steps and pending.isolation is IsolationLevel.SNAPSHOT:
            self.run(catalog.transactions.commit(name))
            return
        decided = verdict(pending, self.now, len(self.versions), self.effects)
        if decided is None:
            for each in self.catalogs:
                with pytest.raises(TransactionRefusedError):
                    self.run(each.transactions.commit(name))
            # The refusal is a version of its own: it carries the verdict.
            self.versions.append(deepcopy(self.now))
            return
        for each in (catalog, *self.catalogs):
            assert self.run(each.transactions.commit(name)).version == len(self.versions)
        after, before = decided
        effect = Effect(len(self.versions), pending.steps, before)
        if pending.isolation is IsolationLevel.SERIALIZABLE:
            effect.base, effect.points, effect.listed = pending.base, pending.points, pending.listed
        self.took_effect(after, effect)
        [row] = self.run(catalog.versions.read(effect.version)).actions
        record = pb.TransactionRecord.FromString(row.value or b"")
        assert (record.ordered_backwards, record.ordered_before.version) == (before is not None, before or 0)

    def took_effect(self, after: State, effect: Effect) -> None:
        self.versions.append(after)
        self.effects.append(effect)

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), process=st.integers(0, 1))
    def roll_back(self, data: st.DataObject, process: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.pending)))
        del self.pending[name]
        self.run(self.catalogs[process].transactions.rollback(name))
        with pytest.raises(TransactionEndedError):
            self.run(self.catalogs[1 - process].transactions.commit(name))
        assert self.run(self.catalogs[1 - process].transactions.load(name)).status is TransactionStatus.ROLLED_BACK
        with pytest.raises(AlreadyExistsError):
            self.run(self.catalogs[process].transactions.begin(name))

    @rule(process=st.integers(0, 1))
    def restart(self, process: int) -> None:
        self.run(self.catalogs[process].close())
        self.catalogs[process] = self.open_process()

    @rule(process=st.integers(0, 1), keep=st.integers(1, 8))
    def give_up_versions(self, process: int, keep: int) -> None:
        self.clock.advance(1)
        report = self.run(expire(self.catalogs[process].parts, ExpiryPolicy(0, keep)))
        wanted = max(self.oldest, len(self.versions) - keep)
        if report.oldest != wanted:
            # Nothing but maintenance since: giving versions up would only make others.
            assert report.oldest == self.oldest
            assert all(state == self.versions[wanted] for state in self.versions[self.oldest : wanted])
        self.oldest = report.oldest
        self.catch_up()

    @rule(process=st.integers(0, 1))
    def collect_files(self, process: int) -> None:
        self.run(collect(self.catalogs[process].parts))
        self.catch_up()

    def catch_up(self) -> None:
        """Versions that maintenance made change nothing that the model knows."""
        latest = self.run(self.catalogs[0].latest_version())
        self.versions += [deepcopy(self.now) for _ in range(len(self.versions), latest + 1)]

    async def seen(self, scope: PlaceScope) -> dict[Key, dict[str, str]]:
        found: dict[Key, dict[str, str]] = {}
        for namespace in (await scope.list_namespaces()).items:
            found[namespace] = await scope.load_namespace(namespace)
            for table in (await scope.list_tables(namespace)).items:
                found[table] = await properties_of(scope, *table)
        return found

    @invariant()
    def the_latest_is_the_model(self) -> None:
        if not self.catalogs:
            return
        expected = {key: thing.properties for key, thing in self.now.items()}
        for catalog in self.catalogs:
            assert self.run(catalog.latest_version()) == len(self.versions) - 1
            assert self.run(self.seen(catalog.main)) == expected

    def teardown(self) -> None:
        if self.catalogs:
            for version, state in enumerate(self.versions):
                if version < self.oldest:
                    with pytest.raises(NoSuchVersionError):
                        self.run(self.catalogs[version % 2].at(version))
                    continue
                scope = self.run(self.catalogs[version % 2].at(version))
                assert self.run(self.seen(scope)) == {key: thing.properties for key, thing in state.items()}
            assert differs_from_serial(self.effects, self.now) is None
            fresh = self.open_process()
            report = self.run(check(fresh.storage, fresh.versions, fresh.nodes, fresh.logs))
            assert report.problems == []
            # Bases of open transactions are walked too.
            assert 0 <= report.versions - (len(self.versions) - self.oldest) <= len(self.pending)
            self.run(collect(fresh.parts))
            assert self.run(collect(fresh.parts)).deleted == []
            assert self.run(check(fresh.storage, fresh.versions, fresh.nodes, fresh.logs)).problems == []
            for catalog in (*self.catalogs, fresh):
                self.run(catalog.close())
        self.loop.close()


CatalogMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
TestCatalog = CatalogMachine.TestCase
