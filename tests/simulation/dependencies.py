"""Who depends on whom: the graph whose cycles are what isolation forbids (Adya, "Weak Consistency", 1999)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from catalog_format.changes import Verb
from catalog_format.keys import Identifier, ObjectType, identifier_of, type_of
from tests.simulation.sights import Children, Located, NotEmpty, Sight, WithProperties
from tests.simulation.states import Wanted
from tests.simulation.truth import Record

Place = tuple[int, int]
"""Of a record: version, and position within it."""


class Dependencies:
    """Records and the edges between them: writes of one key in order (ww), reads of a write (wr), writes over what was read (rw)."""

    def __init__(self, records: Iterable[Record], wanted: Callable[[Record], Sequence[Wanted]]) -> None:
        self._edges: dict[Place, dict[Place, str]] = defaultdict(dict)
        self._writers: dict[bytes, list[Place]] = defaultdict(list)
        self._members: dict[Identifier, dict[ObjectType, list[Place]]] = defaultdict(lambda: defaultdict(list))
        """Who added to a namespace's children of a type or took from them."""
        self._names: dict[Place, str] = {}
        for record in records:
            place = (record.version, record.position)
            self._names[place] = f"{record.id} {record.agent} (version {record.version})"
            for want in wanted(record):
                for key in want.keys:
                    self._add_write(place, key, want.verb)

    def add_read(self, reader: Place, sight: Sight, seen_at: tuple[float, float], own: Container[bytes]) -> None:
        """`reader` saw something as it was just before `seen_at`; what it had written itself (`own`) tells nothing of others."""
        match sight:
            case Located() | WithProperties() if sight.key not in own:
                touched, why = self._writers.get(sight.key, []), repr(sight.key)
            case Children():
                touched = self._members[sight.namespace][sight.object_type]
                why = f"{sight.object_type.name.lower()}s of {sight.namespace}"
            case NotEmpty():
                touched = [place for places in self._members[sight.namespace].values() for place in places]
                why = f"children of {sight.namespace}"
            case _:
                return
        for writer in touched:
            if writer == reader:
                continue
            if writer <= seen_at:
                self._edges[writer].setdefault(reader, f"wr {why}")
            else:
                self._edges[reader].setdefault(writer, f"rw {why}")

    def cycle(self) -> str | None:
        """Some cycle, in words."""
        found = find_cycle(self._edges)
        if found is None:
            return None
        steps = [f"{self._names[one]} -[{self._edges[one][other]}]->" for one, other in zip(found, [*found[1:], found[0]], strict=True)]
        return f"{' '.join(steps)} {self._names[found[0]]}"

    def _add_write(self, place: Place, key: bytes, verb: Verb) -> None:
        before = self._writers[key]
        if before and before[-1] != place:
            self._edges[before[-1]].setdefault(place, f"ww {key!r}")
        before.append(place)
        if verb is not Verb.UPDATE:
            self._members[identifier_of(key)[:-1]][type_of(key)].append(place)


def find_cycle(edges: Mapping[Place, Mapping[Place, str]]) -> list[Place] | None:
    """Some cycle, as the nodes along it; None if there is none. `edges`: from, to, and why."""
    done: set[Place] = set()
    for start in edges:
        path: list[Place] = []
        on_path: set[Place] = set()
        waiting: list[tuple[Place, bool]] = [(start, False)]
        while waiting:
            node, leaving = waiting.pop()
            if leaving:
                path.pop()
                on_path.discard(node)
                done.add(node)
                continue
            if node in on_path:
                return path[path.index(node) :]
            if node in done:
                continue
            path.append(node)
            on_path.add(node)
            waiting.append((node, True))
            waiting += [(after, False) for after in edges.get(node, {}) if after not in done]
    return None
