"""Which table is which: those that were registered from one another's metadata share a UUID, and names pass from one to another."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count

from catalog_format.changes import Verb
from catalog_format.keys import ObjectType, type_of
from tests.simulation.truth import Truth


class Lives:
    """Numbers the tables, each from the CREATE that began it to its DROP, in the order of what versions did."""

    def __init__(self, truth: Truth) -> None:
        self._shown: list[dict[bytes, int]] = []
        """Key to table, of each version."""
        self._ended: dict[tuple[bytes, int], set[int]] = {}
        """Those that were dropped, by key and version."""
        numbers, now = count(), dict[bytes, int]()
        for version in truth.versions:
            actions = (action for record in version.records for action in record.actions if type_of(action[1]) is ObjectType.TABLE)
            for verb, key, target in actions:
                if verb is Verb.CREATE:
                    now[key] = next(numbers)
                elif verb is Verb.MOVE and target is not None:
                    now[target] = now.pop(key)
                elif verb is Verb.DROP:
                    self._ended.setdefault((key, version.number), set()).add(now.pop(key))
            self._shown.append(dict(now))

    def of(self, version: int, key: bytes) -> int:
        """The table that a version shows at a key."""
        return self._shown[version][key]

    def ended(self, key: bytes, versions: Collection[int]) -> set[int]:
        """Tables that one of these versions dropped at a key."""
        return {life for version in versions for life in self._ended.get((key, version), ())}
