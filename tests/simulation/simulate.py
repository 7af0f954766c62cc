"""One run from its plan to its verdict."""

from __future__ import annotations

import asyncio
import gc
import re
from collections import Counter
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from catalog_format import paths
from catalog_format.catalog import StoredCatalog
from catalog_format.errors import TreelineError
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from tests.simulation.clients import Client
from tests.simulation.disk import UNDERTAKING
from tests.simulation.engine import is_engines
from tests.simulation.loop import StuckError
from tests.simulation.losses import begun_too_late, losses
from tests.simulation.oracles import Judge
from tests.simulation.plan import ACCOUNTS, NAMESPACES, PURSES, Plan, Step, Upkeep
from tests.simulation.process import Process
from tests.simulation.purges import Purges
from tests.simulation.trace import Trace
from tests.simulation.truth import Truth
from tests.simulation.upkeep import ServerUpkeep
from tests.simulation.world import World

_GONE_BEFORE = re.compile(r"Table \S+: File is missing: .*")
MOST_SKEW_MS = 4_000_000
"""So much a clock may be ahead of another when a wish is recorded."""
# What reading a store that holds wrong things may come to.
_NONSENSE = (TreelineError, DecodeError, LookupError, ValueError)


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    plan: Plan
    trace: Trace
    complaints: tuple[str, ...]
    figures: Counter[str]
    """What there was of everything, for summaries."""


def simulate(plan: Plan) -> Result:
    """Run a plan and judge what happened."""
    world = World(plan)
    # Collected garbage runs finalizers, at moments that no seed decides.
    was_enabled = gc.isenabled()
    gc.disable()
    figures: Counter[str] = Counter()
    try:
        complaints = _run(world, figures)
    finally:
        world.loop.abandon()
        if was_enabled:
            gc.enable()
    return Result(plan, world.trace, tuple(dict.fromkeys(complaints)), figures + _figures(world))


def _run(world: World, figures: Counter[str]) -> list[str]:
    try:
        setup_version, audit = world.loop.run_until_complete(_live(world))
    except StuckError as error:
        return [*world.history.complaints, f"stuck: {error}"]
    except _NONSENSE as error:
        return [*world.history.complaints, f"the audit at the end failed: {error!r}"]
    truth = Truth(world.disk)
    try:
        figures["joined"] = truth.joined
        figures["ordered backwards"] = sum(record.before is not None for version in truth.versions for record in version.records)
        judge = Judge(world.history, truth, setup_version, world.plan.staleness, world.disk.latest_at)
        judged = list(judge.complaints())
        purges = Purges(world.disk, truth, judge.wishes)
        judged += losses(world.disk, truth, purges.concern)
        judged += begun_too_late(world.disk, truth, world.history)
        judged += [complaint for loss in world.disk.deletions if purges.concern(loss) for complaint in purges.judge(loss)]
        judged += purges.forgotten() if _keeps_up(world.plan) else ()
    except _NONSENSE as error:
        judged = [*world.history.complaints, f"what lies in the store makes no sense: {error!r}"]
    return [*judged, *audit, *world.loop.mishaps()]


def _figures(world: World) -> Counter[str]:
    figures: Counter[str] = Counter({"operations": world.plan.operations, "versions": world.disk.latest})
    figures["tables purged"] = world.history.purged
    figures["virtual hours"] = round(world.loop.time() / 3600)
    figures.update(f"fault: {harm}" for harm in world.harms)
    figures.update(f"plain: {done.fate}" for done in world.history.operations.values() if done.wanted)
    for transaction in world.history.transactions.values():
        figures.update(f"transaction: {said}" for said in {answer.said for answer in transaction.answers})
    return figures


