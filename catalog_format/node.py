"""Nodes: immutable sorted key-value maps, decoded once and shared by everybody.

`Rows` is a view on three Arrow columns; looking something up reads the columns' buffers and makes no Python rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from catalog_format.objects import CatalogDefinition

NO_STAMP = 0
"""Stamp of a key that is absent. Version 0 holds no entries, so no entry bears it."""


class Entry(NamedTuple):
    """One row. In leaves and buffers `value` is a serialised `Value`, None for a tombstone; in pivots the child's name."""

    key: bytes
    value: bytes | None
    stamp: int

    @property
    def size(self) -> int:
        """Bytes that the row counts for when nodes are split and buffers flushed."""
        return len(self.key) + len(self.value or b"") + 8


def rows_schema(metadata: dict[bytes, bytes] | None = None) -> pa.Schema:
    """The Arrow schema of every node file."""
    return pa.schema(
        [
            pa.field("key", pa.binary(), nullable=False),
            pa.field("value", pa.binary(), nullable=True),
            pa.field("stamp", pa.uint64(), nullable=False),
        ],
        metadata=metadata,
    )


def rows_batch(entries: Sequence[Entry], schema: pa.Schema) -> pa.RecordBatch:
    """The entries as one Arrow record batch of `schema`."""
    columns = [
        pa.array([entry.key for entry in entries], pa.binary()),
        pa.array([entry.value for entry in entries], pa.binary()),
        pa.array([entry.stamp for entry in entries], pa.uint64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class Rows:
    """A section of a node: rows sorted by key (actions: in the order they took effect), read from the columns' own bytes."""

    __slots__ = ("_keys", "_keys_at", "_present", "_stamps", "_start", "_values", "_values_at", "count")

    def __init__(self, batch: pa.RecordBatch, start: int, stop: int) -> None:
        self.count = stop - start
        self._start = start
        if self.count == 0:
            return
        _, key_offsets, key_data = batch.column(0).buffers()
        presence, value_offsets, value_data = batch.column(1).buffers()
        self._keys_at = memoryview(key_offsets).cast("b").cast("i")
        # The keys are copied: slices of `bytes` halve the time of a binary search against slices of a view.
        self._keys = bytes(memoryview(key_data)[: self._keys_at[stop]]) if key_data is not None else b""
        self._values = memoryview(value_data) if value_data is not None else memoryview(b"")
        self._values_at = memoryview(value_offsets).cast("b").cast("i")
        self._stamps = memoryview(batch.column(2).buffers()[1]).cast("b").cast("Q")
        self._present = memoryview(presence).cast("B") if presence is not None else None

    def __len__(self) -> int:
        return self.count

    def key(self, index: int) -> bytes:
        row = self._start + index
        offsets = self._keys_at
        return self._keys[offsets[row] : offsets[row + 1]]

    def value(self, index: int) -> bytes | None:
        row = self._start + index
        # Arrow's validity bitmap: bit `row`, least significant first.
        if self._present is not None and not self._present[row >> 3] >> (row & 7) & 1:
            return None
        offsets = self._values_at
        return bytes(self._values[offsets[row] : offsets[row + 1]])

    def stamp(self, index: int) -> int:
        return self._stamps[self._start + index]

    def entry(self, index: int) -> Entry:
        return Entry(self.key(index), self.value(index), self.stamp(index))

    def entries(self, start: int = 0, stop: int | None = None) -> list[Entry]:
        """Rows [start, stop) as entries."""
        return [self.entry(index) for index in range(start, self.count if stop is None else stop)]

    def __iter__(self) -> Iterator[Entry]:
        return (self.entry(index) for index in range(self.count))

    def bisect_left(self, key: bytes) -> int:
        """Number of rows whose key is below `key`."""
        if self.count == 0:
            return 0
        keys, offsets, start = self._keys, self._keys_at, self._start
        low, high = start, start + self.count
        while low < high:
            middle = (low + high) >> 1
            if keys[offsets[middle] : offsets[middle + 1]] < key:
                low = middle + 1
            else:
                high = middle
        return low - start

    def bisect_right(self, key: bytes) -> int:
        """Number of rows whose key is at most `key`."""
        # No key lies between `key` and `key` with a zero byte appended.
        return self.bisect_left(key + b"\0")

    def find(self, key: bytes) -> int | None:
        """Index of the row with exactly this key."""
        index = self.bisect_left(key)
        if index < self.count and self.key(index) == key:
            return index
        return None

    @property
    def bytes_held(self) -> int:
        """What the rows count for against the tree's limits."""
        if self.count == 0:
            return 0
        first, last = self._start, self._start + self.count
        keys = self._keys_at[last] - self._keys_at[first]
        return keys + self._values_at[last] - self._values_at[first] + 8 * self.count


def rows_of(entries: Sequence[Entry]) -> Rows:
    """Rows made in memory, in the order given."""
    return Rows(rows_batch(entries, rows_schema()), 0, len(entries))


EMPTY_ROWS = rows_of([])


@dataclass(frozen=True, slots=True)
class Node:
    """A node below the root. Level 0 is a leaf; a higher level's values are names of nodes one level below."""

    name: str
    level: int
    rows: Rows
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RootHeader:
    """The system keys of a root node."""

    version: int
    created_at_ms: int
    catalog: CatalogDefinition
    previous_hash: str
    attempt_id: str
    transaction_ids: tuple[str, ...] = ()
    level: int = 0
    """Level of the nodes that the pivot table names, plus one; 0 while there are none."""
    oldest: int = 0
    collect_epoch: int = 0
    stubbed_below: int = 0
    """Every version below is a stub, but for `unstubbed`. Says less than is true while versions are being given up."""
    unstubbed: tuple[int, ...] = ()
    rolled_back_from: int | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """The root node of one version of the catalog; of one that was given up, its stub, which holds no entries."""

    header: RootHeader
    hash: str
    """Of the root itself, also in its stub."""
    pivots: Rows
    buffer: Rows
    actions: Rows
    size_bytes: int
    stub: bool = False

    @property
    def version(self) -> int:
        return self.header.version
