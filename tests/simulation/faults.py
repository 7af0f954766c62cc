"""What can go wrong between a process and the store, and to processes themselves: plain values, drawn in advance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of requests that faults are aimed at: the few puts that decide something would hardly be hit by chance."""

    ROOT = "root"
    STATE = "state"
    NODE = "node"
    DEFINITION = "definition"
    METADATA = "metadata"
    READ_ROOT = "read-root"
    READ_STATE = "read-state"
    READ_NODE = "read-node"
    READ_METADATA = "read-metadata"
    PROBE = "read-nothing"
    """A look at something that is not there, nearly always the next version or state."""
    OTHER = "other"
    LISTING = "listing of all files"
    OPEN_ONES = "listing of open transactions"
    DELETION = "deletion"


PUTS = {"vn": Kind.ROOT, "dtxn": Kind.STATE, "dtxn-open": Kind.STATE, "node": Kind.NODE, "def": Kind.DEFINITION, "data": Kind.METADATA}
READS = {
    "vn": Kind.READ_ROOT,
    "dtxn": Kind.READ_STATE,
    "dtxn-open": Kind.READ_STATE,
    "node": Kind.READ_NODE,
    "def": Kind.READ_NODE,
    "data": Kind.READ_METADATA,
}
LISTINGS = {"": Kind.LISTING, "dtxn-open": Kind.OPEN_ONES}


def kind_of(verb: str, path: str) -> Kind:
    folder = path.partition("/")[0]
    if verb == "put_if_absent":
        return PUTS[folder]
    if verb in {"get", "exists"}:
        return READS[folder]
    if verb == "list":
        return LISTINGS.get(path, Kind.OTHER)
    return Kind.DELETION if verb == "delete" else Kind.OTHER


class Harm(StrEnum):
    """What happens to a request. `seconds` is the fault's own number, see `Fault`."""

    LOST = "request lost"
    REPLY_LOST = "reply lost"
    REPEATED = "applied twice"
    """The client library sends it again: the caller hears the second answer."""
    LATE = "lands late"
    """The caller hears an error soon; the store applies it after `seconds`."""
    SLOW = "slow"
    """Takes `seconds`, and the caller waits."""
    THROTTLED = "throttled"
    FULL = "store full"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    """The process dies; the request, on its way already, is applied all the same."""
    CRASH_LATE = "crash, lands late"
    STALL = "process stalls"
    """The process stands still for `seconds` from here on; the request goes its way."""
    TORN = "torn read"
    FLIPPED = "flipped read"


WRITES_ONLY = frozenset({Harm.REPEATED, Harm.LATE, Harm.CRASH_LATE, Harm.FULL})
READS_ONLY = frozenset({Harm.TORN, Harm.FLIPPED})
# Metadata files are not among them: they are Iceberg's and carry no hash, so nobody can tell that they are damaged.
DAMAGEABLE = frozenset({Kind.READ_ROOT, Kind.READ_STATE, Kind.READ_NODE})
CRASHES = frozenset({Harm.CRASH_BEFORE, Harm.CRASH_AFTER, Harm.CRASH_LATE})


@dataclass(frozen=True)
class Fault:
    """The `nth` request of a kind (from 1, over all processes) meets a harm."""

    kind: Kind
    nth: int
    harm: Harm
    seconds: float = 0.0
    where: float = 0.0
    """In a damaged read: which part of the file, in [0, 1)."""

    def __str__(self) -> str:
        return f"{self.kind} request {self.nth}: {self.harm} ({self.seconds:g} s)"


@dataclass(frozen=True)
class Outage:
    """For a while every write of one process fails in the same way (`LOST`, `REPLY_LOST` or `LATE`)."""

    slot: int
    begins: float
    seconds: float
    harm: Harm
    late_by: float = 0.0

    def __str__(self) -> str:
        return f"process {self.slot}, {self.begins:g} s to {self.begins + self.seconds:g} s: every write meets {self.harm}"


@dataclass(frozen=True)
class ClockJump:
    """Somebody sets the clock of one process."""

    slot: int
    at: float
    seconds: float

    def __str__(self) -> str:
        return f"process {self.slot}, at {self.at:g} s: clock set by {self.seconds:g} s"
