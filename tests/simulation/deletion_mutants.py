"""Mutants of what deletes: expire and collect with one protection switched off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from catalog_format.changes import Upkeep
from catalog_format.door import TransactionStatus
from catalog_format.maintenance import collect as collecting
from catalog_format.maintenance import expire as expiring
from catalog_format.maintenance.parts import Parts
from catalog_format.maintenance.reach import Reach
from catalog_format.node import Root
from tests.simulation.mutant import DELETED, Mutant, replaced

# Expire.


def _without_pins() -> AbstractContextManager[None]:
    async def pins(parts: Parts, **how: Any) -> set[int]:
        return set()

    return replaced(expiring, "_pins", pins)


def _without_pins_of_sealed_ones() -> AbstractContextManager[None]:
    async def pins(parts: Parts, **how: Any) -> set[int]:
        images = [await parts.logs.load(transaction_id) for transaction_id in await parts.logs.list_open()]
        return {image.base_version for image in images if image.status is TransactionStatus.OPEN}

    return replaced(expiring, "_pins", pins)


# Collect. What it sees to be needed before the epoch begins would hide that it looks in the wrong order afterwards: that look is
# switched off too.


class _OneLook(collecting._Needed):
    """Forgets what it saw before the epoch began."""

    _is_complete = False

    def has(self, path: str) -> bool:
        return self._is_complete and super().has(path)

    async def complete(self, epoch: Root) -> None:
        self._reach, self._open, self._looked_at = Reach(self._parts), set(), epoch.header.oldest - 1
        await self.look(epoch)
        self._is_complete = True

    async def look(self, epoch: Root) -> None:
        await super().complete(epoch)

    async def latest(self) -> int:
        return (await self._parts.versions.confirm(anew=True)).version


class _TransactionsLast(_OneLook):
    async def look(self, epoch: Root) -> None:
        await self.add_versions(epoch.header.oldest, await self.latest())
        await self.add_unfinished(epoch.header.oldest)


class _EpochAlone(_OneLook):
    async def look(self, epoch: Root) -> None:
        await self.add_versions(epoch.header.oldest, epoch.version)
        await self.add_unfinished(epoch.header.oldest)


def looking_once() -> AbstractContextManager[None]:
    """No mutant: the look before the epoch only saves work."""
    return replaced(collecting, "_Needed", _OneLook)


def _listing_transactions_last() -> AbstractContextManager[None]:
    return replaced(collecting, "_Needed", _TransactionsLast)


def _keeping_for_the_epoch_alone() -> AbstractContextManager[None]:
    return replaced(collecting, "_Needed", _EpochAlone)


def _without_epoch() -> AbstractContextManager[None]:
    keep_up = Parts.keep_up

    async def without_epoch(self: Parts, upkeep: Upkeep, summary: str, agent: str) -> int:
        if upkeep.new_epoch:
            return (await self.versions.confirm(anew=True)).version
        return await keep_up(self, upkeep, summary, agent)

    return replaced(Parts, "keep_up", without_epoch)


@contextmanager
def _listing_after_the_epoch() -> Iterator[None]:
    collect, keep_up = collecting._collect, Parts.keep_up

    async def too_late(parts: Parts, *arguments: Any) -> Any:
        await keep_up(parts, Upkeep(new_epoch=True), "begin a collect epoch", collecting.AGENT)
        return await collect(parts, *arguments)

    with _without_epoch(), replaced(collecting, "_collect", too_late):
        yield


def _without_names() -> AbstractContextManager[None]:
    return replaced(collecting, "transactions_of", lambda path: ())


DELETION = (
    Mutant("base of an open one", "expire gives up what open transactions are based on", _without_pins, 13, r"became a stub, and"),
    Mutant(
        "base of a sealed one",
        "expire gives up what sealed transactions are based on",
        _without_pins_of_sealed_ones,
        17,
        r"became a stub, and",
    ),
    Mutant(
        "transactions last",
        "collect lists transactions after it has read the latest version",
        _listing_transactions_last,
        149,
        DELETED,
    ),
    Mutant(
        "the epoch alone",
        "collect keeps nothing for versions after the one that began the epoch",
        _keeping_for_the_epoch_alone,
        7,
        DELETED,
    ),
    Mutant("no epoch", "collect begins no epoch", _without_epoch, 18, DELETED),
    Mutant(
        "listed late",
        "collect lists what there is after its epoch began",
        _listing_after_the_epoch,
        78,
        r"the audit at the end failed: LostFileError",
    ),
    Mutant(
        "no names",
        "a file is not kept for the transaction in its name",
        _without_names,
        220,
        DELETED,
    ),
)
