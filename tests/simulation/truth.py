"""What really happened: every version, every record and every transaction's log, read from the store's files alone."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from catalog_format import paths
from catalog_format.changes import IsolationLevel, Verb, isolation_from_pb
from catalog_format.door import TransactionStatus
from catalog_format.keys import ObjectType, identifier_of, type_of
from catalog_format.node import Root, Rows
from catalog_format.node_codec import decode_node, decode_root
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.pb import transaction_pb2 as tpb
from tests.simulation.disk import URL, Disk, path_of
from tests.simulation.engine import disorder, is_own_list, live_rows, names_in
from tests.simulation.states import DEFAULT_PROPERTY, Thing, Things, Wanted, is_user_key

UNFINISHED = {TransactionStatus.OPEN, TransactionStatus.SEALED}


@dataclass(frozen=True)
class Record:
    """One transaction in one version, as its root says."""

    version: int
    position: int
    id: str
    agent: str
    isolation: IsolationLevel
    base_version: int
    actions: tuple[tuple[Verb, bytes, bytes | None], ...]
    before: tuple[int, int] | None = None
    """Version and position of the one right before which it stands in the serial order, if not where it was committed."""

    @property
    def place(self) -> tuple[int, int]:
        """Whose state before it its reads have to hold in."""
        return self.before or (self.version, self.position)


@dataclass(frozen=True, order=True)
class Wish:
    """A table that was dropped with purge."""

    version: int
    """That dropped it."""
    metadata: str
    """Path of its last metadata file."""


@dataclass(frozen=True)
class Version:
    """One version: the definitions of all keys, and what its transactions did."""

    number: int
    created_at_ms: int
    oldest: int
    """The oldest version that is kept as of this one, but for those that unfinished transactions are based on."""
    needed: frozenset[str]
    """Paths of the nodes, definitions and metadata files that its readers ask for."""
    wishes: frozenset[Wish]
    """Tables that wait to be purged."""
    definitions: dict[bytes, bytes]
    records: tuple[Record, ...]


@dataclass
class Log:
    """A distributed transaction as its states say."""

    id: str
    base_version: int
    isolation: IsolationLevel
    statuses: list[int] = field(default_factory=list)
    """Of every state, in order."""
    changes: list[tuple[int, Wanted, bytes | None]] = field(default_factory=list)
    """(state, what was asked, definition afterwards), without Treeline's own bookkeeping."""
    problems: list[str] = field(default_factory=list)
    reason: str = ""
    committed_version: int | None = None

    @property
    def status(self) -> str:
        return self.status_at(len(self.statuses) - 1)

    def status_at(self, states: int) -> str:
        """As of so many states after the first."""
        name: str = tpb.TransactionStatus.Name(self.statuses[states])  # type: ignore[arg-type]
        return name.lower().replace("_", "-")

    @property
    def sealed_at(self) -> int | None:
        """The first state that takes no more changes."""
        return next((number for number, status in enumerate(self.statuses) if status != tpb.OPEN), None)

    def overlay(self, states: int, truth: Truth) -> Things | None:
        """Its own changes after so many states; None for what it dropped."""
        written: Any = {}
        for state, wanted, result in self.changes:
            if state <= states:
                if wanted.verb is Verb.MOVE:
                    written[wanted.key] = None
                key = wanted.target or wanted.key
                written[key] = None if result is None else truth.thing(key, result)
        return written  # type: ignore[no-any-return]

    def seen_on(self, things: Things, states: int, truth: Truth) -> Things:
        """A state as the transaction sees it after so many states of its own."""
        merged = {**things, **(self.overlay(states, truth) or {})}
        return {key: thing for key, thing in merged.items() if thing is not None}


