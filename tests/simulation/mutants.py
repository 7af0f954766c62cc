"""Mutants: the catalog with one protection switched off. Each must make the simulator find a failure, or it proves nothing.

A mutant replaces one function of the real code for as long as it is entered, and `seed` is a run that kills it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from catalog_format import group as groups
from catalog_format import node_codec, node_store, ordering, version_log
from catalog_format.committer import Committer
from catalog_format.distributed import log as logs
from catalog_format.distributed.coordinator import TransactionCoordinator
from catalog_format.distributed.log import TransactionLogs
from catalog_format.door import TransactionStatus
from catalog_format.errors import TreelineError
from catalog_format.group import GroupStager
from catalog_format.node import Entry, Node, Rows
from catalog_format.pb import transaction_pb2 as tpb
from catalog_format.reader import Reader
from catalog_format.scopes.transactional import TransactionPlace
from catalog_format.staging import Stage
from catalog_format.tree import edit
from catalog_format.version_log import SharedProbe
from tests.simulation.deletion_mutants import DELETION
from tests.simulation.joining_mutants import JOINING
from tests.simulation.mutant import DIFFERENT, JUDGED_TWICE, MISREAD, Mutant, replaced
from tests.simulation.plan import plan_of
from tests.simulation.publishing_mutants import PUBLISHING
from tests.simulation.purge_mutants import PURGE
from tests.simulation.simulate import simulate

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


def _begun_on_what_is_gone() -> AbstractContextManager[None]:
    begun = TransactionCoordinator._begun

    async def anyhow(self: Any, image: Any) -> Any:
        # No version after that one is ever given up.
        found = await begun(self, replace(image, base_version=2**62))
        return replace(found, base_version=image.base_version)

    return replaced(TransactionCoordinator, "_begun", anyhow)


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


_NONSENSE = rf"DecodeError|index out of bounds|the audit at the end failed|{DIFFERENT}"
"""What damaged bytes that are taken for whole come to."""

MUTANTS = (
    *PUBLISHING,
    Mutant(
        "no read set",
        "serializable transactions are judged by their writes alone",
        _without_read_set,
        3,
        MISREAD,
    ),
    Mutant("ordered anyhow", "who is ordered before others may write what they have read", _ordered_anyhow, 10, r"not serializable"),
    Mutant(
        "no structural reads",
        "what a write looks at is not read by its transaction",
        _without_structural_reads,
        16,
        f"Absent.* {MISREAD}",
    ),
    Mutant(
        "full namespaces dropped",
        "a namespace that is dropped need not be empty",
        _dropping_full_namespaces,
        38,
        r"was dropped although it held",
    ),
    Mutant(
        "no parents, no twins",
        "what is created needs no parent, and no name of its own",
        _without_parents_and_twins,
        12,
        r"was made although",
    ),
    Mutant(
        "other members' writes",
        "members of one group do not see each other's writes",
        _without_other_members,
        14,
        DIFFERENT,
    ),
    Mutant(
        "other members' ranges",
        "members of one group do not see what others wrote into listed ranges",
        _without_other_members_in_ranges,
        70,
        f"Children.* {MISREAD}",
    ),
    Mutant(
        "deletions without stamps",
        "a deletion does not raise the stamp of its subtree",
        _without_deletions_in_stamps,
        180,
        f"Children.* {MISREAD}",
    ),
    Mutant("no seal", "COMMIT does not close the log", _without_seal, 3, r"its record names|its outcome says"),
    Mutant(
        "BEGIN unchecked",
        "BEGIN does not look for states of an older transaction of that id",
        _beginning_unchecked,
        12,
        r"began a second time",
    ),
    Mutant(
        "begun on what is gone",
        "BEGIN does not look whether its base was given up meanwhile",
        _begun_on_what_is_gone,
        61,
        r"was begun on version \d+, which had been given up",
    ),
    Mutant(
        "log not read again",
        "who finishes a transaction does not look whether it has ended",
        _without_reading_the_log_again,
        177,
        JUDGED_TWICE,
    ),
    Mutant(
        "put away early",
        "a transaction leaves the folder of open ones before its log has ended",
        _put_away_early,
        4,
        r"in its log, and its outcome says",
    ),
    Mutant("nodes unverified", "the hash of a node is not verified", _unverified_nodes, 94, _NONSENSE),
    Mutant("roots unverified", "the hash of a root is not verified", _unverified_roots, 190, _NONSENSE),
    Mutant("states unverified", "the hash of a transaction's state is not verified", _unverified_states, 98, _NONSENSE),
    Mutant(
        "any probe shared",
        "a read joins a probe that was sent before the read began",
        _sharing_any_probe,
        65,
        r"was told .* which is true in no version",
    ),
    *DELETION,
    *PURGE,
    *JOINING,
)


def killers(mutant: Mutant, seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Those of the seeds whose runs show that the mutant is on, each with the complaint that bears its sign."""
    for seed in seeds:
        plan = plan_of(seed)
        with mutant.enter():
            complaint = mutant.sign_in(simulate(plan).complaints)
        if complaint is not None:
            yield seed, complaint
