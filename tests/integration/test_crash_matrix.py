"""Struck at each step of a transaction, an expiry and a collection, by a kill, a full disk or a read-only store: nothing is half done."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from catalog_format.catalog import StoredCatalog, open_catalog
from catalog_format.clock import SystemClock
from catalog_format.door import TransactionStatus
from catalog_format.errors import NoSuchTransactionError, TreelineError
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect, is_collectable
from catalog_format.maintenance.expire import expire
from catalog_format.storage import FaultyStorage, LocalStorage, MemoryStorage, Storage
from catalog_format.storage.faulty import Denied, Fault, Full, ScriptedPlan
from tests.support.catalogs import ManualClock, opened, properties_of
from tests.support.crash_story import KEPT, STEPS, TRANSACTION, prepare, tell

BEFORE_THE_SEAL = ("begin", "first metadata file", "second metadata file", "first state", "second state", "seal")


async def told(catalog: StoredCatalog) -> list[str | None]:
    """What the two tables say of the story."""
    return [(await properties_of(catalog.main, "ns", table)).get("story") for table in ("a", "b")]


async def problems(catalog: StoredCatalog) -> list[str]:
    return (await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)).problems


async def aftermath(catalog: StoredCatalog, step: str, *, done: bool) -> None:
    """What holds whoever comes after, and that the story can be brought to its end. `done`: the store did the step that was struck."""
    assert await problems(catalog) == []
    status = None
    if step != "begin" or done:
        status = (await catalog.transactions.load(TRANSACTION)).status
        await catalog.transactions.close()
    else:
        with pytest.raises(NoSuchTransactionError):
            await catalog.transactions.load(TRANSACTION)
    sealed = step not in BEFORE_THE_SEAL or (step == "seal" and done)
    # Whoever looks at a sealed transaction finishes it.
    assert status is (TransactionStatus.COMMITTED if sealed else None if step == "begin" and not done else TransactionStatus.OPEN)
    assert await told(catalog) == (["told"] * 2 if sealed else [None] * 2)
    if status is TransactionStatus.OPEN:
        await catalog.transactions.commit(TRANSACTION)
        both = step == "seal" or (step == "second state" and done)
        one = both or step in {"second metadata file", "second state"} or (step == "first state" and done)
        assert await told(catalog) == ["told" if one else None, "told" if both else None]
    elif status is TransactionStatus.COMMITTED:
        assert (await catalog.transactions.commit(TRANSACTION)).status is TransactionStatus.COMMITTED
    before = await told(catalog)
    await expire(catalog.parts, KEPT)
    await collect(catalog.parts)
    assert await problems(catalog) == [] and await told(catalog) == before
    left = [path for path in await catalog.storage.list("") if is_collectable(path)]
    await collect(catalog.parts)
    assert [path for path in await catalog.storage.list("") if is_collectable(path)] == left
    assert await catalog.logs.list_open() == []


@pytest.mark.processes
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
async def test_killed(step: str, when: str, tmp_path: Path) -> None:
    await prepare(LocalStorage(tmp_path))
    command = [sys.executable, "-m", "tests.support.crash_story", str(tmp_path), step, when]
    died = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    catalog = await open_catalog(str(tmp_path))
    await aftermath(catalog, step, done=when == "after")
    await catalog.close()


@pytest.mark.parametrize("fault", [Full(), Denied()], ids=["full disk", "read-only store"])
@pytest.mark.parametrize("step", [step for step, call in STEPS.items() if call.verb != "delete"])
async def test_a_store_that_takes_no_more_from_one_step_on(step: str, fault: Fault) -> None:
    store = MemoryStorage()
    await prepare(store)
    rule = STEPS[step].rule(fault, None)
    with_trouble: Storage = FaultyStorage(store, ScriptedPlan(rule), SystemClock())
    try:
        await tell(with_trouble)
    except TreelineError as error:
        assert "injected" in str(error)
    else:
        # Hints and what repeats the verdict are best effort; whoever comes next does without.
        assert step in {"hint", "terminal state"}
    async with opened(store, clock=ManualClock(SystemClock().now_ms())) as catalog:
        await aftermath(catalog, step, done=False)
