"""Small random histories, decided by the catalog's own pure rules, and the cycles in what was committed.

A version is what one group committed. The graph is Adya's direct serialization graph (Weak Consistency, 1999) with all
its edges: ww, wr, rw; a range is a read of every key in it, absent ones included. It is built from who wrote what and when and from
what each transaction could see, and knows nothing of places.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from catalog_format.changes import NO_READS, IsolationLevel, Place, ReadSet, Verb
from catalog_format.conflicts import Conflict, Overwritten, SeenRange, SeenRead, SeenWrite, decide
from catalog_format.keys import table_key
from catalog_format.node import NO_STAMP
from catalog_format.ordering import Concurrent, Footprint, NoPlace, place_before

*KEYS, BEYOND = (table_key((letter,)) for letter in "abcde")

Order = Callable[[int, Footprint, Sequence[Concurrent]], Place | NoPlace]
"""`place_before`, or what stands for it in a mutant."""


@dataclass(slots=True)
class Wish:
    """A transaction before it is judged. Plain requests have no base; they and snapshot transactions have no reads that count."""

    name: int
    isolation: IsolationLevel | None
    writes: dict[bytes, bool] = field(default_factory=dict)
    """By key: whether the object is there afterwards."""
    reads: ReadSet = NO_READS
    base: int = 0


@dataclass(slots=True)
class Write:
    """One version of one key."""

    writer: int
    place: Place
    there: bool


@dataclass(slots=True)
class History:
    """What was committed, in order."""

    writes: dict[bytes, list[Write]]
    committed: list[tuple[Wish, Place, Place | None]] = field(default_factory=list)
    """With where each took effect, and before whom it was ordered."""
    refused: int = 0

    def state(self, key: bytes, end: Place) -> tuple[int, int]:
        """Stamp of a key just before a place, and how many writes of it came before."""
        stamp, count = NO_STAMP, 0
        for write in self.writes[key]:
            if write.place >= end:
                break
            stamp, count = (write.place.version if write.there else NO_STAMP), count + 1
        return stamp, count


def play(seed: int, order: Order = place_before) -> History:
    """One random history: 3 to 5 transactions on 2 to 4 keys, some plain, some at snapshot; commits alone and in groups."""
    rng = random.Random(seed)
    keys = KEYS[: rng.randint(2, 4)]
    history = History({key: [] for key in keys})
    for key in keys:
        if rng.random() < 0.8:
            history.writes[key].append(Write(-1, Place(1, 0), True))
    wishes = [_wish(rng, name, keys) for name in range(rng.randint(3, 5))]
    events = [wish for wish in wishes for _ in range(1 if wish.isolation is None else 2)]
    rng.shuffle(events)
    begun: set[int] = set()
    version, group = 1, []
    for wish in events:
        if wish.isolation is not None and wish.name not in begun:
            begun.add(wish.name)
            if group and rng.random() < 0.8:
                # Nobody sees half a group.
                version, group = _commit(history, group, version + 1, order), []
            wish.base = version
            continue
        group.append(wish)
        if rng.random() < 0.6:
            version, group = _commit(history, group, version + 1, order), []
    _commit(history, group, version + 1, order)
    return history


def _wish(rng: random.Random, name: int, keys: Sequence[bytes]) -> Wish:
    level = rng.random()
    isolation = None if level < 0.15 else IsolationLevel.SNAPSHOT if level < 0.25 else IsolationLevel.SERIALIZABLE
    wish = Wish(name, isolation)
    touched = rng.sample(keys, rng.randint(1, min(3, len(keys))))
    wish.writes = {key: rng.random() < 0.75 for key in touched if rng.random() < (1 if isolation is None else 0.45)}
    if isolation is IsolationLevel.SERIALIZABLE:
        # Engines read what they write; the format does not ask it of them.
        points = frozenset(key for key in touched if key not in wish.writes or rng.random() < 0.7)
        ranges: frozenset[tuple[bytes, bytes]] = frozenset()
        if rng.random() < 0.25:
            first = rng.randrange(len(keys))
            ranges = frozenset({(keys[first], (*keys, BEYOND)[rng.randint(first + 1, len(keys))])})
        wish.reads = ReadSet(points, ranges)
    return wish


def _commit(history: History, group: Sequence[Wish], version: int, order: Order) -> int:
    """Judge a group's members one after the other; the latest version then."""
    before: Sequence[tuple[Wish, Place, Place | None]] = history.committed
    for position, wish in enumerate(group):
        place = Place(version, position)
        verdict = _verdict(history, wish, place, order)
        if verdict is False:
            history.refused += 1
            continue
        for key, there in wish.writes.items():
            history.writes[key].append(Write(wish.name, place, there))
        before.append((wish, place, verdict))
    return version


