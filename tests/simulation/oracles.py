"""Judging a run: what clients were told, held against what really happened. Each method of `Judge` is one promise.

Nothing here uses the catalog's own rules: states are plain mappings, and what may follow what is said anew, naively.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import orjson

from catalog_format.changes import IsolationLevel, Verb
from catalog_format.keys import ObjectType, identifier_of, table_key, type_of
from catalog_format.maintenance.collect import AGENT as COLLECT
from catalog_format.maintenance.expire import AGENT as EXPIRE
from catalog_format.maintenance.purge import AGENT as PURGE
from tests.simulation.dependencies import Dependencies, Place
from tests.simulation.disk import path_of
from tests.simulation.history import Attempt, Done, Fate, History, Transaction
from tests.simulation.plan import ACCOUNTS, BALANCE, PURSES
from tests.simulation.sights import GivenUp, Sight
from tests.simulation.states import DEFAULT_PROPERTY, IllegalError, Thing, Things, Wanted, apply
from tests.simulation.truth import Log, Record, Truth, Wish

MAINTENANCE = {EXPIRE, COLLECT, PURGE}


class Judge:
    """Holds a history against the truth. `latest_at` tells the newest version at a virtual time."""

    def __init__(self, history: History, truth: Truth, setup_version: int, staleness: float, latest_at: Callable[[float], int]) -> None:
        self._history = history
        self._truth = truth
        self._setup_version = setup_version
        self._staleness = staleness
        self._latest_at = latest_at
        self.wishes: list[Wish] = []
        """Tables that were dropped with purge, known when versions were gone through."""
        self._records = [record for version in truth.versions for record in version.records]
        self._of_transaction: dict[str, list[Record]] = defaultdict(list)
        self._before: dict[Place, Things] = {}
        """The state that each record took effect on."""
        for record in self._records:
            if record.id in truth.logs:
                self._of_transaction[record.id].append(record)

    def complaints(self) -> Iterator[str]:
        """Everything that is wrong, in words."""
        yield from self._history.complaints
        broken = list(self._replay())
        yield from broken
        yield from self._truth.disorder
        yield from self._exactly_once()
        yield from self._reads()
        yield from self._past_moments()
        for transaction in self._history.transactions.values():
            yield from self._transaction(transaction)
        if not broken:
            # The rest compares states, which says little once they are wrong.
            yield from self._bank()
            for transaction in self._history.transactions.values():
                yield from self._isolation(transaction)
            yield from self._serializability()

    # Versions.

    def _replay(self) -> Iterator[str]:
        """What the actions name, asked again in order, gives every version, and nothing else is in it."""
        things: Things = {}
        for version in self._truth.versions[1:]:
            things = dict(things)
            for record in version.records:
                self._before[record.version, record.position] = dict(things)
                wanted = self._wanted(record)
                joins = self._joins(record)
                if [(want.verb, want.key, want.target) for want in wanted] != list(record.actions):
                    yield f"version {version.number}: {record.id} asked for {_words(wanted)}, its record names {record.actions}"
                try:
                    for want in wanted:
                        self._note_wish(version.number, things, want)
                        apply(things, want, joins=joins)
                except IllegalError as error:
                    yield f"version {version.number}, {record.id} {record.agent}: {error}"
                    return
            actual = self._truth.states[version.number]
            for key in sorted(things.keys() | actual.keys()):
                expected, found = things.get(key), actual.get(key)
                if expected is None or found is None or not expected.is_like(found):
                    yield f"version {version.number}: {key!r} should be {expected} after {_names(version.records)}, and is {found}"
                    return
            things = actual

    def _note_wish(self, version: int, things: Things, want: Wanted) -> None:
        gone = things.get(want.key)
        # Of what was changed in the same version nobody knows the file.
        if want.verb is Verb.DROP and want.request.get("purge") and gone is not None and gone.location is not None:
            self.wishes.append(Wish(version, path_of(gone.location)))

    def _wanted(self, record: Record) -> tuple[Wanted, ...]:
        """What a record's transaction asked for; nothing if it was refused."""
        log = self._truth.logs.get(record.id)
        if log is None:
            if record.agent == PURGE:
                return tuple(Wanted(verb, key, request={"purge": True}) for verb, key, _ in record.actions)
            done = self._history.operations.get(record.agent)
            wanted = () if done is None else done.wanted
            if any(want.replaces for want in wanted) and len(record.actions) == 1:
                # Who registers and overwrites does not know whether there is something; applying it will show.
                return tuple(replace(want, verb=record.actions[0][0]) for want in wanted)
            return wanted
        outcome = self._truth.outcome(record.id)
        return tuple(want for _, want, _ in log.changes) if outcome is not None and outcome.committed else ()

    def _joins(self, record: Record) -> bool:
        log = self._truth.logs.get(record.id)
        return log is not None and _joins(log)

    def _bank(self) -> Iterator[str]:
        for names in (ACCOUNTS, PURSES):
            for number in range(self._setup_version, self._truth.latest + 1):
                things = self._truth.states[number]
                total = sum(int(things[table_key(name)].properties["balance"]) for name in names)
                if total != BALANCE * len(names):
                    yield f"version {number}: {names[0][0]} holds {total} instead of {BALANCE * len(names)}"
                    break

    # Plain requests.

    def _exactly_once(self) -> Iterator[str]:
        counts = Counter(record.agent for record in self._records if record.id not in self._truth.logs)
        for done in self._history.operations.values():
            if done.wanted and not _fits(done.fate, counts[done.id]):
                yield f"{done.id} was {done.fate} and took effect {counts[done.id]} times"
        for agent in counts.keys() - self._history.operations.keys() - MAINTENANCE:
            yield f"{agent} took effect, and nobody asked for it"

    def _reads(self) -> Iterator[str]:
        """Every answer was true in some version between the question and the answer."""
        for done in self._history.operations.values():
            for attempt in (*done.looks, *done.attempts):
                first = self._oldest_allowed(attempt) if attempt.version is None else attempt.version
                last = attempt.ended.version if attempt.version is None else attempt.version
                for sight in attempt.sights:
                    if isinstance(sight, GivenUp):
                        if sight.version >= self._truth.versions[attempt.ended.version].oldest:
                            yield f"{done.id} was told that version {sight.version} was given up, and it was not"
                    elif not any(sight.holds(things) for things in self._states(first, last)):
                        yield f"{done.id} was told {sight}, which is true in no version from {first} to {last}"

    def _states(self, first: int, last: int) -> Iterator[Things]:
        """States from version `first` to version `last`; then those between the members of one version's group."""
        yield from self._truth.states[first : last + 1]
        for number in range(first + 1, last + 1):
            things = dict(self._truth.states[number - 1])
            for record in self._truth.versions[number].records:
                try:
                    for want in self._wanted(record):
                        apply(things, want, joins=self._joins(record))
                except IllegalError:
                    break
                yield things

    def _oldest_allowed(self, attempt: Attempt) -> int:
        return max(0, self._latest_at(attempt.began.time - self._staleness)) if self._staleness else attempt.began.version

    def _past_moments(self) -> Iterator[str]:
        created = [version.created_at_ms for version in self._truth.versions]
        for at_ms, found, existed in self._history.times:
            if created[found] > at_ms or (found < existed and created[found + 1] <= at_ms):
                yield f"version {found} was named as the latest at {at_ms}"

    # Transactions.

    def _transaction(self, transaction: Transaction) -> Iterator[str]:
        """One verdict, known to all who were told, and everything in it that was acknowledged."""
        log = self._truth.logs.get(transaction.id)
        records = self._of_transaction[transaction.id]
        if log is None:
            if Fate.ACKNOWLEDGED in transaction.begins:
                yield f"{transaction.id} was begun and has no log"
            return
        yield from log.problems
        yield from self._base(transaction, log)
        outcome = self._truth.outcome(transaction.id)
        if len(records) > 1:
            yield f"{transaction.id} was judged {len(records)} times: {records}"
        if (outcome is None) != (not records):
            yield f"{transaction.id} has {'no ' if outcome is None else 'an '}outcome and {len(records)} records"
        status = log.status
        if outcome is not None and status != ("committed" if outcome.committed else "refused"):
            yield f"{transaction.id} is {status} in its log, and its outcome says committed={outcome.committed}"
        if outcome is None and (status == "refused" or (status == "committed" and _needs_verdict(log))):
            yield f"{transaction.id} is {status} and has no outcome"
        for answer in transaction.answers:
            is_so = status in {"rolled-back", "expired", "refused"} if answer.said == "ended" else answer.said in {status, "unknown"}
            version = records[0].version if records else log.base_version
            if not is_so or (answer.version is not None and answer.version != version):
                yield f"{transaction.id} is {status} (version {version}), and somebody was told {answer}"
        yield from self._inside_exactly_once(transaction, log)
        if status == "refused":
            yield from self._rightly_refused(transaction, log, records)

    def _base(self, transaction: Transaction, log: Log) -> Iterator[str]:
        if transaction.base_version not in {None, log.base_version}:
            yield f"{transaction.id} was begun on version {transaction.base_version}, and its log says {log.base_version}"
        if transaction.began is not None and log.base_version < self._latest_at(transaction.began - self._staleness):
            yield f"{transaction.id} has base version {log.base_version}, which was not the latest any more when it began"

    def _inside_exactly_once(self, transaction: Transaction, log: Log) -> Iterator[str]:
        found = Counter(_identity(want) for _, want, _ in log.changes)
        least: Counter[str] = Counter()
        most: Counter[str] = Counter()
        for done in transaction.operations:
            for want in done.wanted:
                most[_identity(want)] += done.fate is not Fate.REFUSED
                least[_identity(want)] += done.fate is Fate.ACKNOWLEDGED
        for identity in sorted(found.keys() | most.keys()):
            if not least[identity] <= found[identity] <= most[identity]:
                yield (
                    f"{transaction.id}: {identity} stands {found[identity]} times in the log; {least[identity]} were acknowledged, "
                    f"{most[identity]} at most"
                )

    def _rightly_refused(self, transaction: Transaction, log: Log, records: list[Record]) -> Iterator[str]:
        """Somebody else wrote near what it wrote (or anything, where reads count)."""
        near = {identifier_of(key)[0] for _, want, _ in log.changes for key in want.keys}
        appends = log.isolation is IsolationLevel.SNAPSHOT and all(want.only_appends for _, want, _ in log.changes)
        for record in records:
            if self._truth.versions[record.version - 1].oldest > log.base_version:
                # Its base was given up.
                return
            for other in self._between(log.base_version, record):
                touched = {
                    identifier_of(key)[0] for want in self._wanted(other) for key in want.keys if not (appends and want.only_appends)
                }
                if touched & near or (touched and log.isolation is IsolationLevel.SERIALIZABLE):
                    return
            yield f"{transaction.id} was refused, and nobody had changed anything of its own since version {log.base_version}"

    def _between(self, base_version: int, record: Record) -> Iterable[Record]:
        """Records after a base version and before a record."""
        end = (record.version, record.position)
        return (other for other in self._records if base_version < other.version and (other.version, other.position) < end)

    def _isolation(self, transaction: Transaction) -> Iterator[str]:
        """Reads are of the base and of the transaction's own changes; at serializable, of the state it took effect on as well."""
        log = self._truth.logs.get(transaction.id)
        if log is None:
            return
        records = self._of_transaction[transaction.id]
        committed = records[0] if records and log.status == "committed" else None
        base = self._truth.states[log.base_version]
        for done in transaction.operations:
            for attempt in (*done.looks, *done.attempts):
                yield from self._seen(done, attempt, log, base, "its base")
                if committed is not None and log.isolation is IsolationLevel.SERIALIZABLE:
                    before = self._before[committed.place]
                    yield from self._seen(done, attempt, log, before, "the state before its place in the serial order")
        if committed is not None:
            yield from self._lost_updates(log, committed, base)

    def _seen(self, done: Done, attempt: Attempt, log: Log, things: Things, where: str) -> Iterator[str]:
        for sight in attempt.sights:
            if not self._is_so(sight, attempt, log, things):
                yield f"{done.id} in {log.id} ({log.isolation}) was told {sight}, which is not so in {where}"

    def _is_so(self, sight: Sight, attempt: Attempt, log: Log, things: Things) -> bool:
        """Whether it holds of a state under the transaction's own changes, as many as there were during the attempt."""
        moments = range(attempt.began.states, attempt.ended.states + 1)
        return any(sight.holds(log.seen_on(things, states, self._truth)) for states in moments)

    def _lost_updates(self, log: Log, record: Record, base: Things) -> Iterator[str]:
        """Of two who change the same, the second one is refused (first committer wins)."""
        mine: dict[bytes, list[Wanted]] = defaultdict(list)
        for _, want, _ in log.changes:
            for key in want.keys:
                mine[key].append(want)
        before = self._before[record.version, record.position]
        for other in self._between(log.base_version, record):
            for want in self._wanted(other):
                for key in want.keys:
                    gone = key not in base and key not in before
                    restored = _restored(base.get(key), before.get(key))
                    ignored = restored | {"main"} if _joins(log) else restored
                    # A table that was moved away and back is what it was.
                    gone |= want.verb is Verb.MOVE and self._is_same_table(key, log.base_version, record.version - 1)
                    if key in mine and not gone and any(_collide(want, own, ignored) for own in mine[key]):
                        yield f"{log.id} overwrote what {other.id} {other.agent} had done to {key!r} in version {other.version}"

    def _is_same_table(self, key: bytes, one: int, other: int) -> bool:
        before, after = self._truth.tables(one).get(key), self._truth.tables(other).get(key)
        return before is not None and after is not None and before[0] == after[0]

    def _serializability(self) -> Iterator[str]:
        """No cycle of dependencies among what was committed; reads count where the level says so."""
        graph = Dependencies(self._records, self._wanted)
        for transaction in self._history.transactions.values():
            log = self._truth.logs.get(transaction.id)
            for record in self._of_transaction[transaction.id]:
                if log is not None and log.isolation is IsolationLevel.SERIALIZABLE and log.status == "committed":
                    self._add_reads(graph, transaction, log, record)
        cycle = graph.cycle()
        if cycle is not None:
            yield f"not serializable: {cycle}"

    def _add_reads(self, graph: Dependencies, transaction: Transaction, log: Log, record: Record) -> None:
        own = {key for _, want, _ in log.changes for key in want.keys}
        before = self._before[record.place]
        reader, (version, position) = (record.version, record.position), record.place
        for done in transaction.operations:
            for attempt in (*done.looks, *done.attempts):
                for sight in attempt.sights:
                    # What is still so when it takes effect may as well have been read then.
                    is_so = self._is_so(sight, attempt, log, before)
                    seen_at = (version, position - 0.5) if is_so else (log.base_version, math.inf)
                    graph.add_read(reader, sight, seen_at, own)


