"""A second reader of catalogs, built from the text of FORMAT.md alone; it imports nothing of Treeline.

It is slow and simple on purpose: where it and the code disagree, one of them does not follow the document.
Message types come from the `proto` blocks of the document itself.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.support.second_reader_messages import Message, require, schema_of

DOCUMENT = Path(__file__).resolve().parents[2] / "FORMAT.md"
KNOWN_FORMAT_VERSION = 1
ZEROS = "0" * 64


class Row(NamedTuple):
    key: bytes
    value: bytes | None
    stamp: int


def bits_of(number: int) -> str:
    return f"{number:064b}"[::-1]


@dataclass(frozen=True)
class NodeFile:
    """A node file: its system keys without the prefix, and its rows by section (pivots or leaf, write buffer, actions)."""

    keys: dict[str, str]
    sections: tuple[list[Row], list[Row], list[Row]]

    def number(self, key: str) -> int:
        require(self.keys.get(key, "").isdecimal(), f"{key} is no decimal: {self.keys.get(key)}")
        return int(self.keys[key])

    @property
    def level(self) -> int:
        return self.number("level")


def _arrow_file(data: bytes) -> NodeFile:
    reader = pa.ipc.open_file(pa.py_buffer(data))
    metadata = {name.decode(): value.decode() for name, value in (reader.schema.metadata or {}).items()}
    keys = {name.removeprefix("treeline."): value for name, value in metadata.items() if name.startswith("treeline.")}
    format_version = int(keys.get("format-version", "0"))
    require(format_version >= 1, "not a node of Treeline")
    require(format_version <= KNOWN_FORMAT_VERSION, f"format version {format_version} is newer than this reader")
    shape = [(one.name, str(one.type), one.nullable) for one in reader.schema]
    require(shape == [("key", "binary", False), ("value", "binary", True), ("stamp", "uint64", False)], f"columns {shape}")
    require(reader.num_record_batches == 1, "not one record batch")
    columns = reader.get_batch(0).to_pydict()
    rows = [Row(*row) for row in zip(columns["key"], columns["value"], columns["stamp"], strict=True)]
    counts = [int(count) for count in keys["sections"].split(",")]
    require(len(counts) == 3 and sum(counts) == len(rows), f"sections {counts} of {len(rows)} rows")
    one, two = counts[0], counts[0] + counts[1]
    sections = rows[:one], rows[one:two], rows[two:]
    for section in sections[:2]:
        require(all(before.key < after.key for before, after in pairwise(section)), "keys do not ascend")
    return NodeFile(keys, sections)


def _own_hash_holds(data: bytes, own_hash: str) -> bool:
    places = data.count(own_hash.encode())
    return len(own_hash) == 64 and places == 2 and hashlib.sha256(data.replace(own_hash.encode(), ZEROS.encode())).hexdigest() == own_hash


@dataclass(frozen=True)
class Transaction:
    """The image of a distributed transaction, with the verdict from the tree where its log lacks it."""

    id: str
    sequence: int
    status: str
    isolation: str
    base_version: int
    began_at_ms: int
    ttl_ms: int
    written_at_ms: int
    expires_at_ms: int
    reason: str
    committed_version: int
    properties: dict[str, str]
    changes: list[Message]
    points: set[bytes]
    ranges: set[tuple[bytes, bytes]]


class SecondReader:
    """Reads the catalog in a local folder."""

    def __init__(self, folder: Path, document: Path = DOCUMENT) -> None:
        self.folder = folder
        self.schema = schema_of(document.read_text())
        self._roots: dict[int, NodeFile] = {}
        self._nodes: dict[str, NodeFile] = {}

    # Versions ---------------------------------------------------------------------------------------

    def exists(self, version: int) -> bool:
        return (self.folder / "vn" / bits_of(version)).is_file()

    def latest(self) -> int:
        """Found from the hint if that helps; raises `DamageError` if there is no catalog."""
        start = 0
        hint = self.folder / "vn/latest"
        if hint.is_file() and re.fullmatch(rb"\s*[0-9]+\s*", hint.read_bytes()):
            hinted = int(hint.read_bytes())
            if hinted < 1 << 63 and self.exists(hinted):
                start = hinted
        require(start > 0 or self.exists(0), "there is no catalog here")
        return _last(self.exists, start)

    def root(self, version: int) -> NodeFile:
        """To read from."""
        root = self.remains(version)
        require(root.keys["kind"] == "root", f"version {version} is a stub")
        latest = self.remains(self.latest())
        pinned = latest.keys.get("unstubbed", "").split(",")
        require(version >= latest.number("oldest") or str(version) in pinned, f"version {version} was given up")
        return root

    def remains(self, version: int) -> NodeFile:
        """A root, or the stub of one."""
        if version not in self._roots:
            data = (self.folder / "vn" / bits_of(version)).read_bytes()
            root = _arrow_file(data)
            require(root.keys.get("kind") in ("root", "stub"), f"version {version} is a {root.keys.get('kind')}")
            require(_own_hash_holds(data, root.keys.get("hash", "")), f"the root of version {version} is damaged")
            require(root.number("version") == version, f"the root of version {version} was moved")
            self._roots[version] = root
        return self._roots[version]

    def catalog(self, version: int) -> Message:
        """The catalog's own definition."""
        return self.schema.decode("CatalogDefinition", base64.b64decode(self.root(version).keys["catalog"], validate=True))

    def check_chain(self) -> int:
        """Walk all roots; the latest version."""
        latest, before, made = self.latest(), ZEROS, -1
        for version in range(latest + 1):
            root = self.remains(version)
            require(root.keys["previous-hash"] == before, f"the chain is broken before version {version}")
            require(root.number("created-at-ms") > made, f"version {version} is not younger than the one before")
            stub = root.keys["kind"] == "stub"
            require(not stub or (version < latest and not root.sections[0] + root.sections[1]), f"stub {version} holds entries")
            before, made = root.keys["root-hash" if stub else "hash"], root.number("created-at-ms")
        return latest

    # The tree ---------------------------------------------------------------------------------------

    def node(self, name: str, level: int) -> NodeFile:
        if name not in self._nodes:
            data = (self.folder / "node" / f"{name}.arrow").read_bytes()
            require(hashlib.sha256(data).hexdigest() == name, f"node {name} is damaged")
            self._nodes[name] = _arrow_file(data)
        node = self._nodes[name]
        require(node.keys.get("kind") == "node" and node.level == level, f"node {name} is not at level {level}")
        return node

    def lookup(self, version: int, key: bytes) -> Row | None:
        root = self.root(version)
        pivots, buffer, _ = root.sections
        for row in buffer:
            if row.key == key:
                return None if row.value is None else row
        rows, level = pivots, root.level
        while level > 0:
            level -= 1
            pivot = [row for row in rows if row.key <= key][-1]
            rows = self.node((pivot.value or b"").decode(), level).sections[0]
        return next((row for row in rows if row.key == key), None)

    def scan(self, version: int, low: bytes = b"", high: bytes | None = None) -> list[Row]:
        """Live entries of keys in [low, high), in order."""
        root = self.root(version)
        merged = {row.key: row for row in self._below(root.sections[0], root.level, b"", None, low, high)}
        merged |= {row.key: row for row in root.sections[1] if low <= row.key and (high is None or row.key < high)}
        return [row for _, row in sorted(merged.items()) if row.value is not None]

    def _below(
        self, pivots: list[Row], level: int, begin: bytes, end: bytes | None, low: bytes, high: bytes | None, stamp: int | None = None
    ) -> Iterator[Row]:
        """Leaf rows in [low, high) under a pivot table that answers for [begin, end) and whose own pivot bears `stamp`."""
        require(not pivots or pivots[0].key == begin, "the first pivot does not begin the range")
        for index, pivot in enumerate(pivots):
            after = pivots[index + 1].key if index + 1 < len(pivots) else end
            require(stamp is None or pivot.stamp <= stamp, "a pivot's stamp is below one under it")
            if (high is not None and pivot.key >= high) or (after is not None and after <= low):
                continue
            rows = self.node((pivot.value or b"").decode(), level - 1).sections[0]
            require(bool(rows), "a node is empty")
            if level > 1:
                yield from self._below(rows, level - 1, pivot.key, after, low, high, pivot.stamp)
                continue
            for row in rows:
                require(row.key >= pivot.key and (after is None or row.key < after), "a key lies outside of its leaf's range")
                require(row.value is not None and 0 < row.stamp <= pivot.stamp, "a tombstone or a wrong stamp in a leaf")
                if row.key >= low and (high is None or row.key < high):
                    yield row

    # Definitions ------------------------------------------------------------------------------------

    def definition(self, row: Row) -> bytes:
        value = self.schema.decode("Value", row.value or b"")
        if "file" not in value:
            return bytes(value.get("inline", b""))
        match = re.fullmatch(r"def/([A-Za-z0-9+/]+)/([0-9a-f]{64})\.binpb", value["file"])
        require(match is not None and row.key[:4].rstrip(b"=").decode() == match[1], f"{value['file']} is no definition file of this key")
        assert match is not None
        data = (self.folder / value["file"]).read_bytes()
        require(hashlib.sha256(data).hexdigest() == match[2], f"{value['file']} is damaged")
        return bytes(self.schema.decode("DefinitionFile", data)["definition"])

    def definitions(self, version: int) -> dict[bytes, bytes]:
        return {row.key: self.definition(row) for row in self.scan(version)}

    def children(self, version: int, type_id: str, parent: tuple[str, ...]) -> list[str]:
        """Names of the direct children of one type."""
        stem = type_id.ljust(4, "=").encode() + "\x1f".join(parent).encode()
        return [row.key[len(stem) + 1 :].decode() for row in self.scan(version, stem + b"\x1e", stem + b"\x1f")]

    def actions(self, version: int) -> list[Message]:
        return [self.schema.decode("TransactionRecord", row.value or b"") for row in self.remains(version).sections[2]]

    # Distributed transactions -----------------------------------------------------------------------

    def transaction_ids(self) -> set[str]:
        """Ids of all transactions of which anything is left."""
        return {path.name for folder in ("dtxn", "dtxn-open") for path in (self.folder / folder).glob("*") if path.name[:5] != ".tmp-"}

    def state(self, transaction_id: str, sequence: int) -> Message:
        data = self._state_path(transaction_id, sequence).read_bytes()
        require(hashlib.sha256(data[32:]).digest() == data[:32], f"state {sequence} of {transaction_id} is damaged")
        state = self.schema.decode("TransactionState", data[32:])
        require(
            (state["transaction_id"], state["sequence"]) == (transaction_id, sequence), f"state {sequence} of {transaction_id} was moved"
        )
        return state

    def transaction(self, transaction_id: str) -> Transaction:
        newest = _last(lambda sequence: self._state_path(transaction_id, sequence).is_file(), 0)
        states = [self.state(transaction_id, newest)]
        while not states[0]["checkpoint"]:
            states.insert(0, self.state(transaction_id, states[0]["sequence"] - 1))
        changes: list[Message] = []
        properties: dict[str, str] = {}
        points: set[bytes] = set()
        ranges: set[tuple[bytes, bytes]] = set()
        start: Message = {}
        for state in states:
            if state["checkpoint"]:
                start, changes, properties, points, ranges = state["start"], [], {}, set(), set()
            changes += state["changes"]
            reads = state["reads"] or {"points": [], "ranges": []}
            points |= {point["key"] for point in reads["points"]}
            ranges |= {(span["low"], span["high"]) for span in reads["ranges"]}
            for removed in state["removed_properties"]:
                properties.pop(removed, None)
            properties |= state["set_properties"]
        last = states[-1]
        status, reason, version = self._ending(last, start["base_version"])
        return Transaction(
            transaction_id,
            newest,
            status,
            start["isolation"],
            start["base_version"],
            start["began_at_ms"],
            start["ttl_ms"],
            last["written_at_ms"],
            last["expires_at_ms"],
            reason,
            version,
            properties,
            changes,
            points,
            ranges,
        )

    def _ending(self, last: Message, base_version: int) -> tuple[str, str, int]:
        """Status, reason and version: the log's, or the verdict in the tree if the log ends with its seal."""
        if last["status"] == "SEALED":
            row = self.lookup(self.latest(), f"E==={base_version:020d}\x1e{last['transaction_id']}".encode())
            if row is not None:
                outcome = self.schema.decode("Outcome", self.definition(row))
                committed = outcome["committed"]
                return ("COMMITTED" if committed else "REFUSED"), outcome["reason"], outcome["version"] if committed else 0
        return last["status"], last["reason"], last.get("committed_version", 0)

    def _state_path(self, transaction_id: str, sequence: int) -> Path:
        if sequence == 0:
            return self.folder / "dtxn-open" / transaction_id
        return self.folder / "dtxn" / transaction_id / bits_of(sequence)


def _last(exists: Callable[[int], bool], start: int) -> int:
    """The last number for which `exists` holds, by galloping from `start` and bisecting."""
    present, step = start, 1
    while exists(present + step):
        present += step
        step *= 2
    absent = present + step
    while absent - present > 1:
        middle = (present + absent) // 2
        if exists(middle):
            present = middle
        else:
            absent = middle
    return present