class Truth:
    """Reads the archive of a disk: what was written first under each name, whatever became of it."""

    def __init__(self, disk: Disk) -> None:
        self._files = disk.archive
        self._subtrees: dict[str, tuple[dict[bytes, bytes], set[str]]] = {}
        self._named: dict[str, set[str]] = {}
        """Definition files, by the leaf that names them."""
        self._held: dict[bytes, tuple[str, bytes]] = {}
        self._things: dict[tuple[bytes, bytes], Thing] = {}
        self._needed_by: dict[str, frozenset[str]] = {}
        self._files_of: dict[str, frozenset[str]] = {}
        self._shown: dict[frozenset[str], frozenset[str]] = {}
        self.disorder: list[str] = []
        """What is wrong with snapshots of tables that were looked at."""
        self.latest = disk.latest

    @cached_property
    def versions(self) -> list[Version]:
        return [self._version(number) for number in range(self.latest + 1)]

    @cached_property
    def logs(self) -> dict[str, Log]:
        names = {path.split("/")[1] for path in self._files if path.startswith(("dtxn/", "dtxn-open/"))}
        return {name: self._log(name) for name in sorted(names)}

    def needed_by(self, log: Log) -> frozenset[str]:
        """Paths of the metadata files that a transaction's own changes name."""
        found = self._needed_by.get(log.id)
        if found is None:
            written = ((wanted.target or wanted.key, result) for _, wanted, result in log.changes)
            found = frozenset(path for key, result in written if result is not None for path in self._locations_in(key, result))
            self._needed_by[log.id] = found
        return found

    def is_unfinished(self, log: Log) -> bool:
        """Whether it has no verdict, neither in its log nor in the tree."""
        return log.status in UNFINISHED and self.outcome(log.id) is None

    def tables(self, number: int) -> dict[bytes, tuple[str, str]]:
        """UUID and path of the metadata file of every table of a version."""
        return _tables_in(self.versions[number].definitions)

    def wishes_for(self, key: bytes, number: int) -> frozenset[Wish]:
        """Those of a version that were recorded when a table with that key was dropped."""
        definitions = {name: value for name, value in self.versions[number].definitions.items() if name[:1] == b"G"}
        return frozenset(_wish(name, value) for name, value in definitions.items() if pb.PurgeWish.FromString(value).key == key)

    def shown(self, number: int) -> frozenset[str]:
        """Paths of all files of the tables of a version."""
        return self._files_of_all(frozenset(path for _, path in self.tables(number).values()))

    def shown_in(self, log: Log, states: int) -> frozenset[str]:
        """The same of the tables that a transaction has written after so many states of its own."""
        written = {wanted.target or wanted.key: result for state, wanted, result in log.changes if state <= states}
        found = _tables_in({key: result for key, result in written.items() if result is not None})
        return self._files_of_all(frozenset(path for _, path in found.values()))

    def files_of(self, metadata: str) -> frozenset[str]:
        """Paths of a metadata file and of all files that it shows, but for older metadata files."""
        found = self._files_of.get(metadata)
        if found is None:
            waiting = [path_of(snapshot["manifest-list"]) for snapshot in self._metadata(metadata).get("snapshots", [])]
            names = {metadata}
            while waiting:
                path = waiting.pop()
                names.add(path)
                waiting += map(path_of, names_in(path, self._files[path]))
            found = self._files_of[metadata] = frozenset(names)
        return found

    def logged_by(self, metadata: str) -> list[str]:
        """Paths of the older metadata files that a metadata file names."""
        return [path_of(entry["metadata-file"]) for entry in self._metadata(metadata).get("metadata-log", [])]

    def _files_of_all(self, metadata: frozenset[str]) -> frozenset[str]:
        found = self._shown.get(metadata)
        if found is None:
            found = self._shown[metadata] = frozenset().union(*map(self.files_of, metadata))
        return found

    @cached_property
    def states(self) -> list[Things]:
        """The objects of every version."""
        return [
            {key: self.thing(key, definition) for key, definition in version.definitions.items() if is_user_key(key)}
            for version in self.versions
        ]

    def thing(self, key: bytes, definition: bytes) -> Thing:
        """The object that a definition stands for."""
        found = self._things.get((key[:1], definition))
        if found is None:
            found = self._things[key[:1], definition] = self._read_thing(key, definition)
        return found

    @property
    def joined(self) -> int:
        """How many snapshots got manifest lists of the catalog's own."""
        metadata = {thing.location for things in self.states for thing in things.values() if thing.snapshots and thing.location}
        lists = {snapshot["manifest-list"] for location in metadata for snapshot in self._metadata(path_of(location))["snapshots"]}
        return sum(not is_own_list(location) for location in lists)

    def outcome(self, transaction_id: str) -> pb.Outcome | None:
        """The verdict in the tree of any version."""
        return self._outcomes.get(transaction_id)

    @cached_property
    def _outcomes(self) -> dict[str, pb.Outcome]:
        found: dict[str, pb.Outcome] = {}
        for version in self.versions:
            for key, definition in version.definitions.items():
                if key[:1] == b"E":
                    outcome = pb.Outcome.FromString(definition)
                    found[outcome.transaction_id] = outcome
        return found

    def _version(self, number: int) -> Version:
        root = decode_root(number, self._files[paths.root_path(number)])
        nodes: set[str] = set()
        values = self._below(root.pivots, nodes)
        for row in root.buffer:
            if row.value is None:
                values.pop(row.key, None)
            else:
                values[row.key] = row.value
        # A definition's file is needed as long as a node names it, also where the write buffer hides the entry.
        needed = {paths.node_path(name) for name in nodes} | self._files_named_in(nodes)
        definitions = {}
        for key, value in values.items():
            file, definitions[key] = self._definition(value)
            if file:
                needed.add(file)
            needed |= self._locations_in(key, definitions[key])
        header = root.header
        wishes = frozenset(_wish(key, definition) for key, definition in definitions.items() if key[:1] == b"G")
        return Version(number, header.created_at_ms, header.oldest, frozenset(needed), wishes, definitions, _records(root))

    def _locations_in(self, key: bytes, definition: bytes) -> set[str]:
        """Paths of the metadata files that an entry names: of the object, of a kept answer. `purges` judges those of wishes."""
        shown = {key: definition} if is_user_key(key) else _answered(definition) if key[:1] == b"F" else {}
        locations = (self.thing(named, found).location for named, found in shown.items())
        return {path_of(location) for location in locations if location is not None}

    def _below(self, pivots: Rows, nodes: set[str]) -> dict[bytes, bytes]:
        """Keys and values below a pivot table; the names of the nodes are added to `nodes`."""
        found: dict[bytes, bytes] = {}
        for index in range(pivots.count):
            name = (pivots.value(index) or b"").decode()
            cached = self._subtrees.get(name)
            if cached is None:
                node = decode_node(name, self._files[paths.node_path(name)])
                names = {name}
                values = self._below(node.rows, names) if node.level else {row.key: row.value for row in node.rows if row.value is not None}
                if not node.level:
                    self._named[name] = {file for value in values.values() if (file := self._definition(value)[0])}
                cached = self._subtrees[name] = (values, names)
            found |= cached[0]
            nodes |= cached[1]
        return found

    def _files_named_in(self, nodes: set[str]) -> set[str]:
        return {file for name in nodes for file in self._named.get(name, ())}

    def _definition(self, value: bytes) -> tuple[str, bytes]:
        """The definition that a value holds, and the file in which it lies, if any."""
        held = self._held.get(value)
        if held is None:
            message = pb.Value.FromString(value)
            if message.WhichOneof("held") == "file":
                held = message.file, pb.DefinitionFile.FromString(self._files[message.file]).definition
            else:
                held = "", message.inline
            self._held[value] = held
        return held

    def _read_thing(self, key: bytes, definition: bytes) -> Thing:
        if type_of(key) is ObjectType.NAMESPACE:
            return Thing(dict(pb.NamespaceDefinition.FromString(definition).properties))
        message = pb.TableDefinition.FromString(definition)
        location = message.metadata_location.replace("./", f"{URL}/", 1)
        metadata = self._metadata(path_of(location))
        properties = {name: value for name, value in metadata.get("properties", {}).items() if name != DEFAULT_PROPERTY}
        snapshots = tuple(snapshot["snapshot-id"] for snapshot in metadata.get("snapshots", []))
        rows = live_rows(self._read, metadata) if snapshots else ()
        self.disorder += [f"{location}: {problem}" for problem in disorder(self._read, metadata)]
        return Thing(properties, snapshots, location, rows)

    def _read(self, location: str) -> bytes:
        return self._files[path_of(location)]

    def _metadata(self, path: str) -> Any:
        data = self._files[path]
        return orjson.loads(gzip.decompress(data) if ".gz." in path else data)

    def _log(self, name: str) -> Log:
        log = Log(name, 0, IsolationLevel.SNAPSHOT)
        changes: list[tuple[int, tpb.Change]] = []
        number = 0
        while (data := self._files.get(paths.transaction_state_path(name, number))) is not None:
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                log.problems.append(f"state {number} of {name} is damaged")
            state = tpb.TransactionState.FromString(data[32:])
            if state.HasField("start"):
                log.base_version, log.isolation = state.start.base_version, isolation_from_pb(state.start.isolation)
            log.statuses.append(state.status)
            log.reason = state.reason
            log.committed_version = state.committed_version if state.HasField("committed_version") else None
            if state.checkpoint and state.status == tpb.OPEN:
                whole = [change.SerializeToString(deterministic=True) for change in state.changes]
                before = [change.SerializeToString(deterministic=True) for _, change in changes]
                if whole[: len(before)] != before:
                    log.problems.append(f"checkpoint {number} of {name} does not repeat what was there")
                changes += [(number, change) for change in list(state.changes)[len(before) :]]
            else:
                changes += [(number, change) for change in state.changes]
            number += 1
        log.changes = [
            (state, _wanted(change), change.result if change.HasField("result") else None)
            for state, change in changes
            if is_user_key(change.key)
        ]
        return log


