"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """`enter` switches the protection off; `seeds` are known to show it."""

    name: str
    what: str
    enter: Callable[[], AbstractContextManager[None]]
    seeds: tuple[int, ...]


@contextmanager
def replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, original)
