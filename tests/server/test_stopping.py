"""A server that is told to stop finishes what it took."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from tests.server.harness import path, setting
from tests.support.catalogs import SCHEMA
from tests.support.servers import Place, running_server

pytestmark = pytest.mark.processes
_WRITERS = 8


async def _write_until_stopped(url: str, stop: asyncio.Event, number: int) -> list[str]:
    """Commit one property after the other; the names of those that were acknowledged."""
    acknowledged: list[str] = []
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        while True:
            name = f"w{number}-{len(acknowledged)}"
            try:
                answer = await client.post(path("ns", table="t"), json=setting(**{name: "1"}))
            except httpx.TransportError:
                # Nobody listens any more, or the connection was closed between two requests.
                assert stop.is_set()
                return acknowledged
            assert answer.status_code == 200, answer.text
            acknowledged.append(name)


async def test_commits_under_way_are_finished_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "lake"))
    with running_server(place, tmp_path / "first.log") as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            (await client.post("/v1/namespaces", json={"namespace": ["ns"]})).raise_for_status()
            (await client.post(f"{path('ns')}/tables", json={"name": "t", "schema": SCHEMA})).raise_for_status()
            stop = asyncio.Event()
            writers = [asyncio.create_task(_write_until_stopped(server.url, stop, number)) for number in range(_WRITERS)]
            committed = 0
            while committed < 40:
                metadata = (await client.get(path("ns", table="t"))).json()["metadata"]
                committed = len(metadata["properties"])
        stop.set()
        server.process.send_signal(signal.SIGTERM)
        acknowledged = [name for names in await asyncio.gather(*writers) for name in names]
        assert await asyncio.to_thread(server.process.wait, 30) == 0
    assert "Traceback" not in (tmp_path / "first.log").read_text()
    with running_server(place, tmp_path / "second.log") as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            properties = (await client.get(path("ns", table="t"))).json()["metadata"]["properties"]
        assert set(acknowledged) <= properties.keys()
        # A commit may have been finished and its answer not have reached a client that was cut off; one for each at most.
        unheard = {name for name in properties if name.startswith("w")} - set(acknowledged)
        assert len(unheard) <= _WRITERS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_stops_at_once_and_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with running_server(Place(str(tmp_path / "lake")), tmp_path / "log") as server, httpx.Client(base_url=server.url) as client:
        client.get("/v1/config").raise_for_status()
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
