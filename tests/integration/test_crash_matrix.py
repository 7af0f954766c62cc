"""Struck at each step of a transaction, an expiry, a collection and a purge, by a kill or a store that takes no more: none is half done."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from catalog_format.catalog import StoredCatalog, open_catalog
from catalog_format.clock import SystemClock
from catalog_format.door import TransactionStatus
from catalog_format.errors import NoSuchTableError, NoSuchTransactionError, TreelineError
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect, is_collectable
from catalog_format.maintenance.expire import expire
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from catalog_format.storage import FaultyStorage, LocalStorage, MemoryStorage
from catalog_format.storage.counting import Verb
from catalog_format.storage.faulty import Denied, Fault, Full
from tests.support.catalogs import ManualClock, opened, properties_of
from tests.support.crash_story import AT_ONCE, DROPPED, KEPT, STEPS, TRANSACTION, FromThere, prepare, tell

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
    await purged(catalog)


async def purged(catalog: StoredCatalog) -> None:
    """What was to be purged is, if it was not, and nothing else."""
    kept = [await catalog.main.table_location(("ns", table)) for table in ("a", "b")]
    assert (await collect(catalog.parts, purge_patience_ms=0)).purge.waiting == 0
    with suppress(NoSuchTableError):
        assert (await purge_now(catalog.parts, await plan_purge(catalog.parts, AT_ONCE))).tables == [AT_ONCE]
    for table in (DROPPED, AT_ONCE[-1]):
        assert [path for path in await catalog.storage.list("data") if f"/{table}-" in path] == []
        assert not await catalog.main.table_exists(("ns", table))
    assert [await catalog.main.table_location(("ns", table)) for table in ("a", "b")] == kept and await problems(catalog) == []
    for table in ("a", "b"):
        await catalog.main.load_table(("ns", table))


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


@pytest.mark.processes
def test_the_command_finds_a_catalog_clean_whose_process_was_killed(tmp_path: Path) -> None:
    asyncio.run(prepare(LocalStorage(tmp_path)))
    died = subprocess.run(
        [sys.executable, "-m", "tests.support.crash_story", str(tmp_path), "first stub", "after"], timeout=60, check=False
    )
    assert died.returncode == -signal.SIGKILL
    command = [str(Path(sys.executable).with_name("treeline")), "check", "--json", str(tmp_path)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    facts = orjson.loads(checked.stdout)
    assert facts["clean"] and facts["problems"] == [] and facts["oldest_version"] > 0


WRITES: frozenset[Verb] = frozenset({"put_if_absent", "replace", "clock_ms"})
"""A folder is asked for the time by writing a file."""


@pytest.mark.parametrize(("fault", "verbs"), [(Full(), WRITES), (Denied(), WRITES | {"delete"})], ids=["full disk", "read-only store"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_store_that_takes_no_more_from_one_step_on(step: str, fault: Fault, verbs: frozenset[Verb]) -> None:
    store = MemoryStorage()
    await prepare(store)
    plan = FromThere(STEPS[step], fault, verbs)
    error: TreelineError | None = None
    try:
        await tell(FaultyStorage(store, plan, SystemClock()))
    except TreelineError as raised:
        error = raised
    assert plan.has_begun
    # Only what comes last ends well: the files of a table that cannot be deleted are problems in a report.
    is_told = "delete" in verbs and step == "deletion of a table's file at once"
    assert (error is None) if is_told else (error is not None and "injected" in str(error)), error
    async with opened(store, clock=ManualClock(SystemClock().now_ms())) as catalog:
        await aftermath(catalog, step, done=False)
