"""A bank under fire: whatever is killed or lost, every version and every reader sees the same total."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.histories import bank
from tests.histories.arena import Clients, fight, open_arena
from tests.histories.history import Outcome
from tests.histories.ledger import read_lines
from tests.histories.rest import PREFIX, Rest
from tests.support.lossy_proxy import Fate, Weather
from tests.support.s3_server import S3Server
from tests.support.servers import Place

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

ROUGH = Weather(request_lost=0.005, reply_lost=0.02, late=0.005, late_seconds=0.5)


def fight_over_money(
    place: Place, folder: Path, *, seed: int, clients: int, count: int, servers: int, blows: list[str], every: int
) -> Counter[Outcome]:
    """Run it, check everything, and say how the transfers ended."""
    rng = random.Random(seed)
    with open_arena(place, folder, servers=servers, weather=ROUGH, seed=seed) as arena:
        with closing(Rest(arena.urls, rng)) as rest:
            bank.found(rest)
        first = latest_version(arena.servers[0].url)

        def arguments(name: str, client_seed: int, ledger: Path) -> list[str]:
            return [name, str(client_seed), str(count), str(ledger), *arena.urls]

        workers = Clients("tests.histories.bank", arena, rng, arguments)
        fight(arena, workers, rng, number=clients, blows=blows, every=every)
        arena.calm()
        assert arena.blows == Counter(blows)
        assert arena.fates[Fate.REPLY_LOST], "the weather was too fine to show anything"
        with closing(Rest([server.url for server in arena.servers], rng)) as direct:
            outcomes, expected = settle(direct, folder)
            assert bank.balances(direct) == expected
            for version in range(first, latest_version(arena.servers[0].url) + 1):
                counted = bank.balances(direct, f"{PREFIX}@v{version}")
                assert sum(counted.values()) == bank.TOTAL, f"version {version}: {counted}"
    return outcomes


def settle(rest: Rest, folder: Path) -> tuple[Counter[Outcome], dict[str, int]]:
    """Outcomes as the clients knew them, held against what the catalog says, and the balances that follow."""
    outcomes: Counter[Outcome] = Counter()
    expected = dict.fromkeys(bank.ACCOUNTS, bank.OPENING_BALANCE)
    for name, events in ((name, events) for path in folder.glob("*.ledger") for name, events in read_lines(path).items()):
        ended = events.get("ended")
        if ended is not None and "total" in ended:
            assert ended["total"] == bank.TOTAL, f"{name} counted {ended['total']}"
            continue
        outcome = Outcome.UNKNOWN if ended is None else Outcome(ended["outcome"])
        outcomes[outcome] += 1
        said = bank.outcome_of(rest, name)
        assert outcome in {said, Outcome.UNKNOWN, Outcome.FAILED}, f"{name} was {outcome}, and is {said}"
        assert said is not Outcome.COMMITTED or outcome is not Outcome.FAILED, f"{name} committed by itself"
        if said is Outcome.COMMITTED:
            for account, move in (ended or events["committing"])["moves"].items():
                expected[account] += move
    return outcomes, expected


def latest_version(url: str) -> int:
    version: int = httpx.get(f"{url}/readyz").json()["versions"][PREFIX]
    return version


def test_on_a_local_folder(tmp_path: Path) -> None:
    outcomes = fight_over_money(
        Place(str(tmp_path / "catalog")), tmp_path, seed=1, clients=4, count=60, servers=2, blows=["server", "client", "server"], every=40
    )
    assert outcomes[Outcome.COMMITTED] > 50
    assert outcomes[Outcome.REFUSED] > 5


@pytest.mark.s3
def test_on_s3(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = f"bank-{uuid.uuid4().hex}"
    s3_server.create_bucket(bucket)
    outcomes = fight_over_money(
        Place(f"s3://{bucket}/catalog", s3_server), tmp_path, seed=2, clients=3, count=20, servers=2, blows=["server", "client"], every=15
    )
    assert outcomes[Outcome.COMMITTED] > 10


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 104))
def test_long_profile(tmp_path: Path, seed: int) -> None:
    outcomes = fight_over_money(
        Place(str(tmp_path / "catalog")),
        tmp_path,
        seed=seed,
        clients=5,
        count=300,
        servers=3,
        blows=["server", "client", "server"] * 4,
        every=90,
    )
    assert outcomes[Outcome.COMMITTED] > 300
