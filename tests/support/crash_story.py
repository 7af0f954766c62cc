"""A transaction over two tables, the expiry of versions, a collection with a purge, a purge at once: every named step, to be struck.

As a process of its own, `python -m tests.support.crash_story FOLDER STEP before|after` dies by SIGKILL at the step, before the store
has done it or after.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from typing import Any

from catalog_format.catalog import StoredCatalog, create_catalog
from catalog_format.clock import SystemClock
from catalog_format.ids import SystemIds
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from catalog_format.storage import FaultyStorage, LocalStorage, Storage, StorageResolver
from catalog_format.storage.counting import Verb
from catalog_format.storage.faulty import Fault, Request, Rule, ScriptedPlan, StoreCall
from tests.support.catalogs import SMALL_TREE, make_table, setting

TRANSACTION = "story"
KEPT = ExpiryPolicy(0)
DROPPED = "dropped"
"""A table that was dropped with purge before the story begins."""
AT_ONCE = ("ns", "unwanted")
"""One that is purged at once."""


@dataclass(frozen=True)
class Step:
    """The `nth` call of a verb on a path pattern, once the story is told from its beginning."""

    verb: Verb
    path: str
    nth: int = 1

    def rule(self, fault: Fault) -> Rule:
        return Rule(fault, self.verb, self.path, self.nth)


STEPS = {
    "begin": Step("put_if_absent", f"dtxn-open/{TRANSACTION}"),
    "first metadata file": Step("put_if_absent", "data/*"),
    "second metadata file": Step("put_if_absent", "data/*", 2),
    "first state": Step("put_if_absent", f"dtxn/{TRANSACTION}/*"),
    "second state": Step("put_if_absent", f"dtxn/{TRANSACTION}/*", 2),
    "seal": Step("put_if_absent", f"dtxn/{TRANSACTION}/*", 3),
    "first node": Step("put_if_absent", "node/*"),
    "second node": Step("put_if_absent", "node/*", 2),
    "root": Step("put_if_absent", "vn/*"),
    "hint": Step("replace", "vn/latest"),
    "terminal state": Step("put_if_absent", f"dtxn/{TRANSACTION}/*", 4),
    "open file": Step("delete", f"dtxn-open/{TRANSACTION}"),
    "root that gives up": Step("put_if_absent", "vn/*", 2),
    "first stub": Step("replace", "vn/[01]*"),
    "fourth stub": Step("replace", "vn/[01]*", 4),
    "root that says what are stubs": Step("put_if_absent", "vn/*", 3),
    "epoch root": Step("put_if_absent", "vn/*", 4),
    "deletion of a metadata file": Step("delete", "data/*"),
    "deletion of a node": Step("delete", "node/*"),
    "deletion of a dropped table's file": Step("delete", f"data/ns/{DROPPED}-*"),
    "root that drops the wish": Step("put_if_absent", "vn/*", 5),
    "drop before a purge at once": Step("put_if_absent", "vn/*", 6),
    "deletion of a table's file at once": Step("delete", f"data/ns/{AT_ONCE[-1]}-*"),
    "root after a purge at once": Step("put_if_absent", "vn/*", 7),
}


class FromThere:
    """A plan: from a step on, that call included, every call of some verbs meets a fault, whatever it is for."""

    def __init__(self, step: Step, fault: Fault, verbs: frozenset[Verb]) -> None:
        self._met = ScriptedPlan(step.rule(fault))
        self._fault = fault
        self._verbs = verbs
        self.has_begun = False

    def decide(self, call: StoreCall) -> Fault | None:
        self.has_begun |= self._met.decide(call) is not None
        return self._fault if self.has_begun and call.verb in self._verbs else None


@dataclass(frozen=True)
class Kill:
    """The process dies as by a power cut, before the store has done what was asked, or after."""

    after: bool

    async def strike(self, request: Request) -> Any:
        if self.after:
            await request.send()
        os.kill(os.getpid(), signal.SIGKILL)


async def prepare(storage: Storage) -> None:
    """A catalog with two tables, two to be purged, and a tree that has more in its buffer than it may hold."""
    await create_catalog(storage, SystemClock(), SystemIds(), limits=SMALL_TREE)
    catalog = await _opened(storage)
    for table in ("a", "b", DROPPED, AT_ONCE[-1]):
        await make_table(catalog.main, "ns", table)
    await catalog.main.drop_table(("ns", DROPPED), True)
    for number in range(12):
        await catalog.main.create_namespace((f"n{number}",), {})
    await catalog.close()


async def tell(storage: Storage) -> None:
    """The story. Raises what its steps raise."""
    catalog = await _opened(storage)
    await catalog.transactions.begin(TRANSACTION)
    inside = await catalog.within(TRANSACTION)
    for table in ("a", "b"):
        await inside.commit_tables([setting("ns", table, story="told")])
    await catalog.transactions.commit(TRANSACTION)
    await catalog.transactions.close()
    await catalog.versions.close()
    await expire(catalog.parts, KEPT)
    await collect(catalog.parts, purge_patience_ms=0)
    await purge_now(catalog.parts, await plan_purge(catalog.parts, AT_ONCE))
    await catalog.close()


async def _opened(storage: Storage) -> StoredCatalog:
    catalog = StoredCatalog(storage, StorageResolver(), SystemClock(), SystemIds())
    await catalog.versions.open()
    return catalog


def main(folder: str, step: str, when: str) -> None:
    fault = Kill(after=when == "after")
    asyncio.run(tell(FaultyStorage(LocalStorage(folder), ScriptedPlan(STEPS[step].rule(fault)), SystemClock())))


if __name__ == "__main__":
    main(*sys.argv[1:])
