"""What servers do by themselves beside their clients' requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from catalog_format.maintenance.expire import ExpiryPolicy
from tests.simulation.actor import Actor
from tests.simulation.plan import Upkeep
from tests.simulation.world import World

MOST_TURNS = 100
"""Clients that wait for days would have it collect for days."""


class ServerUpkeep(Actor):
    """Expires and collects again and again, wherever the server runs."""

    def __init__(self, world: World, number: int, wish: Upkeep) -> None:
        super().__init__(world, f"upkeep {number}")
        self._wish = wish
        self._random = Random(f"upkeep {world.plan.seed} {number}")

    async def run(self, goes_on: Callable[[], bool]) -> None:
        wish = self._wish
        policy = ExpiryPolicy(int(wish.older_than_s * 1000))
        for turn in range(MOST_TURNS):
            await asyncio.sleep(wish.every * (0.5 + self._random.random()))
            if not goes_on():
                return
            self._tell("begins turn", turn)
            if turn % (wish.collects + 1) == 0:
                await self._expire("expire", wish.slot, policy)
            else:
                await self._collect("collect", wish.slot, wish.purge_after_s)