async def _live(world: World) -> tuple[int, list[str]]:
    """Everything that happens: the latest version after the set-up, and what the audit at the end found."""
    await world.open()
    await _set_up(world)
    setup_version = world.disk.latest
    world.begin_harm()
    clients: dict[int, list[Step]] = {}
    for step in world.plan.of(Step):
        clients.setdefault(step.client, []).append(step)
    at_work = asyncio.gather(*(Client(world, number).run(steps) for number, steps in clients.items()))
    beside = (ServerUpkeep(world, number, wish).run(lambda: not at_work.done()) for number, wish in enumerate(world.plan.of(Upkeep)))
    await asyncio.gather(at_work, *beside)
    await world.settle()
    world.end_harm()
    audit = await _audit(world)
    await world.settle()
    return setup_version, audit


async def _set_up(world: World) -> None:
    namespaces = [*NAMESPACES, ACCOUNTS[0][:1], PURSES[0][:1]]
    client = Client(world, -1)
    for verb, names in (("create-namespace", namespaces), ("open-account", [*ACCOUNTS, *PURSES])):
        steps = [Step(f"s-{'.'.join(name)}", -1, verb, name, amount=int(world.plan.appends_join)) for name in names]
        await asyncio.gather(*(client.run([step]) for step in steps))


async def _audit(world: World) -> list[str]:
    """A process that nothing happens to finishes what was left, and looks at everything."""
    auditor = Process(world, 99, 1, 0.0)
    found: list[str] = []

    async def finish() -> None:
        catalog = auditor.catalog
        await catalog.versions.open()
        for transaction_id in await catalog.logs.list_open():
            await catalog.transactions.image(transaction_id)
        await catalog.transactions.close()
        for info in await catalog.transactions.list_open():
            if info.status.value != "open":
                found.append(f"{info.transaction_id} is listed as open and is {info.status}")
        checked = await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
        found.extend(f"check: {problem}" for problem in checked.problems)
        if _keeps_up(world.plan):
            # A transaction whose time ran out between the two held its base in the first of them: then not all rested yet.
            before: set[str] | None = None
            while before != (now := _open_transactions(world)):
                before = now
                await expire(catalog.parts, ExpiryPolicy(0))
                UNDERTAKING.set(world.disk.begin())
                report = await collect(catalog.parts, purge_patience_ms=-MOST_SKEW_MS)
                # What a killed run had deleted is missing, and told as such.
                world.history.purged += len(report.purge.tables)
                found.extend(f"purge: {problem}" for problem in report.purge.problems if not _GONE_BEFORE.fullmatch(problem))
            found.extend(await _left_over(world, catalog))

    await auditor.call(lambda catalog: finish())
    return found


def _open_transactions(world: World) -> set[str]:
    return {path for path in world.disk.files if path.startswith(f"{paths.OPEN_TRANSACTIONS}/")}


def _keeps_up(plan: Plan) -> bool:
    return bool({step.verb for step in plan.of(Step)} & {"expire", "collect"} or plan.of(Upkeep))


async def _left_over(world: World, catalog: StoredCatalog) -> list[str]:
    """Once everybody rests, what is there is what the kept versions need, beside roots, logs and hints."""
    await catalog.transactions.close()
    kept = {info.base_version for info in await catalog.transactions.list_open()}
    truth = Truth(world.disk)
    needed: set[str] = set()
    waiting: set[str] = set()
    for version in truth.versions:
        if version.number >= truth.versions[-1].oldest or version.number in kept:
            needed |= version.needed
            waiting |= {wish.metadata for wish in version.wishes}
    # Whether what went for a wish may go is judged elsewhere.
    wishes = {wish.metadata for version in truth.versions for wish in version.wishes}
    purged = {path for metadata in wishes for path in (metadata, *truth.logged_by(metadata))}
    purged |= {loss.path for loss in world.disk.deletions if loss.undertaking is not None and loss.undertaking.table is not None}
    open_ones = tuple(f"-dtxn_{info.transaction_id}." for info in await catalog.transactions.list_open())
    there = {path for path in world.disk.files if path.startswith(("node/", "def/", "data/")) and not is_engines(path)}
    left = [path for path in sorted(there - needed - waiting) if not any(name in path for name in open_ones)]
    return [f"{path} is left, and nothing needs it" for path in left] + [f"{path} is gone" for path in sorted(needed - there - purged)]
