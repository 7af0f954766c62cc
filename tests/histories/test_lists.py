"""Lists under fire: clients and servers are killed, replies are lost, requests come late, and no history shows an anomaly."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.histories import lists
from tests.histories.arena import Clients, fight, open_arena
from tests.histories.audit import audit_versions, final_reads, resolve
from tests.histories.checker import check
from tests.histories.history import Outcome
from tests.histories.ledger import read_ledgers
from tests.histories.list_client import TRANSACTION_MARK
from tests.histories.rest import Rest
from tests.support.lossy_proxy import Fate, Weather
from tests.support.s3_server import S3Server
from tests.support.servers import Place

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

ROUGH = Weather(request_lost=0.01, reply_lost=0.02, late=0.01, late_seconds=0.5)


def fight_over_lists(
    place: Place,
    folder: Path,
    *,
    seed: int,
    clients: int,
    count: int,
    keys: int,
    servers: int,
    blows: list[str],
    every: int,
    staleness_ms: int = 0,
) -> tuple[Counter[Outcome], int]:
    """Run it, check everything, and say how the transactions ended, and how many that write were ordered backwards."""
    environment = {"TREELINE_MAX_STALENESS_MS": str(staleness_ms)}
    rng = random.Random(seed)
    names = [f"k{number}" for number in range(keys)]
    with open_arena(place, folder, servers=servers, weather=ROUGH, seed=seed, environment=environment) as arena:
        with ExitStack() as stack:
            lists.create([stack.enter_context(closing(Rest([url], rng))) for url in arena.urls], names)

        def arguments(name: str, client_seed: int, ledger: Path) -> list[str]:
            return [name, str(client_seed), str(count), str(ledger), ",".join(names), *arena.urls]

        workers = Clients("tests.histories.list_client", arena, rng, arguments)
        fight(arena, workers, rng, number=clients, blows=blows, every=every)
        arena.calm()
        with closing(Rest([server.url for server in arena.servers], rng)) as direct:
            history = resolve(direct, read_ledgers(folder), TRANSACTION_MARK)
            history += final_reads(direct, names)
        assert arena.blows == Counter(blows)
        assert all(arena.fates[fate] for fate in Fate), "the weather was too fine to show anything"
    assert check(history, slack_ns=staleness_ms * 1_000_000) == []
    backwards = asyncio.run(audit_versions(place, history))
    return Counter(transaction.outcome for transaction in history), backwards


def test_on_a_local_folder(tmp_path: Path) -> None:
    outcomes, backwards = fight_over_lists(
        Place(str(tmp_path / "catalog")),
        tmp_path,
        seed=1,
        clients=4,
        count=60,
        keys=12,
        servers=2,
        blows=["server", "client", "server"],
        every=40,
    )
    assert outcomes[Outcome.COMMITTED] > 80
    assert outcomes[Outcome.REFUSED] > 10
    assert backwards > 0


@pytest.mark.s3
def test_on_s3(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = f"lists-{uuid.uuid4().hex}"
    s3_server.create_bucket(bucket)
    outcomes, _ = fight_over_lists(
        Place(f"s3://{bucket}/catalog", s3_server),
        tmp_path,
        seed=2,
        clients=3,
        count=25,
        keys=8,
        servers=2,
        blows=["server", "client"],
        every=20,
    )
    assert outcomes[Outcome.COMMITTED] > 20
    assert outcomes[Outcome.REFUSED] > 1


def test_where_staleness_is_allowed(tmp_path: Path) -> None:
    """What is read is never older than allowed, and everything else holds as without."""
    fight_over_lists(
        Place(str(tmp_path / "catalog")),
        tmp_path,
        seed=3,
        clients=3,
        count=40,
        keys=8,
        servers=2,
        blows=["server"],
        every=40,
        staleness_ms=100,
    )


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 104))
def test_long_profile(tmp_path: Path, seed: int) -> None:
    outcomes, backwards = fight_over_lists(
        Place(str(tmp_path / "catalog")),
        tmp_path,
        seed=seed,
        clients=5,
        count=300,
        keys=60,
        servers=3,
        blows=["server", "client", "server"] * 4,
        every=90,
    )
    assert outcomes[Outcome.COMMITTED] > 500
    assert backwards > 10
