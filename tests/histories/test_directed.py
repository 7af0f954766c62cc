"""Histories step by step: what each level lets happen does happen, and the checker sees it through the server."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.histories import lists
from tests.histories.audit import final_reads
from tests.histories.checker import check
from tests.histories.history import Append, Level, Outcome, Read, Transaction
from tests.histories.rest import Rest, begin, commit_request, inside, status_of
from tests.support.servers import Place, running_server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

HOUR_MS = 3_600_000


class Session:
    """One transaction, which remembers what it did."""

    def __init__(self, rest: Rest, name: str, level: Level) -> None:
        self._rest = rest
        self._name = name
        self._level = level
        self._operations: list[Append | Read] = []
        self._began = time.monotonic_ns()
        begin(rest, name, level)

    def read(self, key: str) -> None:
        self._operations.append(Read(key, lists.values_in(self._load(key))))

    def append(self, key: str, value: int) -> None:
        answer = self._rest.once("POST", lists.table_path(key, *inside(self._name)), lists.append_to(self._load(key), value))
        assert answer.succeeded, answer
        self._operations.append(Append(key, value))

    def commit(self) -> Transaction:
        self._rest.once(*commit_request(self._name))
        outcome = Outcome(status_of(self._rest, self._name))
        return Transaction(self._name, tuple(self._operations), outcome, self._level, self._began, time.monotonic_ns())

    def _load(self, key: str) -> dict[str, object]:
        return self._rest.once("GET", lists.table_path(key, *inside(self._name))).body


def client_of(stack: ExitStack, place: Place, log: Path, environment: Mapping[str, str]) -> Rest:
    """A client of a server of its own."""
    server = stack.enter_context(running_server(place, log, environment=environment))
    client = Rest([server.url], random.Random(0))
    stack.callback(client.close)
    return client


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[Rest]:
    with ExitStack() as stack:
        client = client_of(stack, Place(str(tmp_path / "catalog")), tmp_path / "server.log", {})
        lists.create([client], ["a", "b"])
        yield client


def names(history: list[Transaction]) -> set[str]:
    return {anomaly.name for anomaly in check(history)}


@pytest.mark.parametrize("level", list(Level))
def test_write_skew(rest: Rest, level: Level) -> None:
    one, two = Session(rest, "1", level), Session(rest, "2", level)
    one.read("a")
    one.append("b", 1)
    two.read("b")
    two.append("a", 2)
    history = [one.commit(), two.commit(), *final_reads(rest, ["a", "b"])]
    assert check(history) == [], "nothing that the level forbids"
    skewed = level is Level.SNAPSHOT
    assert [transaction.outcome for transaction in history[:2]] == [Outcome.COMMITTED, Outcome.COMMITTED if skewed else Outcome.REFUSED]
    assert names([transaction.at(Level.SERIALIZABLE) for transaction in history]) == ({"G2"} if skewed else set())


@pytest.mark.parametrize("level", list(Level))
def test_a_reader_that_sees_a_write_skew_by_itself(rest: Rest, level: Level) -> None:
    """Without the reader the two writers could be put in an order; with it they cannot."""
    one = Session(rest, "1", level)
    one.read("a")
    one.read("b")
    two = Session(rest, "2", level)
    two.append("b", 2)
    history = [two.commit()]
    reader = Session(rest, "3", level)
    reader.read("a")
    reader.read("b")
    history.append(reader.commit())
    one.append("a", 1)
    history += [one.commit(), *final_reads(rest, ["a", "b"])]
    assert check(history) == []
    strict = [transaction.at(Level.SERIALIZABLE) for transaction in history]
    assert names(strict) == ({"G2"} if level is Level.SNAPSHOT else set())
    assert history[2].outcome is (Outcome.COMMITTED if level is Level.SNAPSHOT else Outcome.REFUSED)


@pytest.mark.parametrize("level", list(Level))
def test_a_lost_update_at_neither_level(rest: Rest, level: Level) -> None:
    one, two = Session(rest, "1", level), Session(rest, "2", level)
    one.append("a", 1)
    two.append("a", 2)
    history = [one.commit(), two.commit(), *final_reads(rest, ["a"])]
    assert [transaction.outcome for transaction in history[:2]] == [Outcome.COMMITTED, Outcome.REFUSED]
    assert check(history) == []


def test_a_stale_read_where_it_is_allowed_and_nowhere_else(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "catalog"))
    with ExitStack() as stack:
        here = client_of(stack, place, tmp_path / "fresh.log", {})
        lists.create([here], ["a"])
        there = client_of(stack, place, tmp_path / "stale.log", {"TREELINE_MAX_STALENESS_MS": str(HOUR_MS)})
        assert final_reads(there, ["a"])[0].operations == (Read("a", ()),)
        writer = Session(here, "1", Level.SNAPSHOT)
        writer.append("a", 1)
        history = [writer.commit()]
        assert check([*history, *final_reads(here, ["a"])]) == []
        history += final_reads(there, ["a"])
    # Nobody has read the append, so it looks lost.
    assert names(history) == {"lost append"}
    assert check(history, slack_ns=HOUR_MS * 1_000_000) == []
