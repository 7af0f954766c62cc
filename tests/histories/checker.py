"""Finds what no database of the promised isolation would show: a pure function of a history of list-append transactions.

Phenomena are those of Adya (Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed Transactions,
1999), inferred from lists as Elle does (Kingsbury and Alvaro, VLDB 2020). Levels may be mixed, as in Adya's mixed
serialization graph: what a snapshot transaction reads obliges nobody, nor what was read by one that did not commit. They may see
a serializable transaction's rival without it, although it is ordered before that; but never two anti-dependencies apart from each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.histories.graph import DependencyGraph, Kind, Node, Step
from tests.histories.history import Append, Level, Outcome, Read, Transaction

FAR = 1 << 80
"""Later than any moment."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    name: str
    details: str

    def __str__(self) -> str:
        return f"{self.name}: {self.details}"


def check(history: Iterable[Transaction], *, slack_ns: int = 0) -> list[Anomaly]:
    """Every anomaly that was found, one witness for each kind of cycle.

    `slack_ns`: by how much reads may lag behind what was acknowledged. Raises `ValueError` if a value is appended twice.
    """
    return _Check(list(history), slack_ns).run()


@dataclass(slots=True)
class _Seen:
    """A transaction as others can know it."""

    transaction: Transaction
    reads: dict[str, tuple[int, ...]]
    """What it read before its own appends, by key."""
    known_at: int
    """A moment when it had surely committed."""

    @property
    def name(self) -> str:
        return self.transaction.name


