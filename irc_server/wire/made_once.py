"""Bytes that are dear to make: made once, and kept while there is room."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

Key = TypeVar("Key", bound=Hashable)


class MadeOnce(Generic[Key]):
    """A cache bounded by the bytes that it holds; what was used last stays longest."""

    def __init__(self, cache_bytes: int) -> None:
        # A cache of size 0 would refuse every entry with an error; of size 1 it holds none.
        self._made: LRUCache[Key, bytes] = LRUCache(max(1, cache_bytes), getsizeof=len)

    def of(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """What `make` gives for this key, now or when it was asked for before."""
        made = self._made.get(key)
        if made is None:
            made = make()
            if len(made) <= self._made.maxsize:
                self._made[key] = made
        return made
