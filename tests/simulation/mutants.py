"""Mutants: the catalog with one protection switched off. Each must make the simulator find a failure, or it proves nothing.

A mutant replaces one function of the real code for as long as it is entered. `seeds` are runs that kill it.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from catalog_format import exclusive_put, node_codec, node_store, ordering, paths, version_log
from catalog_format import group as groups
from catalog_format.committer import Committer
from catalog_format.distributed import log as logs
from catalog_format.distributed.coordinator import TransactionCoordinator
from catalog_format.distributed.log import TransactionLogs
from catalog_format.door import TransactionStatus
from catalog_format.errors import ConflictError, TreelineError
from catalog_format.group import GroupStager
from catalog_format.node import Entry, Node, Rows
from catalog_format.pb import transaction_pb2 as tpb
from catalog_format.publisher import Publisher
from catalog_format.readback import Fate
from catalog_format.reader import Reader
from catalog_format.scopes.transactional import TransactionPlace
from catalog_format.staging import Stage
from catalog_format.tree import edit
from catalog_format.version_log import SharedProbe
from tests.simulation.deletion_mutants import DELETION
from tests.simulation.joining_mutants import JOINING
from tests.simulation.mutant import Mutant, replaced
from tests.simulation.purge_mutants import PURGE

# Publishing.


def _without_read_back() -> AbstractContextManager[None]:
    def classify(attempt_id: str, occupant_attempt_id: str | None) -> Fate:
        return Fate.UNKNOWN if occupant_attempt_id is None else Fate.LOST

    return replaced(exclusive_put, "classify", classify)


def _comparing_transaction_ids() -> AbstractContextManager[None]:
    async def publish(self: Any, version: int, data: bytes, attempt_id: str, deadline: float) -> Any:
        def ids_of(root: Any) -> str:
            return ",".join(root.header.transaction_ids)

        mine = ids_of(node_codec.decode_root(version, data))
        return await self._put(paths.root_path(version), "", data, mine, deadline, lambda: self._log.find(version), ids_of)

    return replaced(Publisher, "publish", publish)


def _without_putting_again() -> AbstractContextManager[None]:
    def classify(attempt_id: str, occupant_attempt_id: str | None) -> Fate:
        if occupant_attempt_id is None:
            raise ConflictError("Nothing was written")
        return Fate.WON if occupant_attempt_id == attempt_id else Fate.LOST

    return replaced(exclusive_put, "classify", classify)


def _under_the_same_name() -> AbstractContextManager[None]:
    settle = Committer._settle

    class OneAttempt:
        def __init__(self, ids: Any) -> None:
            self._ids, self._attempt = ids, ids.attempt_id()

        def attempt_id(self) -> str:
            return self._attempt  # type: ignore[no-any-return]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._ids, name)

    async def with_one(self: Any, members: Any) -> None:
        ids = self._ids
        self._ids = OneAttempt(ids)
        try:
            await settle(self, members)
        finally:
            self._ids = ids

    return replaced(Committer, "_settle", with_one)


def _without_looking_up_keys() -> AbstractContextManager[None]:
    async def earlier_answer(reader: Any, wish: Any) -> None:
        return None

    return replaced(groups, "earlier_answer", earlier_answer)


def _without_looking_up_outcomes() -> AbstractContextManager[None]:
    stage_sealed = GroupStager._stage_sealed

    class Blind(Reader):
        async def definition(self, key: bytes) -> bytes | None:
            return None if key.startswith(b"E===") else await super().definition(key)

    async def blindly(self: Any, group: Any, reader: Any, member: Any, wish: Any) -> None:
        await stage_sealed(self, group, Blind(reader.root, self._nodes, reader.storage), member, wish)

    return replaced(GroupStager, "_stage_sealed", blindly)


def _judging_one_transaction_twice() -> AbstractContextManager[None]:
    return replaced(groups.Group, "sealed", lambda self, transaction_id: None)


# Judging.


def _without_read_set() -> AbstractContextManager[None]:
    decide = groups.decide
    return replaced(groups, "decide", lambda isolation, writes, reads, ranges: decide(isolation, writes, (), ()))


def _ordered_anyhow() -> AbstractContextManager[None]:
    return replaced(ordering.Footprint, "meeting", lambda self, other: None)


def _without_structural_reads() -> AbstractContextManager[None]:
    write = TransactionPlace.write

    async def untracked(self: Any, *arguments: Any, **named: Any) -> Any:
        async def plain(image: Any) -> Reader:
            return Reader(await self._versions.read(image.base_version), self._nodes, self._storage, image.overlay())

        self._reader = plain
        try:
            return await write(self, *arguments, **named)
        finally:
            del self._reader

    return replaced(TransactionPlace, "write", untracked)


def _dropping_full_namespaces() -> AbstractContextManager[None]:
    async def check_empty(self: Any, namespace: Any) -> None:
        return None

    return replaced(Stage, "_check_empty", check_empty)


def _without_parents_and_twins() -> AbstractContextManager[None]:
    async def check_place(self: Any, kind: Any, identifier: Any) -> None:
        return None

    return replaced(Stage, "_check_place", check_place)


def _without_other_members() -> AbstractContextManager[None]:
    async def stamp(self: Any, group: Any, reader: Any, key: bytes) -> int:
        return await reader.stamp(key)  # type: ignore[no-any-return]

    return replaced(GroupStager, "_stamp", stamp)


def _without_other_members_in_ranges() -> AbstractContextManager[None]:
    return replaced(Stage, "touched_within", lambda self, low, high: None)


def _without_deletions_in_stamps() -> AbstractContextManager[None]:
    grouped = edit.grouped

    def without_stamps(pivot_keys: Any, entries: Any) -> Any:
        silent = [Entry(entry.key, None, 0) if entry.value is None else entry for entry in entries]
        return grouped(pivot_keys, silent)

    return replaced(edit, "grouped", without_stamps)


# Distributed transactions.


def _without_seal() -> AbstractContextManager[None]:
    append = TransactionLogs.append

    async def unsealed(self: Any, image: Any, delta: Any) -> Any:
        if delta.status is TransactionStatus.SEALED:
            return replace(image, status=TransactionStatus.SEALED)
        return await append(self, image, delta)

    return replaced(TransactionLogs, "append", unsealed)


def _beginning_unchecked() -> AbstractContextManager[None]:
    async def has_further_states(self: Any, transaction_id: str) -> bool:
        return False

    return replaced(TransactionLogs, "has_further_states", has_further_states)


def _without_reading_the_log_again() -> AbstractContextManager[None]:
    finish = Committer.finish

    async def blindly(self: Any, wish: Any, settled: Any, seal_follows: Any = None) -> Any:
        return await finish(self, wish, None, seal_follows)  # type: ignore[arg-type]

    return replaced(Committer, "finish", blindly)


def _put_away_early() -> AbstractContextManager[None]:
    end = TransactionCoordinator._end

    async def put_away_first(self: Any, transaction_id: str, *arguments: Any) -> None:
        with suppress(TreelineError, OSError):
            await self._logs.remove_open_file(transaction_id)
        await end(self, transaction_id, *arguments)

    return replaced(TransactionCoordinator, "_end", put_away_first)


# Reading.


def _unverified_nodes() -> AbstractContextManager[None]:
    def decode_node(name: str, data: bytes) -> Node:
        keys, batch = node_codec._read(data, name)
        pivots, _, _ = node_codec._sections(keys, batch, name)
        return Node(name, int(keys["level"]), Rows(batch, 0, pivots), len(data))

    return replaced(node_store, "decode_node", decode_node)


def _unverified_roots() -> AbstractContextManager[None]:
    decode_root = node_codec.decode_root

    def unverified(version: int, data: bytes) -> Any:
        with replaced(node_codec, "_hash_without", lambda data, own_hash, where: own_hash):
            return decode_root(version, data)

    return replaced(version_log, "decode_root", unverified)


def _unverified_states() -> AbstractContextManager[None]:
    return replaced(logs, "decode_state", lambda data: tpb.TransactionState.FromString(data[32:]))


def _sharing_any_probe() -> AbstractContextManager[None]:
    async def join(self: Any) -> Any:
        running = self.__dict__.get("joined")
        if running is None or running.done():
            running = self.joined = asyncio.create_task(self._run())
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(running)

    return replaced(SharedProbe, "__call__", join)


MUTANTS = (
    Mutant("no read-back", "after a doubtful put nobody looks whether it was one's own that won", _without_read_back, (19, 9, 18)),
    Mutant(
        "transaction ids only", "a root is taken for one's own if it names the same transactions", _comparing_transaction_ids, (13, 1, 36)
    ),
    Mutant("no putting again", "what the read-back does not find is taken for not written", _without_putting_again, (50, 10, 7)),
    Mutant("same name again", "a later try uploads under the names of the first", _under_the_same_name, (11, 6, 9)),
    Mutant("no look-up of keys", "idempotency keys are not looked up before a request is done", _without_looking_up_keys, (344, 65, 190)),
    Mutant("no look-up of verdicts", "a verdict that stands in the tree is not looked up", _without_looking_up_outcomes, (4, 3, 2)),
    Mutant("judged twice", "two finishers in one group judge a transaction twice", _judging_one_transaction_twice, (4, 3, 9)),
    Mutant("no read set", "serializable transactions are judged by their writes alone", _without_read_set, (9, 4, 3)),
    Mutant("ordered anyhow", "who is ordered before others may write what they have read", _ordered_anyhow, (46, 239, 52)),
    Mutant("no structural reads", "what a write looks at is not read by its transaction", _without_structural_reads, (16, 13, 24)),
    Mutant("full namespaces dropped", "a namespace that is dropped need not be empty", _dropping_full_namespaces, (38, 105, 76)),
    Mutant("no parents, no twins", "what is created needs no parent, and no name of its own", _without_parents_and_twins, (23, 12, 39)),
    Mutant("other members' writes", "members of one group do not see each other's writes", _without_other_members, (52, 43, 46)),
    Mutant(
        "other members' ranges",
        "members of one group do not see what others wrote into listed ranges",
        _without_other_members_in_ranges,
        (180, 329, 338),
    ),
    Mutant("deletions without stamps", "a deletion does not raise the stamp of its subtree", _without_deletions_in_stamps, (338, 332, 180)),
    Mutant("no seal", "COMMIT does not close the log", _without_seal, (3, 4, 7)),
    Mutant("BEGIN unchecked", "BEGIN does not look for states of an older transaction of that id", _beginning_unchecked, (15, 12, 7)),
    Mutant(
        "log not read again",
        "who finishes a transaction does not look whether it has ended",
        _without_reading_the_log_again,
        (255, 151, 177),
    ),
    Mutant("put away early", "a transaction leaves the folder of open ones before its log has ended", _put_away_early, (23, 28, 17)),
    Mutant("nodes unverified", "the hash of a node is not verified", _unverified_nodes, (176, 357, 283)),
    Mutant("roots unverified", "the hash of a root is not verified", _unverified_roots, (77, 270, 128)),
    Mutant("states unverified", "the hash of a transaction's state is not verified", _unverified_states, (98, 86, 7)),
    Mutant("any probe shared", "a read joins a probe that was sent before the read began", _sharing_any_probe, (303, 65, 144)),
    *DELETION,
    *PURGE,
    *JOINING,
)