def _verdict(history: History, wish: Wish, place: Place, order: Order) -> Place | bool | None:
    """Where it is ordered backwards; None at its commit; False if it is refused."""
    if wish.isolation is None:
        return None
    base, mine = Place(wish.base + 1, 0), Place(place.version, 0)

    def stamps(key: bytes) -> tuple[int, int]:
        in_group = any(write.place >= mine for write in history.writes[key])
        return history.state(key, base)[0], place.version if in_group else history.state(key, place)[0]

    writes = [SeenWrite(key, *stamps(key), (Verb.UPDATE,)) for key in wish.writes]
    reads = [SeenRead(key, *stamps(key)) for key in wish.reads.points]
    ranges = []
    for low, high in wish.reads.ranges:
        changed = [key for key in history.writes if low <= key < high and len(set(stamps(key))) > 1]
        ranges.append(SeenRange(low, high, changed[0] if changed else None))
    verdict = decide(wish.isolation, writes, reads, ranges)
    if isinstance(verdict, Conflict):
        return False
    if not isinstance(verdict, Overwritten):
        return None
    found = order(wish.base, footprint(wish), [concurrent(*entry) for entry in history.committed if entry[1] >= base])
    return found if isinstance(found, Place) else False


def footprint(wish: Wish) -> Footprint:
    return Footprint(frozenset(wish.writes), wish.reads)


def concurrent(wish: Wish, place: Place, before: Place | None) -> Concurrent:
    return Concurrent(str(wish.name), place, footprint(wish), before)


def has_cycle(history: History) -> bool:
    """Whether what was committed can be put into no order."""
    bases = {wish.name: Place(wish.base + 1, 0) for wish, _, _ in history.committed}
    read_at = [bases]
    for wish, place, _ in history.committed:
        read = [[history.state(key, end) for end in (bases[wish.name], place)] for key in history.writes if wish.reads.holds(key)]
        if all(before[0] == after[0] for before, after in read):
            # All is as it was, so it may as well have been read at the commit: what came and went in between, nobody could see.
            came_and_went = any(before != after for before, after in read)
            read_at = [{**other, wish.name: place} for other in read_at] + (read_at if came_and_went else [])
    return all(_is_cyclic(_dependencies(history, places)) for places in read_at)


def _dependencies(history: History, read_at: Mapping[int, Place]) -> dict[int, set[int]]:
    """Who must come after whom, if each has read just before the place given."""
    after: dict[int, set[int]] = {-1: set()} | {wish.name: set() for wish, _, _ in history.committed}
    for writes in history.writes.values():
        for number, one in enumerate(writes):
            for other in writes[number + 1 :]:
                after[one.writer].add(other.writer)
    for wish, _, _ in history.committed:
        for key, writes in history.writes.items():
            if wish.reads.holds(key):
                for write in writes:
                    one, other = (write.writer, wish.name) if write.place < read_at[wish.name] else (wish.name, write.writer)
                    after[one].add(other)
    return after


def _is_cyclic(after: Mapping[int, set[int]]) -> bool:
    # Who is before nobody is taken away, as long as there is somebody.
    left = {name: others - {name} for name, others in after.items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    return bool(left)