def _fits(fate: Fate, times: int) -> bool:
    return times == 1 if fate is Fate.ACKNOWLEDGED else times == 0 if fate is Fate.REFUSED else times <= 1


def _needs_verdict(log: Log) -> bool:
    return bool(log.changes) or log.isolation is IsolationLevel.SERIALIZABLE


def _joins(log: Log) -> bool:
    """Whether what it appends may be put on top of what others have appended since its base."""
    return log.isolation is IsolationLevel.SNAPSHOT


def _restored(base: Thing | None, before: Thing | None) -> frozenset[str]:
    """Properties that are what they were; the catalog compares values, so a change that was taken back does not count."""
    if base is None or before is None:
        return frozenset()
    return frozenset(f"property {name}" for name in base.properties if before.properties.get(name) == base.properties[name])


def _collide(one: Wanted, other: Wanted, ignored: frozenset[str]) -> bool:
    """Whether `other` must not take effect after `one`, which it did not know of; `ignored` aspects may meet."""
    if one.replaces and one.verb is Verb.UPDATE and not other.replaces:
        # What is the same after it as before has not been changed by it.
        return False
    if other.replaces:
        return True
    both = bool((one.aspects & other.aspects) - ignored)
    if type_of(one.key) is ObjectType.NAMESPACE and other.verb is Verb.UPDATE:
        # A namespace is its name and its properties: one that was dropped and made again is the same.
        return both
    return both or one.verb is not Verb.UPDATE or other.verb is not Verb.UPDATE


def _identity(want: Wanted) -> str:
    """What tells changes of one transaction apart."""
    request = want.request
    said: object = None
    if want.replaces:
        properties = request["metadata"].get("properties", {})
        said = {name: value for name, value in properties.items() if name != DEFAULT_PROPERTY}
    elif "updates" in request:
        updates = request["updates"]
        said = [_as_asked(update) for update in updates] if isinstance(updates, list) else updates
    verb = "MAKE" if want.replaces else want.verb.name
    return f"{verb} {want.key!r} {want.target!r} {orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()}"


def _as_asked(update: object) -> object:
    """Of a snapshot what stays the same wherever it is put."""
    if isinstance(update, dict) and update["action"] == "add-snapshot":
        return {name: update["snapshot"][name] for name in ("snapshot-id", "summary")}
    return update


def _words(wanted: Iterable[Wanted]) -> str:
    return ", ".join(f"{want.verb.name} {want.key!r}" for want in wanted) or "nothing"


def _names(records: Iterable[Record]) -> str:
    return ", ".join(f"{record.id} {record.agent}" for record in records)
