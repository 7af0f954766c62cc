"""How a client has its work done: in a transaction of the catalog, or table by table with retries."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, RESTError, ValidationException
from pyiceberg.expressions import BooleanExpression

from perf.joining.tally import Tally

NAMESPACE: Final = "perf"
ATTEMPTS: Final = 5
"""PyIceberg's own, as it is shipped (`commit.retry.num-retries` is 4)."""
ROUNDS: Final = 5
"""So often work is begun anew until it is given up: 25 attempts."""
_FIRST_WAIT_S: Final = 0.1
"""Doubled with each attempt of a round, as PyIceberg does it."""


class GaveUp(Exception):
    """No attempt was the last one that was needed."""


class OutOfTime(Exception):
    """The measurement is over."""


class Tables(ABC):
    """The operations that work is made of. `effects`: what they did that counts afterwards."""

    def __init__(self, catalog: Catalog, namespace: str) -> None:
        self._catalog = catalog
        self._namespace = namespace
        self.effects: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    def read(self, table: str, where: BooleanExpression) -> pa.Table:
        return self._catalog.load_table(f"{self._namespace}.{table}").scan(row_filter=where).to_arrow()

    def append(self, table: str, rows: pa.Table, effect: str | None = None) -> None:
        self._done(lambda: self._catalog.load_table(f"{self._namespace}.{table}").append(rows), effect)

    def delete(self, table: str, where: BooleanExpression, effect: str | None = None) -> None:
        self._done(lambda: self._catalog.load_table(f"{self._namespace}.{table}").delete(where), effect)

    def update(self, table: str, where: BooleanExpression, change: Callable[[pa.Table], pa.Table], effect: str | None = None) -> pa.Table:
        """Put rows in the place of those that were read; what was read."""

        def once() -> pa.Table:
            loaded = self._catalog.load_table(f"{self._namespace}.{table}")
            before = loaded.scan(row_filter=where).to_arrow()
            loaded.overwrite(change(before), overwrite_filter=where)
            return before

        return self._done(once, effect)

    @abstractmethod
    def _done(self, once: Callable[[], pa.Table | None], effect: str | None) -> pa.Table:
        """Carry out one operation; its result."""


Work = Callable[[Tables], None]


class Session(ABC):
    """A client's way of working, with what it counted."""

    isolation: str | None = None

    def __init__(self, catalog: Catalog, random: Random) -> None:
        self.catalog = catalog
        self.tally = Tally()
        self.random = random
        self.ends = float("inf")
        """After this nothing is begun anew."""
        # PyIceberg tells nobody of the attempts that it repeats by itself.
        catalog._session.hooks["response"].append(self._answered)  # type: ignore[attr-defined]

    def run(self, kind: str, work: Work) -> None:
        """Until it has gone through, is given up, or the time is over."""
        began = time.monotonic()
        try:
            self._carry_out(work)
        except GaveUp:
            self.tally.gave_up.append(time.monotonic())
        except OutOfTime:
            self.tally.unfinished += 1
        else:
            ended = time.monotonic()
            self.tally.done.append((ended, ended - began, kind))

    @abstractmethod
    def _carry_out(self, work: Work) -> None: ...

    @abstractmethod
    def _decides(self, method: str, path: str) -> bool:
        """Whether a request asks the catalog to commit."""

    def _answered(self, response: object, *_args: object, **_kwargs: object) -> None:
        request = response.request  # type: ignore[attr-defined]
        if not self._decides(request.method, request.path_url):
            return
        self.tally.decisions.append((time.monotonic(), response.elapsed.total_seconds(), response.status_code))  # type: ignore[attr-defined]
        if response.status_code == 409:  # type: ignore[attr-defined]
            message = response.json()["error"]["message"]  # type: ignore[attr-defined]
            self.tally.reasons[_without_names(message)] += 1


class TableByTable(Session):
    """Each operation is a commit of its own. PyIceberg repeats it; if that was not enough, its caller refreshes and does it again."""

    def _carry_out(self, work: Work) -> None:
        tables = _RetriedTables(self.catalog, NAMESPACE, self)
        try:
            work(tables)
        finally:
            self.tally.effects += tables.effects
            self.tally.seen += tables.seen

    def _decides(self, method: str, path: str) -> bool:
        return method == "POST" and f"/namespaces/{NAMESPACE}/tables/" in path

    def repeated(self, once: Callable[[], pa.Table | None]) -> pa.Table | None:
        for _ in range(ROUNDS):
            try:
                return once()
            except (CommitFailedException, ValidationException):
                # To stop now would leave work half done, which is not the catalog's fault.
                self.tally.raised.append(time.monotonic())
        raise GaveUp


class _RetriedTables(Tables):
    def __init__(self, catalog: Catalog, namespace: str, session: TableByTable) -> None:
        super().__init__(catalog, namespace)
        self._session = session

    def _done(self, once: Callable[[], pa.Table | None], effect: str | None) -> pa.Table:
        result = self._session.repeated(once)
        if effect is not None:
            self.effects[effect] += 1
        return result


class InTransactions(Session):
    """All of a piece of work in one transaction of the catalog; when that is refused, all of it in a new one."""

    isolation = "snapshot"

    def _carry_out(self, work: Work) -> None:
        for attempt in range(ATTEMPTS * ROUNDS):
            if attempt % ATTEMPTS:
                wait = _FIRST_WAIT_S * 2 ** (attempt % ATTEMPTS - 1)
                time.sleep(wait + self.random.uniform(0, wait / 10))
            with self._transaction() as (name, tables):
                work(tables)
                if self._commit(name):
                    self.tally.effects += tables.effects
                    self.tally.seen += tables.seen
                    return
            if time.monotonic() > self.ends:
                raise OutOfTime
        raise GaveUp

    @contextmanager
    def _transaction(self) -> Iterator[tuple[str, Tables]]:
        name = f"sys.dtxns.dtxn_{uuid.uuid4().hex}"
        self.catalog.create_namespace(name, {"isolation-level": self.isolation or ""})
        yield name, _OwnTables(self.catalog, f"{name}.{NAMESPACE}")

    def _commit(self, name: str) -> bool:
        before = len(self.tally.decisions)
        try:
            self.catalog.update_namespace_properties(name, updates={"commit": "true"})
        except RESTError:
            if self.tally.decisions[before:] and self.tally.decisions[-1][2] == 409:
                return False
            raise
        return True

    def _decides(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/properties")


class Serializable(InTransactions):
    """The same at the other level."""

    isolation = "serializable"


class _OwnTables(Tables):
    """Nobody else writes them: what a transaction does inside is not refused."""

    def _done(self, once: Callable[[], pa.Table | None], effect: str | None) -> pa.Table:
        if effect is not None:
            self.effects[effect] += 1
        return once()


def _without_names(message: str) -> str:
    """What is left of a refusal when ids, files and numbers are taken out, to be counted."""
    rule = message.rpartition("changed meanwhile: ")[2]
    words = ["…" if "/" in word or any(letter.isdigit() for letter in word) else word for word in rule.split()]
    return " ".join(words)[:160]
