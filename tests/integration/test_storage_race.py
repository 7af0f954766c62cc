"""Eight processes want the same name, a thousand times: exactly one gets it each time, and what it wrote is what is there."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from catalog_format.storage import open_storage
from tests.support.s3_server import S3Server

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = pytest.mark.processes

PROCESSES = 8
ROUNDS = 1000


def _name(turn: int) -> str:
    return f"vn/{turn:064b}"


def _body(process: int, turn: int) -> bytes:
    return b"%d writes %d;" % (process, turn) * 200


def _race(process: int, url: str, options: Mapping[str, str], together: Barrier, wins: Connection) -> None:
    """Try every name, each at the same moment as all others; send back the turns that this process won."""

    async def run() -> list[int]:
        store = open_storage(url, options)
        won = []
        for turn in range(ROUNDS):
            # Blocks the event loop, which has nothing else to do.
            together.wait(60)
            if await store.put_if_absent(_name(turn), _body(process, turn)):
                won.append(turn)
        await store.close()
        return won

    wins.send(asyncio.run(run()))
    wins.close()


def _race_all(url: str, options: Mapping[str, str]) -> dict[int, list[int]]:
    """The turns won, by process."""
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(PROCESSES)
    pipes = [spawn.Pipe(duplex=False) for _ in range(PROCESSES)]
    racers = [spawn.Process(target=_race, args=(number, url, options, together, pipe[1])) for number, pipe in enumerate(pipes)]
    for racer in racers:
        racer.start()
    for _, far_end in pipes:
        far_end.close()
    try:
        # A racer that dies closes its end: this fails then, and does not wait.
        return {number: near_end.recv() for number, (near_end, _) in enumerate(pipes)}
    finally:
        for racer, (near_end, _) in zip(racers, pipes, strict=True):
            racer.join(60)
            near_end.close()
            racer.close()


async def _check(url: str, options: Mapping[str, str], won: dict[int, list[int]]) -> None:
    winners = Counter(turn for turns in won.values() for turn in turns)
    assert {turn: count for turn, count in winners.items() if count != 1} == {}
    assert len(winners) == ROUNDS
    assert sum(1 for turns in won.values() if turns) > 1, "one process won everything: that was no race"
    store = open_storage(url, options)
    assert await store.list("vn") == sorted(_name(turn) for turn in range(ROUNDS))
    for process, turns in won.items():
        for turn in turns:
            assert await store.get(_name(turn)) == _body(process, turn)
    await store.close()


def test_local(tmp_path: Path) -> None:
    won = _race_all(str(tmp_path), {})
    asyncio.run(_check(str(tmp_path), {}, won))
    assert sum(1 for _ in (tmp_path / "vn").iterdir()) == ROUNDS, "a temporary file stayed"


@pytest.mark.s3
def test_s3(s3_server: S3Server, s3_bucket: str) -> None:
    url = f"s3://{s3_bucket}/race"
    won = _race_all(url, s3_server.options)
    asyncio.run(_check(url, s3_server.options, won))
