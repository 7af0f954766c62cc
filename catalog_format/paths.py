"""Paths of the format's files, relative to the catalog's root."""

from __future__ import annotations

from functools import lru_cache

VERSION_BITS = 64
LATEST_HINT = "vn/latest"
OLDEST_HINT = "vn/oldest"
OPEN_TRANSACTIONS = "dtxn-open"
FIRST_VERSION = 0


def reversed_bits(number: int) -> str:
    """The number as 64 binary digits, last digit first: neighbours spread over a store's partitions."""
    if not 0 <= number < 1 << VERSION_BITS:
        raise ValueError(f"{number} does not fit into {VERSION_BITS} bits")
    return f"{number:0{VERSION_BITS}b}"[::-1]


def number_of(name: str) -> int:
    """Inverse of `reversed_bits`. Raises `ValueError` for other text."""
    if len(name) != VERSION_BITS:
        raise ValueError(f"{name!r} is not {VERSION_BITS} binary digits")
    return int(name[::-1], 2)


@lru_cache(maxsize=256)
def root_path(version: int) -> str:
    """The root node of a version of the catalog."""
    return f"vn/{reversed_bits(version)}"


def node_path(name: str) -> str:
    return f"node/{name}.arrow"


def definition_path(type_id: str, digest: str) -> str:
    return f"def/{type_id}/{digest}.binpb"


def open_transaction_path(transaction_id: str) -> str:
    """First state of a distributed transaction."""
    return f"{OPEN_TRANSACTIONS}/{transaction_id}"


def transaction_state_path(transaction_id: str, sequence: int) -> str:
    """State `sequence` of a distributed transaction's log; 0 lies in the folder of open ones."""
    if sequence == 0:
        return open_transaction_path(transaction_id)
    return f"dtxn/{transaction_id}/{reversed_bits(sequence)}"
