"""What a server does by itself: old versions are given up and files collected, whatever goes wrong in between."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from catalog_format import paths
from catalog_format.node_codec import decode_root
from catalog_format.storage import MemoryStorage
from tests.server.harness import Client, done, make_namespace, make_table, new_root, path, properties_of, serving, serving_over, setting
from tests.support.catalogs import ManualClock
from tests.support.servers import Place, running_server

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
ON = {"expire_older_than_hours": 24, "keep_versions": 2, "maintenance_interval_minutes": 60}


class WakingClock(ManualClock):
    """Who sleeps for minutes is woken when the test lets enough time pass; pauses between attempts just pass."""

    def __init__(self) -> None:
        super().__init__()
        self.naps: list[float] = []
        self._sleepers: dict[asyncio.Event, float] = {}
        self._changed = asyncio.Condition()

    async def sleep(self, seconds: float) -> None:
        if seconds < _MINUTE_S:
            return await super().sleep(seconds)
        woken = asyncio.Event()
        async with self._changed:
            self.naps.append(seconds)
            self._sleepers[woken] = self.elapsed() + seconds
            self._changed.notify_all()
        try:
            await woken.wait()
        finally:
            self._sleepers.pop(woken, None)

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        for woken, until in list(self._sleepers.items()):
            if until <= self.elapsed():
                del self._sleepers[woken]
                woken.set()

    async def all_asleep(self, count: int = 1) -> None:
        """Wait until so many sleep."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._sleepers) == count)

    @property
    def sleeping(self) -> int:
        return len(self._sleepers)


class WatchedStore(MemoryStorage):
    """Refuses to list, or holds on before a root becomes a stub, when told to."""

    failure: Exception | None = None
    hold: asyncio.Event | None = None

    async def list(self, prefix: str) -> list[str]:
        if self.failure is not None:
            raise self.failure
        return await super().list(prefix)

    async def replace(self, path: str, data: bytes) -> None:
        if self.hold is not None and path.startswith("vn/") and path != paths.LATEST_HINT:
            self.hold.set()
            await asyncio.Event().wait()
        await super().replace(path, data)


async def stubs(store: MemoryStorage) -> list[int]:
    roots = [path for path in await store.list("vn") if len(path) > 60]
    numbers = sorted(paths.number_of(path.rpartition("/")[2]) for path in roots)
    return [number for number in numbers if decode_root(number, await store.get(paths.root_path(number))).stub]


async def fill(client: Client, clock: ManualClock, commits: int = 8) -> None:
    """Versions 0 to 2, then as many as told, a minute apart."""
    await make_namespace(client, "ns")
    await make_table(client, ["ns"], "t")
    for number in range(commits):
        clock.advance(_MINUTE_S)
        done(await client.post(path("ns", table="t"), json=setting(n=str(number))))


@asynccontextmanager
async def kept_up(store: MemoryStorage, clock: WakingClock, **settings: Any) -> AsyncIterator[Client]:
    async with serving_over(store, clock=clock, **(ON | settings)) as client:
        await clock.all_asleep()
        yield client


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in capsys.readouterr().err.splitlines()]


async def test_old_versions_are_given_up_and_files_collected(capsys: pytest.CaptureFixture[str]) -> None:
    store, clock = MemoryStorage(), WakingClock()
    async with kept_up(store, clock) as client:
        await fill(client, clock)
        metadata = [path for path in await store.list("data") if path.endswith(".metadata.json")]
        assert lines(capsys) == []
        # What was the latest within the last day stays, the two newest versions at least: 9 and 10 of 10.
        clock.advance(2 * _DAY_S)
        await clock.all_asleep()
        assert await stubs(store) == list(range(9))
        expired, collected = lines(capsys)
        assert expired.keys() == {"at", "upkeep", "root", "ms", "oldest", "given_up", "pinned", "dropped_outcomes", "dropped_answers"}
        assert (expired["upkeep"], expired["root"], expired["oldest"], expired["given_up"], expired["pinned"]) == (
            "expire",
            "lake",
            9,
            9,
            0,
        )
        assert (collected["upkeep"], collected["root"]) == ("collect", "lake")
        left = [path for path in await store.list("data") if path.endswith(".metadata.json")]
        assert collected["deleted"] >= len(metadata) - len(left) == 7
        assert (await properties_of(client, ["ns"], "t"))["n"] == "7"
        assert (await client.get("/v1/config", params={"warehouse": "lake@v8"})).status_code == 404
        done(await client.get("/v1/config", params={"warehouse": "lake@v9"}))
        clock.advance(2 * _HOUR_S)
        await clock.all_asleep()
        assert [line["upkeep"] for line in lines(capsys)] == ["expire", "collect"]
    assert clock.sleeping == 0


