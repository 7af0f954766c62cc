"""Who took effect since a version, from the actions that roots and their stubs keep; and who can be ordered before them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from cachetools import LRUCache

from catalog_format.changes import NO_READS, Change, Place, ReadSet, SealedChangeSet, Verb
from catalog_format.keys import USER_TYPES, ObjectType, children_range, identifier_of
from catalog_format.kinds import Kinds
from catalog_format.node import Entry, Root
from catalog_format.ordering import Concurrent, Footprint, NoPlace, place_before
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.version_log import VersionLog

MOST_VERSIONS: Final = 1000
"""So many versions since its base are searched for a transaction that would be ordered backwards."""
_READS_AT_ONCE = 32
_KEYS_KEPT = 100_000
_TYPE_BYTES = 4


class ConcurrentTransactions:
    """Reads the records of versions. Only a transaction whose reads were overwritten asks."""

    def __init__(self, versions: VersionLog, kinds: Kinds) -> None:
        self._versions = versions
        self._twins = {kind.object_type.prefix: kind.twin.prefix for kind in kinds.values() if kind.twin is not None}
        # Records never change. A transaction that lost a turn must not read them all again, or the next turn is lost too.
        self._of_version: LRUCache[int, tuple[Concurrent, ...]] = LRUCache(_KEYS_KEPT, getsizeof=_keys_in)

    async def place_of(self, wish: SealedChangeSet, latest: Root, staged: Sequence[Entry]) -> Place | NoPlace:
        """Where a transaction whose reads were overwritten can be ordered. `staged`: records of those before it in its group."""
        if latest.version - wish.base_version > MOST_VERSIONS:
            return NoPlace(f"more than {MOST_VERSIONS} versions were made since its base, too many to be searched")
        others: list[Concurrent] = []
        for start in range(wish.base_version + 1, latest.version + 1, _READS_AT_ONCE):
            some = range(start, min(start + _READS_AT_ONCE, latest.version + 1))
            for found in await asyncio.gather(*(self._in_version(version, latest) for version in some)):
                others += found
        others += self._in_records(latest.version + 1, staged)
        return place_before(wish.base_version, self._footprint(wish.changes, wish.reads), others)

    async def _in_version(self, version: int, latest: Root) -> tuple[Concurrent, ...]:
        found = self._of_version.get(version)
        if found is None:
            root = latest if version == latest.version else await self._versions.trace(version)
            found = self._of_version[version] = self._in_records(version, root.actions)
        return found

    def _in_records(self, version: int, records: Iterable[Entry]) -> tuple[Concurrent, ...]:
        return tuple(self._concurrent(row.value or b"", Place(version, position)) for position, row in enumerate(records))

    def _concurrent(self, data: bytes, committed: Place) -> Concurrent:
        record = pb.TransactionRecord.FromString(data)
        reads = ReadSet.from_pb(record.reads) if record.HasField("reads") else NO_READS
        before = Place.from_pb(record.ordered_before) if record.HasField("ordered_before") else None
        return Concurrent(record.transaction_id, committed, self._footprint(record.actions, reads), before)

    def _footprint(self, changes: Iterable[Change | pb.Action], reads: ReadSet) -> Footprint:
        writes: set[bytes] = set()
        twins: set[bytes] = set()
        children: set[tuple[bytes, bytes]] = set()
        for change in changes:
            for key in (change.key, change.target) if change.target else (change.key,):
                writes.add(key)
                prefix, name = key[:_TYPE_BYTES], key[_TYPE_BYTES:]
                if prefix in self._twins:
                    twins.add(self._twins[prefix] + name)
                elif prefix == ObjectType.NAMESPACE.prefix and change.verb != Verb.UPDATE:
                    children.update(children_range(child, identifier_of(key)) for child in USER_TYPES)
        return Footprint(frozenset(writes), reads, ReadSet(frozenset(twins), frozenset(children)))


def _keys_in(found: Sequence[Concurrent]) -> int:
    prints = [other.footprint for other in found]
    return min(_KEYS_KEPT, 1 + sum(len(one.writes) + len(one.reads.points) + len(one.reads.ranges) for one in prints))
