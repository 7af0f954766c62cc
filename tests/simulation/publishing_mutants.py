"""Mutants of what publishes versions: turns, and the reading back of puts whose fate is not known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from catalog_format import exclusive_put, node_codec, paths
from catalog_format import group as groups
from catalog_format.committer import Committer
from catalog_format.errors import ConflictError
from catalog_format.group import GroupStager, Member
from catalog_format.publisher import Publisher
from catalog_format.readback import Fate
from catalog_format.reader import Reader
from tests.simulation.mutant import DELETED, DIFFERENT, JUDGED_TWICE, Mutant, replaced, without_comparing_files


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


@contextmanager
def _under_the_same_name() -> Iterator[None]:
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

    with replaced(Committer, "_settle", with_one), without_comparing_files():
        yield


def _looking_up_keys_once() -> AbstractContextManager[None]:
    earlier_answer = groups.earlier_answer
    looked_up: dict[int, object] = {}

    async def once(reader: Any, wish: Any) -> Any:
        # Another request with the same key is another object.
        if id(wish) in looked_up:
            return None
        looked_up[id(wish)] = wish
        return await earlier_answer(reader, wish)

    return replaced(groups, "earlier_answer", once)


def _looking_up_outcomes_once() -> AbstractContextManager[None]:
    stage_sealed = GroupStager._stage_sealed
    looked_up: set[Member] = set()

    class Blind(Reader):
        async def definition(self, key: bytes) -> bytes | None:
            return None if key.startswith(b"E===") else await super().definition(key)

    async def once(self: Any, group: Any, reader: Any, member: Any, wish: Any) -> None:
        seen = Blind(reader.root, self._nodes, reader.storage) if member in looked_up else reader
        looked_up.add(member)
        await stage_sealed(self, group, seen, member, wish)

    return replaced(GroupStager, "_stage_sealed", once)


def _judging_one_transaction_twice() -> AbstractContextManager[None]:
    return replaced(groups.Group, "sealed", lambda self, transaction_id: None)


PUBLISHING = (
    Mutant(
        "no read-back",
        "after a doubtful put nobody looks whether it was one's own that won",
        _without_read_back,
        9,
        r"was refused and took effect",
    ),
    Mutant(
        "transaction ids only",
        "a root is taken for one's own if it names the same transactions",
        _comparing_transaction_ids,
        18,
        r"the hash chain is broken",
    ),
    Mutant(
        "no putting again",
        "what the read-back does not find is taken for not written",
        _without_putting_again,
        247,
        r"was refused and took effect",
    ),
    Mutant(
        "same name again",
        "a later try uploads under the names of the first",
        _under_the_same_name,
        385,
        f"{DELETED}|{DIFFERENT}",
    ),
    Mutant(
        "keys looked up once",
        "idempotency keys are looked up in a request's first turn only",
        _looking_up_keys_once,
        178,
        r"took effect [2-9] times",
    ),
    Mutant(
        "verdicts looked up once",
        "whether a verdict stands in the tree is looked up in the first turn only",
        _looking_up_outcomes_once,
        18,
        JUDGED_TWICE,
    ),
    Mutant(
        "judged twice",
        "two finishers in one group judge a transaction twice",
        _judging_one_transaction_twice,
        3,
        JUDGED_TWICE,
    ),
)