@dataclass(slots=True)
class _Check:
    history: list[Transaction]
    slack_ns: int
    anomalies: list[Anomaly] = field(default_factory=list)
    writers: dict[tuple[str, int], Transaction] = field(default_factory=dict)
    orders: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def run(self) -> list[Anomaly]:
        for transaction in self.history:
            for append in transaction.appends:
                if (append.key, append.value) in self.writers:
                    raise ValueError(f"{append.value} is appended to {append.key} twice")
                self.writers[append.key, append.value] = transaction
        reads = {transaction.name: self._external_reads(transaction) for transaction in self.history}
        if len(reads) != len(self.history):
            raise ValueError("two transactions have one name")
        self.orders = self._version_orders(reads)
        for name, lists in reads.items():
            for key, values in lists.items():
                self._check_values(name, key, values)
        seen = self._seen(reads)
        self._check_real_time(seen)
        self._check_refusals(seen)
        self._check_cycles(self._graph(seen), seen)
        return self.anomalies

    def _found(self, name: str, details: str) -> None:
        self.anomalies.append(Anomaly(name, details))

    # What single transactions and lists show.

    def _external_reads(self, transaction: Transaction) -> dict[str, tuple[int, ...]]:
        """What a transaction read of others; its own appends must follow it in every later read."""
        first: dict[str, tuple[int, ...]] = {}
        own: dict[str, tuple[int, ...]] = defaultdict(tuple)
        for operation in transaction.operations:
            key = operation.key
            if isinstance(operation, Append):
                own[key] += (operation.value,)
                continue
            cut = len(operation.values) - len(own[key])
            others = operation.values[: max(cut, 0)]
            if operation.values[len(others) :] != own[key] or first.setdefault(key, others) != others:
                before = f"{_shown(first.get(key, ()))} and its own {_shown(own[key])}"
                self._found("internal", f"{transaction.name} read {key} as {_shown(operation.values)} after {before}")
        return first

    def _version_orders(self, reads: Mapping[str, Mapping[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
        """The longest list that was read of each key; the others must be beginnings of it."""
        orders: dict[str, tuple[int, ...]] = {}
        for lists in reads.values():
            for key, values in lists.items():
                orders[key] = max(orders.get(key, ()), values, key=len)
        for name, lists in reads.items():
            for key, values in lists.items():
                if orders[key][: len(values)] != values:
                    self._found("incompatible order", f"{name} read {key} as {_shown(values)}, others as {_shown(orders[key])}")
        return orders

    def _check_values(self, name: str, key: str, values: tuple[int, ...]) -> None:
        for value, times in Counter(values).items():
            writer = self.writers.get((key, value))
            if times > 1:
                self._found("duplicate append", f"{name} read {value} {times} times in {key}")
            if writer is None:
                self._found("garbage read", f"{name} read {value} in {key}, which nobody appended")
            elif writer.outcome in {Outcome.FAILED, Outcome.REFUSED} and writer.name != name:
                self._found("G1a", f"{name} read {value} in {key}, of {writer.name}, which is {writer.outcome}")
        last = self.writers.get((key, values[-1])) if values else None
        if last is not None and last.name != name:
            of_last = [append.value for append in last.appends if append.key == key]
            if missing := [value for value in of_last if value not in values]:
                self._found(
                    "G1b", f"{name} read {key} as {_shown(values)}, in the middle of {last.name}, which appends {_shown(missing)} too"
                )

    # Who committed, and what that means for those that came later.

    def _seen(self, reads: Mapping[str, dict[str, tuple[int, ...]]]) -> list[_Seen]:
        """All that committed or was seen to; what the others read counts as if they had only read, at snapshot."""
        observed_at: dict[str, int] = {}
        for transaction in self.history:
            for key, values in reads[transaction.name].items():
                for value in values:
                    writer = self.writers.get((key, value))
                    if writer is not None and transaction.ended is not None and transaction.ended < observed_at.get(writer.name, FAR):
                        observed_at[writer.name] = transaction.ended
        observed = {self.writers[key, value].name for key, order in self.orders.items() for value in order if (key, value) in self.writers}
        seen = []
        for transaction in self.history:
            known_at = min(FAR if transaction.ended is None else transaction.ended, observed_at.get(transaction.name, FAR))
            if transaction.outcome is Outcome.COMMITTED or transaction.name in observed:
                seen.append(_Seen(transaction, reads[transaction.name], known_at))
            elif reads[transaction.name] and transaction.one_version:
                only_reads = tuple(Read(key, values) for key, values in reads[transaction.name].items())
                ended = FAR if transaction.ended is None else transaction.ended
                reader = replace(transaction, operations=only_reads, level=Level.SNAPSHOT)
                seen.append(_Seen(reader, reads[transaction.name], ended))
        return seen

    def _check_real_time(self, seen: Sequence[_Seen]) -> None:
        """A read that began after an append was known to be committed shows it."""
        appends: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for writer in seen:
            for append in writer.transaction.appends:
                appends[append.key].append((writer.known_at, append.value, writer.name))
        for entries in appends.values():
            entries.sort()
        told: set[tuple[str, int]] = set()
        for reader in seen:
            for key, values in reader.reads.items():
                before = bisect_left(appends[key], (reader.transaction.began - self.slack_ns, 0, ""))
                for _, value, writer in appends[key][:before]:
                    if value in values or writer == reader.name or (key, value) in told:
                        continue
                    name = "stale read" if value in self.orders[key] else "lost append"
                    self._found(name, f"{reader.name} began after {writer} had appended {value} to {key}, and read {_shown(values)}")
                    told.add((key, value))

    def _check_refusals(self, seen: Sequence[_Seen]) -> None:
        """A refusal needs a rival that wrote what the refused one touched, and was not finished before that began."""
        writes: dict[str, list[_Seen]] = defaultdict(list)
        for writer in seen:
            for key in {append.key for append in writer.transaction.appends}:
                writes[key].append(writer)
        for transaction in self.history:
            if transaction.outcome is not Outcome.REFUSED:
                continue
            ended = FAR if transaction.ended is None else transaction.ended
            touched = transaction.keys if transaction.level is Level.SERIALIZABLE else {append.key for append in transaction.appends}
            rivals = (rival for key in touched for rival in writes[key])
            if not any(rival.transaction.began < ended and rival.known_at > transaction.began - self.slack_ns for rival in rivals):
                self._found(
                    "unjustified refusal", f"{transaction.name} was refused, and nobody wrote {', '.join(sorted(touched))} meanwhile"
                )

    # Cycles.

    def _graph(self, seen: Sequence[_Seen]) -> DependencyGraph:
        graph = DependencyGraph()
        writers = {key: [self._writer(key, value) for value in order] for key, order in self.orders.items()}
        for names in writers.values():
            for one, other in pairwise(names):
                graph.add(Kind.WW, one, other)
        for reader in seen:
            for key, values in reader.reads.items():
                if values:
                    graph.add(Kind.WR, self._writer(key, values[-1]), reader.name)
                if len(values) < len(writers[key]):
                    graph.add(Kind.RW, reader.name, writers[key][len(values)])
        self._add_real_time(graph, seen)
        return graph

    def _writer(self, key: str, value: int) -> str:
        writer = self.writers.get((key, value))
        return "nobody" if writer is None else writer.name

    def _add_real_time(self, graph: DependencyGraph, seen: Sequence[_Seen]) -> None:
        """Chained moments stand for all pairs: transaction, the moment it was known, later moments, whoever began after them."""
        moments = sorted({entry.known_at for entry in seen if entry.known_at < FAR})
        for number in range(len(moments) - 1):
            graph.add(Kind.RT, number, number + 1)
        for entry in seen:
            if entry.known_at < FAR:
                graph.add(Kind.RT, entry.name, bisect_left(moments, entry.known_at))
            before = bisect_left(moments, entry.transaction.began - self.slack_ns) - 1
            if before >= 0:
                graph.add(Kind.RT, before, entry.name)

    def _check_cycles(self, graph: DependencyGraph, seen: Sequence[_Seen]) -> None:
        free = {entry.name for entry in seen if entry.transaction.level is Level.SNAPSHOT}
        everybody: set[Node] = {entry.name for entry in seen}
        without_reads = graph.without(Kind.RW, everybody)
        obliging = graph.without(Kind.RW, free)
        for cycle in (
            without_reads.without(Kind.WR, everybody).cycle(),
            without_reads.cycle(),
            graph.cycle_without_adjacent_anti_dependencies(),
            obliging.cycle(),
        ):
            if cycle is not None:
                anomaly = Anomaly(_cycle_name(cycle), _cycle_text(cycle))
                if anomaly.name not in {found.name for found in self.anomalies}:
                    self.anomalies.append(anomaly)


def _cycle_name(cycle: Sequence[Step]) -> str:
    kinds = [kind for kind, _ in cycle if kind is not Kind.RT]
    anti = kinds.count(Kind.RW)
    if anti == 0:
        name = "G1c" if Kind.WR in kinds else "G0"
    elif anti == 1:
        name = "G-single"
    else:
        labels = [kind for kind, _ in cycle]
        adjacent = any(one is other is Kind.RW for one, other in zip(labels, [*labels[1:], labels[0]], strict=True))
        name = "G2" if adjacent else "G-nonadjacent"
    return f"{name}-realtime" if len(kinds) < len(cycle) else name


def _cycle_text(cycle: Sequence[Step]) -> str:
    """The cycle's transactions, moments left out."""
    steps = [(kind, node) for kind, node in cycle if isinstance(node, str)]
    return f"{steps[-1][1]} " + " ".join(f"-{kind}-> {node}" for kind, node in steps)


def _shown(values: Iterable[int]) -> str:
    return f"[{' '.join(map(str, values))}]"
