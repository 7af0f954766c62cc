"""Upkeep: what a server does by itself, now and then, for each of its roots: give up old versions, then collect files.

Any number of servers may do so at once, and be stopped or killed at any point of it: the next run goes on.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import orjson

from catalog_format.clock import Clock
from catalog_format.ids import Ids
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.maintenance.parts import Parts
from irc_server.error_map import foreseen
from irc_server.roots import Root

Facts = dict[str, object]
_MAX_LOGGED = 500
_MAX_PROBLEMS = 5


class Upkeep:
    """Runs between `start` and `stop`. Whatever goes wrong is told on standard error, and tried again the next time."""

    def __init__(self, roots: Iterable[Root], policy: ExpiryPolicy, every_s: float, clock: Clock, ids: Ids) -> None:
        self._roots = roots
        self._policy = policy
        self._every_s = every_s
        self._clock = clock
        self._ids = ids
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """At once, in the middle of whatever it does."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
            self._running = None

    async def _run(self) -> None:
        while True:
            # Servers that were started together do not stay together.
            await self._clock.sleep(self._every_s * (0.5 + self._ids.jitter()))
            for root in self._roots:
                await self._step(root, "expire", self._expire)
                await self._step(root, "collect", self._collect)

    async def _step(self, root: Root, name: str, work: Callable[[Parts], Awaitable[Facts]]) -> None:
        """One of the two for one root, with a line in the log; a root that holds no catalog yet is passed over."""
        began, line = self._clock.elapsed(), Facts()
        try:
            if not await root.open(init=False):
                return
            line = await work((await root.catalog()).parts)
        except Exception as error:
            line = {"error": f"{type(error).__name__}: {error}"[:_MAX_LOGGED]}
            if not foreseen(error) and not isinstance(error, OSError):
                line["traceback"] = "".join(traceback.format_exception(error))
        ms = round((self._clock.elapsed() - began) * 1000, 2)
        line = {"at": self._clock.now_ms(), "upkeep": name, "root": root.name, "ms": ms, **line}
        sys.stderr.write(orjson.dumps(line).decode(errors="replace") + "\n")

    async def _expire(self, parts: Parts) -> Facts:
        report = await expire(parts, self._policy)
        return {
            "oldest": report.oldest,
            "given_up": report.given_up,
            "pinned": len(report.pinned),
            "dropped_outcomes": report.dropped_outcomes,
            "dropped_answers": report.dropped_answers,
            **_told("problems", report.problems),
        }

    async def _collect(self, parts: Parts) -> Facts:
        report = await collect(parts)
        purge = report.purge
        return {
            "files": report.files,
            "deleted": len(report.deleted),
            "purged": len(purge.tables),
            **_told("purge_problems", purge.problems),
        }


def _told(name: str, problems: list[str]) -> Facts:
    """The first of them, if there are any."""
    return {name: [problem[:_MAX_LOGGED] for problem in problems[:_MAX_PROBLEMS]]} if problems else {}
