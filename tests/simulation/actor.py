"""What everybody has who asks processes for something and writes down what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from catalog_format.catalog import StoredCatalog
from catalog_format.errors import CorruptFileError
from catalog_format.keys import Identifier
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.maintenance.purge import PurgeReport
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from tests.simulation.disk import UNDERTAKING
from tests.simulation.history import Fate, fate_of
from tests.simulation.world import World


class Actor:
    """Somebody beside the processes."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name

    async def _read(self, what: object, where: int, work: Callable[[StoredCatalog], Awaitable[object]], patience: float = 0.0) -> object:
        """An answer that is not held against anything here; None after an error that clients have to live with."""
        try:
            return await self._world.ask(where, work, patience)
        except Exception as error:
            self._tell(what, "fails:", repr(error)[:160])
            self._fate(error, what)
            return None

    async def _expire(self, what: object, where: int, policy: ExpiryPolicy, patience: float = 0.0) -> None:
        await self._read(what, where, lambda catalog: expire(catalog.parts, policy), patience)

    async def _collect(self, what: object, where: int, purge_after_s: float, patience: float = 0.0) -> None:
        async def work(catalog: StoredCatalog) -> None:
            UNDERTAKING.set(self._world.disk.begin())
            report = await collect(catalog.parts, purge_patience_ms=int(purge_after_s * 1000))
            self._note(what, report.purge)

        await self._read(what, where, work, patience)

    async def _purge_now(self, what: object, where: int, table: Identifier, patience: float = 0.0) -> None:
        async def work(catalog: StoredCatalog) -> None:
            UNDERTAKING.set(self._world.disk.begin(table))
            self._note(what, await purge_now(catalog.parts, await plan_purge(catalog.parts, table)))

        await self._read(what, where, work, patience)

    def _note(self, what: object, report: PurgeReport) -> None:
        self._world.history.purged += len(report.tables)
        self._tell(what, "purged", [".".join(table) for table in report.tables], report.problems)

    def _fate(self, error: Exception, *where: object) -> Fate:
        """What an error says; a complaint if nobody should ever meet it."""
        fate = fate_of(error)
        # Every damage is the plan's: without any, nothing can be found damaged.
        unfounded = isinstance(error, CorruptFileError) and not self._world.plan.damages
        if fate is None or unfounded:
            self._world.history.complaints.append(f"{', '.join(map(str, where))}: {error!r}")
        return fate or Fate.UNKNOWN

    def _tell(self, what: object, *details: object) -> None:
        self._world.trace.add(self._world.loop.time(), self._name, str(what), *details)
