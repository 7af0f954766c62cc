"""A seed that never ends is named as failed, and the seeds after it are run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from catalog_format.committer import Committer
from tests.simulation.__main__ import turn
from tests.simulation.mutant import replaced


async def _busy(*arguments: Any) -> None:
    while True:
        pass


async def _for_ever_ready(*arguments: Any) -> None:
    while True:
        with suppress(Exception):
            await asyncio.sleep(0)


@pytest.mark.parametrize("spin", [_busy, _for_ever_ready])
def test_a_seed_that_spins_is_named(spin: Callable[..., Awaitable[None]]) -> None:
    with replaced(Committer, "_settle", spin):
        figures, failures = turn(5, operations=20, end=7, limit_s=0.3)
    assert [seed for seed, _ in failures] == [5, 6]
    assert all(complaint.startswith("not done after 0.3 s, at ") for _, complaint in failures), failures
    assert not figures
    # The limit ends with its seed.
    assert turn(5, operations=20, end=7, limit_s=60.0)[1] == []