def _records(root: Root) -> tuple[Record, ...]:
    records = []
    for position, row in enumerate(root.actions):
        message = pb.TransactionRecord.FromString(row.value or b"")
        actions = tuple((Verb(action.verb), action.key, action.target or None) for action in message.actions if is_user_key(action.key))
        isolation = isolation_from_pb(message.isolation)
        before = (message.ordered_before.version, message.ordered_before.position) if message.ordered_backwards else None
        records.append(
            Record(root.version, position, message.transaction_id, message.agent, isolation, message.base_version, actions, before)
        )
    return tuple(records)


def _wish(key: bytes, definition: bytes) -> Wish:
    return Wish(int(identifier_of(key)[0]), path_of(pb.PurgeWish.FromString(definition).metadata_location))


def _tables_in(definitions: Mapping[bytes, bytes]) -> dict[bytes, tuple[str, str]]:
    found = {key: pb.TableDefinition.FromString(value) for key, value in definitions.items() if type_of(key) is ObjectType.TABLE}
    return {key: (table.table_uuid, path_of(table.metadata_location)) for key, table in found.items()}


def _answered(definition: bytes) -> dict[bytes, bytes]:
    """The objects that a kept answer gives back to whoever repeats the request."""
    answer = pb.CommittedAnswer.FromString(pb.IdempotentAnswer.FromString(definition).answer)
    return {entry.key: entry.definition for entry in answer.written if entry.HasField("definition")}


def _wanted(change: tpb.Change) -> Wanted:
    return Wanted(Verb(change.verb), change.key, change.target or None, orjson.loads(change.request) if change.request else {})
