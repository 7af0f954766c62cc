"""The system namespace: what `sys.dtxns.dtxn_<id>.…` means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from catalog_format.keys import Identifier

SYSTEM = "sys"
SYSTEM_NAMES = (SYSTEM, "system")
TRANSACTIONS = "dtxns"
TRANSACTION_PREFIX = "dtxn_"


class Place(Enum):
    """What the leading levels of a name point to."""

    CATALOG = auto()
    """An ordinary name."""
    SYSTEM = auto()
    """`sys` itself."""
    TRANSACTIONS = auto()
    """`sys.dtxns`."""
    TRANSACTION = auto()
    """`sys.dtxns.dtxn_<id>`, or something below it."""
    UNKNOWN = auto()
    """Another name below `sys`: reserved, nothing is there."""


@dataclass(frozen=True, slots=True)
class ResolvedName:
    place: Place
    transaction_id: str | None
    rest: Identifier
    """Levels below the place; for CATALOG the whole name."""
    prefix: Identifier
    """The leading levels as the caller wrote them, to be put before the names that are answered."""


@lru_cache(maxsize=4096)
def resolve(identifier: Identifier) -> ResolvedName:
    """What a name points to. Any name that begins with `sys` or `system` is the system's."""
    if not identifier or identifier[0] not in SYSTEM_NAMES:
        return ResolvedName(Place.CATALOG, None, identifier, ())
    if len(identifier) == 1:
        return ResolvedName(Place.SYSTEM, None, (), identifier)
    if identifier[1] != TRANSACTIONS:
        return ResolvedName(Place.UNKNOWN, None, identifier[2:], identifier[:2])
    if len(identifier) == 2:
        return ResolvedName(Place.TRANSACTIONS, None, (), identifier)
    if not identifier[2].startswith(TRANSACTION_PREFIX):
        return ResolvedName(Place.UNKNOWN, None, identifier[3:], identifier[:3])
    return ResolvedName(Place.TRANSACTION, identifier[2].removeprefix(TRANSACTION_PREFIX), identifier[3:], identifier[:3])
