"""An event loop without a machine below it: time is virtual, and which callback runs next is drawn from a seed.

Processes of the simulated world share the loop. Each has a `Life`, carried by the context of everything that it runs, so a
process can stop in the middle of anything: what belongs to a dead one is dropped, what belongs to a stalled one waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import warnings
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any


class Life:
    """Whether a process runs, stands still, or is over."""

    __slots__ = ("over", "parked")

    def __init__(self) -> None:
        self.over = False
        self.parked: list[asyncio.Handle] | None = None
        """While it stands still: what waits for it to go on."""


LIFE: ContextVar[Life | None] = ContextVar("LIFE", default=None)
"""The process that a callback belongs to; None for the world itself (clients, the store, the plan)."""


class StuckError(Exception):
    """Nothing can ever happen any more, and the run is not done."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs one callback at a time; ready ones in an order drawn from `random`, timers in the order of their virtual times."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.set_debug(False)
        self.unhandled: list[str] = []
        """What nobody caught."""
        self._draw = random.random
        self._now = 0.0
        self._waiting: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_set = 0
        self._tasks: list[tuple[asyncio.Task[Any], Life | None]] = []
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._take_note)

    def time(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._waiting.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_set += 1
        heapq.heappush(self._timers, (when, self._timers_set, timer))
        return timer

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """What a thread would do takes no time, at some later moment."""
        done: asyncio.Future[Any] = self.create_future()

        def run() -> None:
            if done.cancelled():
                return
            try:
                done.set_result(func(*args))
            except Exception as error:
                done.set_exception(error)

        self.call_soon(run)
        return done

    def mishaps(self) -> list[str]:
        """Errors that nobody caught or asked for."""
        # What a process left undone when it died is no mishap.
        living = (task for task, life in self._tasks if life is None or not life.over)
        forgotten = [task for task in living if task.done() and task._log_traceback]  # type: ignore[attr-defined]
        return self.unhandled + [f"nobody asked what became of {task.get_coro()}: {task.exception()!r}" for task in forgotten]

    def stall(self, life: Life) -> None:
        """Let a process stand still until `resume`."""
        if life.parked is None:
            life.parked = []

    def resume(self, life: Life) -> None:
        if life.parked is not None:
            self._waiting += life.parked
            life.parked = None

    def abandon(self) -> None:
        """Close the loop, and with it everything that still runs on it."""
        self.close()
        self._waiting.clear()
        self._timers.clear()
        with warnings.catch_warnings():
            # Tasks that were made and had no turn yet; what stopped in the middle may object to being closed there.
            warnings.filterwarnings("ignore", r"coroutine .* was never awaited", RuntimeWarning)
            for task, _ in self._tasks:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    with contextlib.suppress(BaseException):
                        task.get_coro().close()  # type: ignore[union-attr]
            self._tasks.clear()

    def _run_once(self) -> None:
        waiting, draw = self._waiting, self._draw
        while not self._stopping:  # type: ignore[attr-defined]
            # What is let go here may end a coroutine, which may ask for a callback: not while one is being taken out.
            handle = last = None
            if not waiting:
                self._advance()
            chosen = int(draw() * len(waiting))
            handle = waiting[chosen]
            last = waiting.pop()
            if chosen < len(waiting):
                waiting[chosen] = last
            if handle._cancelled:  # type: ignore[attr-defined]
                continue
            life = handle._context.get(LIFE)  # type: ignore[attr-defined]
            if life is not None:
                if life.over:
                    continue
                if life.parked is not None:
                    life.parked.append(handle)
                    continue
            handle._run()  # type: ignore[attr-defined]

    def _advance(self) -> None:
        """On to the earliest timer, and to all that are due at the same moment."""
        timers, waiting = self._timers, self._waiting
        while timers and (timers[0][2].cancelled() or not waiting or timers[0][0] <= self._now):
            when, _, timer = heapq.heappop(timers)
            if not timer.cancelled():
                self._now = max(self._now, when)
                waiting.append(timer)
        if not waiting:
            raise StuckError(f"nothing is left to happen after {self._now:.3f} s")

    def _make_task(self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None) -> asyncio.Task[Any]:
        # Kept, lest the collector of garbage decides when something that stopped in the middle is closed.
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, context=context)
        self._tasks.append((task, (context or copy_context()).get(LIFE)))
        return task

    def _take_note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.unhandled.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""


def context_of(life: Life) -> Context:
    """A context in which everything belongs to a process."""
    context = copy_context()
    context.run(LIFE.set, life)
    return context
