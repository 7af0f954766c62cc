"""Randomness and identifiers: the only module that may draw them, so that a simulation can own them."""

from __future__ import annotations

import random
import secrets
import uuid
from typing import Protocol


class Ids(Protocol):
    """A source of identifiers and of jitter."""

    def attempt_id(self) -> str:
        """32 hex digits, new for every try to publish."""
        ...

    def transaction_id(self) -> str:
        """32 hex digits."""
        ...

    def uuid(self) -> str:
        """A random UUID in its 36-character form (tables, views)."""
        ...

    def snapshot_id(self) -> int:
        """A positive 63-bit integer."""
        ...

    def jitter(self) -> float:
        """Uniform in [0, 1)."""
        ...


class SystemIds:
    """The operating system's randomness."""

    def attempt_id(self) -> str:
        return secrets.token_hex(16)

    def transaction_id(self) -> str:
        return secrets.token_hex(16)

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))

    def snapshot_id(self) -> int:
        return secrets.randbits(62) + 1

    def jitter(self) -> float:
        return secrets.randbelow(1 << 30) / (1 << 30)


class SeededIds:
    """Reproducible identifiers from one seed (tests, simulation)."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def attempt_id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"

    def transaction_id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def snapshot_id(self) -> int:
        return self._random.getrandbits(62) + 1

    def jitter(self) -> float:
        return self._random.random()
