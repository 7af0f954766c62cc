"""A client that reads lists and appends to them in every way there is, and writes down what it was told.

As a process of its own: `python -m tests.histories.list_client NAME SEED COUNT LEDGER KEY[,KEY…] URL…`. It goes on after COUNT
until there is a file `enough` beside its ledger.
"""

from __future__ import annotations

import itertools
import random
import sys
import uuid
from pathlib import Path
from urllib.parse import quote

from tests.histories import lists
from tests.histories.history import Append, Level, Outcome, Read
from tests.histories.ledger import Ledger
from tests.histories.rest import PREFIX, Answer, Json, LostReplyError, Rest, begin, commit_request, inside, roll_back, status_of

TRANSACTION_MARK = "t"
"""How names of transactions end; those of plain requests end otherwise."""
_ACTIVE_KEYS = 4
_OUTCOMES = {"committed": Outcome.COMMITTED, "refused": Outcome.REFUSED}


class GoneError(Exception):
    """The transaction does not take this any more."""


class ListClient:
    """Does transactions and requests, one after the other."""

    def __init__(self, name: str, seed: int, ledger: Ledger, keys: list[str], urls: list[str]) -> None:
        self._name = name
        self._rng = random.Random(seed)
        self._ledger = ledger
        self._keys = keys
        self._rest = Rest(urls, self._rng)
        self._values = iter(range(1, 1 << 30))
        self._first_value = int(name.removeprefix("c")) * 1_000_000

    def run(self, count: int, enough: Path) -> None:
        """At least `count`, and more until `enough` exists."""
        kinds = {
            self._serializable: 4,
            self._snapshot: 3,
            self._plain_append: 2,
            self._plain_append_to_two: 1,
            self._plain_read: 2,
            self._pinned_read: 1,
        }
        for number in itertools.count():
            if number >= count and enough.exists():
                break
            # Lists that are long enough are left behind; clients go on at about the same pace.
            first = min(number, count) * max(len(self._keys) - _ACTIVE_KEYS, 0) // count
            active = self._keys[first : first + _ACTIVE_KEYS]
            self._rng.choices(list(kinds), list(kinds.values()))[0](f"{self._name}-{number}", active)
        self._rest.close()

    # In transactions.

    def _serializable(self, name: str, keys: list[str]) -> None:
        self._transaction(name + TRANSACTION_MARK, keys, Level.SERIALIZABLE)

    def _snapshot(self, name: str, keys: list[str]) -> None:
        self._transaction(name + TRANSACTION_MARK, keys, Level.SNAPSHOT)

    def _transaction(self, name: str, keys: list[str], level: Level) -> None:
        self._ledger.began(name, level)
        begin(self._rest, name, level)
        operations: list[Append | Read] = []
        try:
            for key in self._rng.choices(keys, k=self._rng.randint(2, 4)):
                if self._rng.random() < 0.5:
                    operations += self._append_inside(name, key)
                else:
                    operations.append(Read(key, lists.values_in(self._load_inside(name, key))))
        except GoneError:
            self._ledger.ended(name, Outcome.FAILED, operations)
            return
        if self._rng.random() < 0.1:
            roll_back(self._rest, name)
            self._ledger.ended(name, Outcome.FAILED, operations)
            return
        self._ledger.committing(name, operations)
        self._ledger.ended(name, self._commit(name), operations)

    def _commit(self, name: str) -> Outcome:
        """Sometimes a lost reply is left at that, sometimes it is asked for again."""
        request = commit_request(name)
        try:
            answer = self._rest.once(*request)
        except LostReplyError:
            if self._rng.random() < 0.5:
                return Outcome.UNKNOWN
            answer = self._rest.insist(*request)
        if answer.succeeded:
            return Outcome.COMMITTED
        return _OUTCOMES.get(status_of(self._rest, name), Outcome.FAILED)

    def _load_inside(self, name: str, key: str) -> Json:
        return _loaded(self._rest.insist("GET", lists.table_path(key, *inside(name))))

    def _append_inside(self, name: str, key: str) -> list[Append | Read]:
        """Read, append, and read again; an append whose reply was lost is looked for before it is repeated."""
        value = self._next_value()
        table = self._load_inside(name, key)
        before = Read(key, lists.values_in(table))
        while value not in lists.values_in(table):
            try:
                answer = self._rest.once("POST", lists.table_path(key, *inside(name)), lists.append_to(table, value))
            except LostReplyError:
                table = self._load_inside(name, key)
                continue
            # After a conflict it is there already, from an attempt that came late.
            table = answer.body if answer.succeeded else self._load_inside(name, key)
        return [before, Append(key, value), Read(key, lists.values_in(table))]

    # Outside of transactions.

    def _plain_append(self, name: str, keys: list[str]) -> None:
        self._append_plainly(name, [self._rng.choice(keys)])

    def _plain_append_to_two(self, name: str, keys: list[str]) -> None:
        self._append_plainly(name, self._rng.sample(keys, min(2, len(keys))))

    def _append_plainly(self, name: str, keys: list[str]) -> None:
        """The requirements tie the commit to what was read, so the whole is one transaction, if it commits."""
        self._ledger.began(name, Level.SERIALIZABLE, one_version=len(keys) == 1)
        operations: list[Append | Read] = []
        bodies: dict[str, Json] = {}
        for key in keys:
            table = _loaded(self._rest.insist("GET", lists.table_path(key)))
            value = self._next_value()
            operations += [Read(key, lists.values_in(table)), Append(key, value)]
            bodies[key] = lists.append_to(table, value)
        path, body = lists.table_path(keys[0]), bodies[keys[0]]
        if len(keys) > 1:
            path = f"/v1/{PREFIX}/transactions/commit"
            body = {
                "table-changes": [{"identifier": {"namespace": [lists.NAMESPACE], "name": key}, **change} for key, change in bodies.items()]
            }
        self._ledger.committing(name, operations)
        repeatable = self._rng.random() < 0.5
        headers = {"User-Agent": name}
        if repeatable:
            headers["Idempotency-Key"] = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        try:
            answer = (self._rest.insist if repeatable else self._rest.once)("POST", path, body, headers)
        except LostReplyError:
            self._ledger.ended(name, Outcome.UNKNOWN, operations)
            return
        if not answer.succeeded and answer.status != 409:
            raise RuntimeError(f"{name}: {answer}")
        self._ledger.ended(name, Outcome.COMMITTED if answer.succeeded else Outcome.REFUSED, operations)

    def _plain_read(self, name: str, keys: list[str]) -> None:
        key = self._rng.choice(keys)
        self._ledger.began(name, Level.SNAPSHOT)
        table = _loaded(self._rest.insist("GET", lists.table_path(key)))
        self._ledger.ended(name, Outcome.COMMITTED, [Read(key, lists.values_in(table))])

    def _pinned_read(self, name: str, keys: list[str]) -> None:
        """All active lists in one version, the latest when it began."""
        self._ledger.began(name, Level.SNAPSHOT)
        config = self._rest.insist("GET", f"/v1/config?warehouse={PREFIX}@latest")
        prefix = quote(config.body["overrides"]["prefix"])
        tables = {key: _loaded(self._rest.insist("GET", lists.table_path(key, prefix=prefix))) for key in keys}
        self._ledger.ended(name, Outcome.COMMITTED, [Read(key, lists.values_in(table)) for key, table in tables.items()])

    def _next_value(self) -> int:
        return self._first_value + next(self._values)


def _loaded(answer: Answer) -> Json:
    if answer.status == 404:
        raise GoneError(answer.body)
    if not answer.succeeded:
        raise RuntimeError(answer)
    return answer.body


if __name__ == "__main__":
    _, name, seed, count, ledger, keys, *urls = sys.argv
    ListClient(name, int(seed), Ledger(Path(ledger)), keys.split(","), urls).run(int(count), Path(ledger).with_name("enough"))
