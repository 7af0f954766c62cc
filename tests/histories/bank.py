"""A bank whose accounts are properties of tables and of a namespace: money moves in transactions, and its total never changes.

As a client, in a process of its own: `python -m tests.histories.bank NAME SEED COUNT LEDGER URL…`. It goes on after COUNT until
there is a file `enough` beside its ledger.
"""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path
from urllib.parse import quote

from tests.histories.history import Level, Outcome
from tests.histories.ledger import Lines
from tests.histories.rest import PREFIX, Json, LostReplyError, Rest, begin, commit_request, namespace_path, roll_back, status_of

NAMESPACE = "bank"
TABLES = ("t0", "t1", "t2")
OPENING_BALANCE = 100
VAULT = f"{NAMESPACE}/cash"
"""The account that is a property of the namespace."""
ACCOUNTS = (*(f"{table}/account-{number}" for table in TABLES for number in range(3)), VAULT)
TOTAL = OPENING_BALANCE * len(ACCOUNTS)


def found(rest: Rest) -> None:
    """Make the bank, with the same balance in every account."""
    rest.insist("POST", f"/v1/{PREFIX}/namespaces", {"namespace": [NAMESPACE], "properties": {"cash": str(OPENING_BALANCE)}})
    for table in TABLES:
        properties = {account.split("/")[1]: str(OPENING_BALANCE) for account in ACCOUNTS if account.startswith(f"{table}/")}
        schema = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
        rest.insist("POST", f"{namespace_path(NAMESPACE)}/tables", {"name": table, "schema": schema, "properties": properties})


def balances(rest: Rest, prefix: str = PREFIX) -> dict[str, int]:
    """Every account, read place by place, in what the prefix stands for."""
    read: dict[str, int] = {}
    for place in (*TABLES, NAMESPACE):
        read |= _balances_in(rest, place, prefix)
    return read


def _balances_in(rest: Rest, place: str, prefix: str) -> dict[str, int]:
    path = namespace_path(NAMESPACE, prefix=prefix) + ("" if place == NAMESPACE else f"/tables/{place}")
    answer = rest.insist("GET", path)
    if not answer.succeeded:
        raise RuntimeError(answer)
    properties = answer.body["properties"] if place == NAMESPACE else answer.body["metadata"]["properties"]
    return {account: int(properties[name]) for account in ACCOUNTS for owner, name in [account.split("/")] if owner == place}


class BankClient:
    """Moves money and counts it."""

    def __init__(self, name: str, seed: int, ledger: Lines, urls: list[str]) -> None:
        self._name = name
        self._rng = random.Random(seed)
        self._ledger = ledger
        self._rest = Rest(urls, self._rng)

    def run(self, count: int, enough: Path) -> None:
        for number in itertools.count():
            if number >= count and enough.exists():
                break
            task = self._rng.choices([self._transfer, self._count_inside, self._count_pinned], [6, 1, 1])[0]
            task(f"{self._name}-{number}")
        self._rest.close()

    def _transfer(self, name: str) -> None:
        """Read two accounts, write both."""
        begin(self._rest, name, self._rng.choice(list(Level)))
        source, target = self._rng.sample(ACCOUNTS, 2)
        amount = self._rng.randint(1, 20)
        prefix = quote(f"{PREFIX}@dtxn_{name}")
        read: dict[str, int] = {}
        for place in sorted({account.split("/")[0] for account in (source, target)}):
            read |= _balances_in(self._rest, place, prefix)
        moves = {source: -amount, target: amount}
        try:
            self._write({account: read[account] + move for account, move in moves.items()}, prefix)
        except LostReplyError:
            # It may be written or not, but nobody will commit it.
            self._ledger.write("ended", name, outcome=Outcome.FAILED, moves={})
            return
        if self._rng.random() < 0.1:
            roll_back(self._rest, name)
            self._ledger.write("ended", name, outcome=Outcome.FAILED, moves={})
            return
        self._ledger.write("committing", name, moves=moves)
        try:
            succeeded = self._rest.once(*commit_request(name)).succeeded
        except LostReplyError:
            self._ledger.write("ended", name, outcome=Outcome.UNKNOWN, moves=moves)
            return
        self._ledger.write("ended", name, outcome=Outcome.COMMITTED if succeeded else Outcome.REFUSED, moves=moves if succeeded else {})

    def _write(self, new: dict[str, int], prefix: str) -> None:
        changes: dict[str, dict[str, str]] = {}
        for account, balance in new.items():
            place, name = account.split("/")
            changes.setdefault(place, {})[name] = str(balance)
        vault = changes.pop(NAMESPACE, None)
        if vault is not None:
            self._post(f"{namespace_path(NAMESPACE, prefix=prefix)}/properties", {"updates": vault})
        table_changes: list[Json] = [
            {
                "identifier": {"namespace": [NAMESPACE], "name": table},
                "requirements": [],
                "updates": [{"action": "set-properties", "updates": properties}],
            }
            for table, properties in changes.items()
        ]
        self._post(f"/v1/{prefix}/transactions/commit", {"table-changes": table_changes})

    def _post(self, path: str, body: Json) -> None:
        answer = self._rest.once("POST", path, body)
        if not answer.succeeded:
            raise RuntimeError(answer)

    def _count_inside(self, name: str) -> None:
        """In a transaction, which needs no commit to see one version."""
        begin(self._rest, name, self._rng.choice(list(Level)))
        counted = balances(self._rest, quote(f"{PREFIX}@dtxn_{name}"))
        roll_back(self._rest, name)
        self._ledger.write("ended", name, total=sum(counted.values()))

    def _count_pinned(self, name: str) -> None:
        """In the version that is the latest now."""
        config = self._rest.insist("GET", f"/v1/config?warehouse={PREFIX}@latest")
        counted = balances(self._rest, quote(config.body["overrides"]["prefix"]))
        self._ledger.write("ended", name, total=sum(counted.values()))


def outcome_of(rest: Rest, name: str) -> Outcome:
    """What the catalog says about a transfer."""
    return {"committed": Outcome.COMMITTED, "refused": Outcome.REFUSED}.get(status_of(rest, name), Outcome.FAILED)


if __name__ == "__main__":
    _, client, seed, count, ledger, *urls = sys.argv
    BankClient(client, int(seed), Lines(Path(ledger)), urls).run(int(count), Path(ledger).with_name("enough"))
