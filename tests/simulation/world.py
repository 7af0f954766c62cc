"""The simulated world of one run: the store, the server processes, and what a plan does to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from random import Random
from typing import TypeVar

from catalog_format.catalog import StoredCatalog, create_catalog
from catalog_format.errors import TreelineError
from catalog_format.ids import SeededIds
from catalog_format.storage import MemoryStorage
from tests.simulation.disk import Disk
from tests.simulation.faults import ClockJump, Fault, Harm, Kind, Outage, kind_of
from tests.simulation.history import History, Moment
from tests.simulation.loop import SimulatedLoop
from tests.simulation.plan import Plan
from tests.simulation.process import Process, ProcessClock
from tests.simulation.trace import Trace

T = TypeVar("T")

MOST_RESTART_S = 20.0


class World:
    """Everything that the actors share. What is random here is the order and the speed of events; harm comes from the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.trace = Trace()
        self.history = History()
        self.disk = Disk()
        self.context = copy_context()
        self.loop = SimulatedLoop(Random(f"order {plan.seed} {plan.schedule}"))
        self.in_flight = 0
        """Requests that the store has not applied yet."""
        self.stalls = 0
        """Times that some process stands still now."""
        self._speed = Random(f"speed {plan.seed} {plan.schedule}")
        self._faults = {(fault.kind, fault.nth): fault for fault in plan.of(Fault)}
        self._outages: list[Outage] = plan.of(Outage)
        self._counts: dict[Kind, int] = {}
        self.harms: list[Harm] = []
        """What struck."""
        self._is_harmful = False
        self._harm_began = 0.0
        self._processes: list[Process | None] = [None] * plan.slots
        self._started = [0] * plan.slots
        self._ahead = [plan.skews[slot] for slot in range(plan.slots)]
        self._waiting_for_process: list[asyncio.Future[None]] = []

    async def open(self) -> None:
        """A new catalog, and all processes started; nothing goes wrong yet."""
        storage = MemoryStorage()
        await create_catalog(storage, ProcessClock(self.loop, 0.0), SeededIds(0), limits=self.plan.limits)
        for path in await storage.list(""):
            self.disk.put_if_absent(path, await storage.get(path), self.loop.time())
        await asyncio.gather(*(self._start(slot) for slot in range(self.plan.slots)))

    def begin_harm(self) -> None:
        """From here on things go wrong as planned. Outages and jumps count from now."""
        self._is_harmful = True
        self._harm_began = self.loop.time()
        for jump in self.plan.of(ClockJump):
            self.loop.call_later(jump.at, self._set_clock, jump, context=self.context)

    def end_harm(self) -> None:
        self._is_harmful = False

    def latency(self) -> float:
        """Of one way of one request: mostly about the plan's, sometimes much more."""
        drawn = self._speed.random()
        return self.plan.latency * (drawn if drawn < 0.95 else 40 * (drawn - 0.95))

    def fault_for(self, slot: int, verb: str, path: str) -> Fault | None:
        """What a request meets that is sent now."""
        if not self._is_harmful:
            return None
        kind = kind_of(verb, path)
        if verb in {"get", "exists"} and path not in self.disk.files:
            kind = Kind.PROBE
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        fault = self._faults.get((kind, number)) or self._outage(slot, verb, kind, number)
        if fault is not None:
            self.harms.append(fault.harm)
        return fault

    def _outage(self, slot: int, verb: str, kind: Kind, number: int) -> Fault | None:
        if verb == "put_if_absent":
            now = self.loop.time() - self._harm_began
            for outage in self._outages:
                if outage.slot == slot and outage.begins <= now < outage.begins + outage.seconds:
                    return Fault(kind, number, outage.harm, outage.late_by)
        return None

    def moment(self, transaction_id: str | None = None) -> Moment:
        states = 0 if transaction_id is None else self.disk.states_of(transaction_id)
        return Moment(self.loop.time(), self.disk.latest, states)

    async def process(self, where: int) -> Process:
        """A running process, preferably the one in slot `where`."""
        while True:
            for step in range(self.plan.slots):
                process = self._processes[(where + step) % self.plan.slots]
                if process is not None:
                    return process
            waiting: asyncio.Future[None] = self.loop.create_future()
            self._waiting_for_process.append(waiting)
            await waiting

    def bury(self, process: Process) -> None:
        """A process has died: another one takes its place after a while."""
        if self._processes[process.slot] is process:
            self._processes[process.slot] = None
        delay = self._speed.random() * MOST_RESTART_S
        self.loop.call_later(delay, self._restart, process.slot, context=self.context)

    def _restart(self, slot: int) -> None:
        self.loop.create_task(self._start(slot), context=self.context.copy())

    async def _start(self, slot: int) -> None:
        while True:
            self._started[slot] += 1
            process = Process(self, slot, self._started[slot], self._ahead[slot])
            try:
                await process.call(lambda catalog: catalog.versions.open())
            except (TreelineError, OSError) as error:
                self.trace.add(self.loop.time(), process.name, "does not start:", repr(error))
                process.life.over = True
                await asyncio.sleep(1.0)
                continue
            except Exception:
                # It died while it started; whoever buried it starts the next one.
                return
            self._processes[slot] = process
            self.trace.add(self.loop.time(), process.name, "runs")
            for waiting in self._waiting_for_process:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting_for_process.clear()
            return

    def _set_clock(self, jump: ClockJump) -> None:
        self._ahead[jump.slot] += jump.seconds
        process = self._processes[jump.slot]
        self.trace.add(self.loop.time(), f"p{jump.slot}", "clock set by", jump.seconds)
        if process is not None:
            process.clock.ahead_s = self._ahead[jump.slot]

    async def settle(self) -> None:
        """Wait until nothing is under way any more: requests on their way have landed, and stalled processes went on."""
        quiet = 0
        while quiet < 3:
            before = len(self.trace)
            await asyncio.sleep(700.0)
            quiet = quiet + 1 if len(self.trace) == before and self.in_flight == self.stalls == 0 else 0

    async def ask(self, where: int, work: Callable[[StoredCatalog], Awaitable[T]], patience: float = 0.0, cancels: bool = False) -> T:
        """A client's request to a running process."""
        return await (await self.process(where)).call(work, patience, cancels)
