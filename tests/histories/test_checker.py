"""The checker finds each anomaly in a history that has it, and nothing in one that has none.

Histories are written in a line each: `a+1` appends 1 to a, `a:1,2` reads a as 1, 2. Times are given as `(began, ended)`
where they matter; all others are at the same time.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.histories.checker import check
from tests.histories.history import Append, Level, Outcome, Read, Transaction

SNAPSHOT = Level.SNAPSHOT
ALWAYS = (0, 1_000_000)


def transaction(
    name: str,
    text: str,
    times: tuple[int, int | None] = ALWAYS,
    *,
    outcome: Outcome = Outcome.COMMITTED,
    level: Level = Level.SERIALIZABLE,
) -> Transaction:
    operations: list[Append | Read] = []
    for part in text.split():
        if "+" in part:
            key, value = part.split("+")
            operations.append(Append(key, int(value)))
        else:
            key, values = part.split(":")
            operations.append(Read(key, tuple(int(value) for value in values.split(",") if value)))
    return Transaction(name, tuple(operations), outcome, level, *times)


def names(*history: Transaction, slack_ns: int = 0) -> set[str]:
    return {anomaly.name for anomaly in check(history, slack_ns=slack_ns)}


def final(text: str) -> Transaction:
    """A read after everything else."""
    return transaction("final", text, (2_000_000, 2_000_001))


T = transaction

GOOD = {
    "nothing": (),
    "one after the other": (T("1", "a+1", (0, 1)), T("2", "a:1 a+2", (2, 3)), T("3", "a:1,2", (4, 5))),
    "at once, in some order": (T("1", "a: a+1 b:"), T("2", "a:1 b+2"), T("3", "a:1 b:2")),
    "own appends are read": (T("1", "a: a+1 a:1 a+2 a:1,2"), final("a:1,2")),
    "a failed one is not seen": (T("1", "a+1", outcome=Outcome.FAILED), final("a:")),
    "an unknown one is seen": (T("1", "a+1", (0, None), outcome=Outcome.UNKNOWN), final("a:1")),
    "an unknown one is not seen": (T("1", "a+1", (0, None), outcome=Outcome.UNKNOWN), final("a:")),
    "a refusal with a rival": (T("1", "a: a+1"), T("2", "a: a+2", outcome=Outcome.REFUSED), final("a:1")),
    "a refused reader, at serializable": (T("1", "a+1"), T("2", "a: b+2", outcome=Outcome.REFUSED), final("a:1")),
    "a refused plain commit to two, read one by one": (
        T("1", "a+1 b+1"),
        replace(T("2", "a:1 b: a+2 b+2", outcome=Outcome.REFUSED), one_version=False),
        final("a:1 b:1"),
    ),
    "write skew at snapshot": (T("1", "a: b+1", level=SNAPSHOT), T("2", "b: a+2", level=SNAPSHOT), final("a:2 b:1")),
    "one ordered before another that committed first": (T("1", "a: b: b+1", (0, 9)), T("2", "a+2", (1, 2)), T("3", "a:2", (3, 4))),
    "its rival is seen without it, outside of transactions": (
        T("1", "a: b: b+1", (0, 9)),
        T("2", "a+2", (1, 2)),
        T("3", "b:", (3, 4), level=SNAPSHOT),
        T("4", "a:2 b:", (3, 4), level=SNAPSHOT),
        T("5", "a:2 b: c+5", (3, 4), outcome=Outcome.REFUSED),
        final("a:2 b:1"),
    ),
    "write skew with one at snapshot": (T("1", "a: b+1", level=SNAPSHOT), T("2", "b: a+2"), final("a:2 b:1")),
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD.keys())
def test_good_histories(history: tuple[Transaction, ...]) -> None:
    assert check(history) == []


BAD = {
    "G0": (T("1", "a+1 b+1"), T("2", "a+2 b+2"), final("a:1,2 b:2,1")),
    "G1a": (T("1", "a+1", outcome=Outcome.FAILED), T("2", "a:1")),
    "G1a, refused": (T("1", "a+1", outcome=Outcome.REFUSED), T("2", "a:1"), T("3", "a+3"), final("a:1,3")),
    "G1b": (T("1", "a+1 a+2"), T("2", "a:1"), final("a:1,2")),
    "G1c": (T("1", "a+1 b:2"), T("2", "b+2 a:1")),
    "G-single": (T("1", "a+1 b+1"), T("2", "a:1 b:"), final("a:1 b:1")),
    "G-single, lost update": (T("1", "a: a+1"), T("2", "a: a+2"), final("a:1,2")),
    "G-single, of one refused": (T("1", "a+1 b+1"), T("2", "a:1 b: b+2", outcome=Outcome.REFUSED), final("a:1 b:1")),
    "G-nonadjacent, long fork": (T("1", "a+1"), T("2", "b+2"), T("3", "a:1 b:"), T("4", "a: b:2")),
    "G2, write skew": (T("1", "a: b+1"), T("2", "b: a+2"), final("a:2 b:1")),
    "G2, that only a reader sees": (T("1", "a: b: a+1"), T("2", "b: b+2"), T("3", "a: b:2"), final("a:1 b:2")),
    "G2, one's rival is seen without it": (T("1", "a: b: b+1"), T("2", "a+2"), T("3", "a:2 b:"), final("a:2 b:1")),
    "G2-realtime": (T("1", "a: b: b+1", (0, 9)), T("2", "a+2", (1, 2)), T("3", "b:", (3, 4)), final("a:2 b:1")),
    "lost append": (T("1", "a+1", (0, 1)), final("a:")),
    "duplicate append": (T("1", "a+1"), final("a:1,1")),
    "garbage read": (T("1", "a:7"),),
    "incompatible order": (T("1", "a+1"), T("2", "a+2"), T("3", "a:1,2"), T("4", "a:2,1")),
    "internal": (T("1", "a: a+1 a:"), final("a:1")),
    "internal, another's append in between": (T("1", "a: a+1 a:2,1"), T("2", "a+2"), final("a:2,1")),
    "stale read": (T("1", "a+1", (0, 1)), T("2", "a:", (2, 3)), final("a:1")),
    "stale read, of what a reader had seen": (
        T("1", "a+1", (0, None), outcome=Outcome.UNKNOWN),
        T("2", "a:1", (1, 2)),
        T("3", "a:", (3, 4)),
        final("a:1"),
    ),
    "G0-realtime": (T("1", "a+1", (0, 1)), T("2", "a+2", (2, 3)), final("a:2,1")),
    "G-single-realtime": (T("1", "a+1", (0, 1)), T("2", "b+2", (2, 3)), T("3", "b:2 a:", (0, 9)), final("a:1 b:2")),
    "unjustified refusal": (T("1", "a+1", (0, 1)), T("2", "a:1 a+2", (2, 3), outcome=Outcome.REFUSED), final("a:1")),
    "unjustified refusal, for a read at snapshot": (
        T("1", "a+1"),
        T("2", "a: b+2", outcome=Outcome.REFUSED, level=SNAPSHOT),
        final("a:1"),
    ),
}


@pytest.mark.parametrize(("name", "history"), [(name.partition(",")[0], history) for name, history in BAD.items()], ids=BAD.keys())
def test_bad_histories(name: str, history: tuple[Transaction, ...]) -> None:
    found = names(*history)
    assert name in found
    # The milder names are not given to what has a worse one.
    assert not (name == "G2" and found & {"G0", "G1c", "G-single", "G-nonadjacent"})
    assert not (name.startswith("G-") and found & {"G0", "G1c"})


def test_half_of_an_unknown_transaction_is_lost() -> None:
    half = T("1", "a+1 b+1", (0, None), outcome=Outcome.UNKNOWN)
    assert names(half, T("2", "a:1", (1, 2)), final("a:1 b:")) >= {"lost append"}


def test_readers_at_snapshot_see_commits_in_one_order() -> None:
    reader, other = T("3", "a:1 b:", level=SNAPSHOT), T("4", "a: b:2", level=SNAPSHOT)
    assert names(T("1", "a+1", level=SNAPSHOT), T("2", "b+2", level=SNAPSHOT), reader, other) == {"G-nonadjacent"}


def test_staleness_that_was_allowed() -> None:
    history = (T("1", "a+1", (0, 10)), T("2", "a:", (15, 20)), final("a:1"))
    assert names(*history, slack_ns=6) == set()
    assert names(*history, slack_ns=4) >= {"stale read"}


def test_a_witness_names_the_shortest_cycle() -> None:
    skew = (T("1", "a: b+1"), T("2", "b: a+2"), T("3", "b:1 c+3"), T("4", "c:3 a:2"), final("a:2 b:1 c:3"))
    assert [anomaly.details for anomaly in check(skew)] in (["1 -rw-> 2 -rw-> 1"], ["2 -rw-> 1 -rw-> 2"])


def test_histories_of_a_serial_database_are_good_and_become_bad_when_one_append_moves() -> None:
    """Many transactions on lists that are really kept, one after the other; then two appends of one list change places."""
    rng = random.Random(5)
    lists: dict[str, list[int]] = {key: [] for key in "abcd"}
    history = []
    for number in range(300):
        operations: list[Append | Read] = []
        for key in rng.sample(sorted(lists), 3):
            operations.append(Read(key, tuple(lists[key])))
            if rng.random() < 0.5:
                lists[key].append(number)
                operations.append(Append(key, number))
        history.append(Transaction(str(number), tuple(operations), began=10 * number, ended=10 * number + 5))
    assert check(history) == []
    one, two = lists["a"][40:42]
    swap = {one: two, two: one}

    def moved(operation: Append | Read) -> Append | Read:
        if isinstance(operation, Append) or operation.key != "a":
            return operation
        return Read("a", tuple(swap.get(value, value) for value in operation.values))

    wrong = [replace(entry, operations=tuple(moved(operation) for operation in entry.operations)) for entry in history]
    assert {"G0-realtime", "stale read"} <= names(*wrong)


def test_a_value_is_appended_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        check([T("1", "a+1"), T("2", "a+1")])