async def test_tables_that_were_dropped_with_purge_are_purged_in_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    store, clock = MemoryStorage(), WakingClock()
    async with kept_up(store, clock) as client:
        await fill(client, clock)
        done(await client.delete(path("ns", table="t"), params={"purgeRequested": "true"}), 204)
        await make_table(client, ["ns"], "kept")
        [last] = [name for name in await store.list("data") if "/00008-" in name]
        [kept] = [name for name in await store.list("data") if "/kept-" in name]
        whole, runs = await store.get(last), []
        # Versions that show it are given up after a day, and dropped tables purged after three; then the file is repaired.
        for hours, data in ((30, whole), (48, b"damaged"), (2, whole), (2, whole)):
            if await store.exists(last):
                await store.replace(last, data)
            clock.advance(hours * _HOUR_S)
            await clock.all_asleep()
            runs.append([line for line in lines(capsys) if line["upkeep"] == "collect"][-1])
        assert [line["purged"] for line in runs] == [0, 0, 1, 0]
        assert ["purge_problems" in line for line in runs] == [False, True, False, False]
        waits, why = runs[1]["purge_problems"]
        assert waits.startswith("Table ns.t waits: ") and why.startswith("Nothing is purged while it is not known what table ns.t holds")
        assert await store.list("data") == [kept]


async def test_nothing_is_given_up_unless_somebody_says_so() -> None:
    store, clock = MemoryStorage(), WakingClock()
    async with serving_over(store, clock=clock, maintenance_interval_minutes=1, keep_versions=1) as client:
        await fill(client, clock)
        clock.advance(1000 * _DAY_S)
        done(await client.get("/v1/namespaces"))
        assert clock.naps == [] and await stubs(store) == []


async def test_servers_that_start_together_take_turns() -> None:
    url, clock = new_root(), WakingClock()
    async with serving(url, clock=clock, **ON) as one, serving(url, clock=clock, **ON) as other:
        await clock.all_asleep(2)
        first, second = clock.naps
        assert first != second and all(_HOUR_S / 2 <= nap < 1.5 * _HOUR_S for nap in clock.naps)
        await fill(one, clock)
        # And if they do not, it does no harm.
        clock.advance(2 * _DAY_S)
        await clock.all_asleep(2)
        assert (await properties_of(other, ["ns"], "t"))["n"] == "7"
        assert (await one.get("/v1/config", params={"warehouse": "lake@v1"})).status_code == 404


@pytest.mark.parametrize("failure", [OSError("the store is away"), RuntimeError("a defect")], ids=["store", "defect"])
async def test_what_goes_wrong_is_told_and_tried_again(failure: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    store, clock = WatchedStore(), WakingClock()
    async with kept_up(store, clock) as client:
        await fill(client, clock)
        store.failure = failure
        clock.advance(2 * _DAY_S)
        await clock.all_asleep()
        failed = lines(capsys)
        assert [(line["upkeep"], line["error"]) for line in failed] == [
            (name, f"{type(failure).__name__}: {failure}") for name in ("expire", "collect")
        ]
        assert ["traceback" in line for line in failed] == [isinstance(failure, RuntimeError)] * 2
        assert (await properties_of(client, ["ns"], "t"))["n"] == "7"
        store.failure = None
        clock.advance(2 * _HOUR_S)
        await clock.all_asleep()
        assert await stubs(store) == list(range(9))


async def test_a_version_that_cannot_be_given_up_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    store, clock = MemoryStorage(), WakingClock()
    async with kept_up(store, clock) as client:
        await fill(client, clock)
        await store.delete(paths.root_path(4))
        clock.advance(2 * _DAY_S)
        await clock.all_asleep()
        [expired, _] = lines(capsys)
        assert (len(expired["problems"]), expired["given_up"]) == (1, 8) and paths.root_path(4) in expired["problems"][0]
        clock.advance(2 * _HOUR_S)
        await clock.all_asleep()
        assert all("problems" not in line for line in lines(capsys))


async def test_a_server_that_stops_in_the_middle_leaves_the_rest_to_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    store, clock = WatchedStore(), WakingClock()
    async with kept_up(store, clock) as client:
        await fill(client, clock)
        store.hold = asyncio.Event()
        clock.advance(2 * _DAY_S)
        await store.hold.wait()
    assert lines(capsys) == [] and clock.sleeping == 0
    store.hold = None
    assert await stubs(store) == []
    async with kept_up(store, clock) as client:
        clock.advance(2 * _HOUR_S)
        await clock.all_asleep()
        assert await stubs(store) == list(range(10)), "the first run raised what is kept, which is a version of its own"
        assert (await properties_of(client, ["ns"], "t"))["n"] == "7"


async def test_a_root_without_a_catalog_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    clock = WakingClock()
    roots = [f"none={new_root()}", f"some={new_root()}"]
    async with serving(clock=clock, roots=roots, init=False, **ON) as client:
        done(await client.post("/v1/some/namespaces", json={"namespace": ["sys"]}))
        await clock.all_asleep()
        clock.advance(2 * _HOUR_S)
        await clock.all_asleep()
        assert [(line["upkeep"], line["root"]) for line in lines(capsys)] == [("expire", "some"), ("collect", "some")]


@pytest.mark.processes
def test_a_server_that_waits_for_its_next_run_stops_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        running_server(Place(str(tmp_path / "lake")), log, environment={"TREELINE_EXPIRE_OLDER_THAN_HOURS": "24"}) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        client.get("/v1/config").raise_for_status()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
    assert "Traceback" not in log.read_text()
