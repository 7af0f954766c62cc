"""Several servers on one catalog, and `kill -9`: what was acknowledged is there once, nothing is half done."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from catalog_format.catalog import StoredCatalog, open_catalog
from catalog_format.maintenance.check import check
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.scope import NewTable
from tests.support.catalogs import SCHEMA
from tests.support.commit_worker import TABLES, Worker
from tests.support.s3_server import S3Server
from tests.support.servers import Place, RunningServer, running_server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

ENOUGH = 40
"""Commits that must be acknowledged between two blows."""


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "local":
        return Place(str(tmp_path / "catalog"))
    server: S3Server = request.getfixturevalue("s3_server")
    bucket = f"crash-{uuid.uuid4().hex}"
    server.create_bucket(bucket)
    return Place(f"s3://{bucket}/catalog", server)


async def opened(place: Place, *, init: bool = False) -> StoredCatalog:
    options = {} if place.s3 is None else dict(place.s3.options)
    return await open_catalog(place.root, init=init, options=options)


async def prepare(place: Place) -> None:
    catalog = await opened(place, init=True)
    await catalog.main.create_namespace(("ns",), {})
    for table in TABLES:
        await catalog.main.create_table(("ns", table), NewTable(SCHEMA))
    await catalog.close()


def read_ledgers(folder: Path) -> dict[str, str]:
    """Commit to outcome; a commit whose line was never written is unknown, too, and is in no ledger."""
    lines = [line.split() for path in folder.glob("*.ledger") for line in path.read_text().splitlines()]
    return {line[0]: line[1] for line in lines if len(line) == 2}


async def audit(place: Place, ledgers: dict[str, str]) -> Counter[str]:
    """Hold the ledgers against the catalog."""
    catalog = await opened(place)
    try:
        committed: Counter[str] = Counter()
        for version in range(1, await catalog.latest_version() + 1):
            for row in (await catalog.versions.read(version)).actions:
                committed[pb.TransactionRecord.FromString(row.value or b"").agent] += 1
        properties: list[dict[str, Any]] = [
            orjson.loads((await catalog.main.load_table(("ns", table))).metadata)["properties"] for table in TABLES
        ]
        assert properties[0] == properties[1], "a commit of two tables reached one of them"
        for commit, outcome in ledgers.items():
            times = committed[commit]
            assert times <= 1, f"{commit} took effect {times} times"
            if outcome == "acknowledged":
                assert times == 1, f"{commit} was acknowledged and is lost"
            if outcome == "refused":
                assert times == 0, f"{commit} was refused and took effect"
            assert (commit in properties[0]) == (times == 1)
        report = await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
        assert report.problems == []
        return Counter(ledgers.values())
    finally:
        await catalog.close()


@contextmanager
def working(workers: list[Worker]) -> Iterator[None]:
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop.set()
        for thread in threads:
            thread.join()


def wait_for(workers: list[Worker], more: int) -> None:
    """Until so many further commits were acknowledged."""
    goal = sum(worker.acknowledged for worker in workers) + more
    pulse = threading.Event()
    for _ in range(6000):
        if sum(worker.acknowledged for worker in workers) >= goal:
            return
        pulse.wait(0.01)
    raise AssertionError(f"fewer than {more} commits were acknowledged within a minute")


def test_servers_killed_in_the_middle_of_commits(place: Place, tmp_path: Path) -> None:
    asyncio.run(prepare(place))
    with ExitStack() as stack:
        servers: list[RunningServer] = [stack.enter_context(running_server(place, tmp_path / f"server{n}.log")) for n in range(3)]
        workers = [Worker(f"w{n}", tmp_path / f"w{n}.ledger", [server.url for server in servers]) for n in range(4)]
        with working(workers):
            for victim in range(3):
                wait_for(workers, ENOUGH)
                servers[victim].kill()
                servers[victim] = stack.enter_context(running_server(place, tmp_path / f"again{victim}.log"))
                for worker in workers:
                    worker.urls[victim] = servers[victim].url
            wait_for(workers, ENOUGH)
    outcomes = asyncio.run(audit(place, read_ledgers(tmp_path)))
    assert outcomes["acknowledged"] >= 4 * ENOUGH


def test_a_client_killed_in_the_middle_of_commits(place: Place, tmp_path: Path) -> None:
    asyncio.run(prepare(place))
    with running_server(place, tmp_path / "server.log") as server:
        ledger = tmp_path / "dying.ledger"
        ledger.touch()
        command = [sys.executable, "-m", "tests.support.commit_worker", "dying", str(ledger), server.url]
        with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as client:
            pulse = threading.Event()
            while len(ledger.read_text().splitlines()) < ENOUGH:
                assert client.poll() is None, "the client ended by itself"
                pulse.wait(0.01)
            client.kill()
        worker = Worker("living", tmp_path / "living.ledger", [server.url])
        with working([worker]):
            wait_for([worker], 5)
    assert asyncio.run(audit(place, read_ledgers(tmp_path)))["acknowledged"] >= ENOUGH + 5


def test_a_transaction_outlives_the_client_and_the_server_it_was_begun_on(place: Place, tmp_path: Path) -> None:
    asyncio.run(prepare(place))

    def update(server: RunningServer, table: str, transaction: str, value: str) -> None:
        body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {transaction: value}}]}
        answer = httpx.post(f"{server.api}/namespaces/sys%1Fdtxns%1Fdtxn_{transaction}%1Fns/tables/{table}", json=body)
        assert answer.status_code == 200, answer.text

    def properties(server: RunningServer, table: str) -> dict[str, str]:
        found: dict[str, str] = httpx.get(f"{server.api}/namespaces/ns/tables/{table}").json()["metadata"]["properties"]
        return found

    with ExitStack() as stack:
        first, second = (stack.enter_context(running_server(place, tmp_path / f"server{n}.log")) for n in range(2))
        for transaction in ("kept", "dropped"):
            begun = httpx.post(f"{first.api}/namespaces", json={"namespace": ["sys", "dtxns", f"dtxn_{transaction}"]})
            assert begun.status_code == 200, begun.text
            update(first, "a", transaction, "1")
        first.kill()
        update(second, "b", "kept", "1")
        done = httpx.post(f"{second.api}/namespaces/sys%1Fdtxns%1Fdtxn_kept/properties", json={"updates": {"commit": "true"}})
        assert done.status_code == 200, done.text
        assert httpx.delete(f"{second.api}/namespaces/sys%1Fdtxns%1Fdtxn_dropped").status_code == 204
        third = stack.enter_context(running_server(place, tmp_path / "third.log"))
        for server in (second, third):
            assert [properties(server, table).get("kept") for table in TABLES] == ["1", "1"]
            assert [properties(server, table).get("dropped") for table in TABLES] == [None, None]
            assert httpx.get(f"{server.api}/namespaces?parent=sys%1Fdtxns").json()["namespaces"] == []


def test_servers_that_start_on_an_empty_place_share_one_catalog(place: Place, tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(running_server(place, tmp_path / f"server{n}.log")) for n in range(3)]
        answers = [httpx.post(f"{server.api}/namespaces", json={"namespace": ["same"]}).status_code for server in servers]
    assert sorted(answers) == [200, 409, 409]
