"""Whether a serializable transaction whose reads were overwritten can be ordered before whoever overwrote them: a pure function.

Committed transactions stand in one serial order. The place of most is their commit. A transaction that is *ordered backwards*
stands right before the first place among its overwriters (of several right before one place, who committed later comes first).
It may if

(a) nobody at that place or after it has read or written what it writes, and
(b) that place is after its base; only overwriters that were themselves ordered backwards can fail this.

Then every dependency (Adya: ww, wr, rw) points forward in that order, so there is no cycle. For T, ordered backwards to the place p:
- from X to T: X committed by T's base, hence before p by (b); or stands before p by (a).
- from T to an X that committed before T: X overwrote what T read, and p was chosen before all of these.
- from T to an X that committed after T, at its own commit: that is after p. If X was ordered backwards too, T had committed by X's
  base, or (a) for X says that T stands before X's place.
Dependencies between two that stand at their commits point forward anyway.

The idea is that of serializable snapshot isolation (Cahill et al., SIGMOD 2008; Fekete et al., TODS 2005): a cycle needs two
anti-dependencies in a row, and (a) and (b) leave none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog_format.changes import NO_READS, Place, ReadSet
from catalog_format.keys import describe


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a transaction touched."""

    writes: frozenset[bytes] = frozenset()
    reads: ReadSet = NO_READS
    claims: ReadSet = NO_READS
    """Names that its writes depend on by the structural rules: twins of what it wrote, all children of a namespace it made or dropped."""

    def meeting(self, other: Footprint) -> str | None:
        """What the other did to something that this one writes, in words; None if their order does not matter to this one's writes."""
        for key in sorted(self.writes):
            if key in other.writes:
                return f"wrote {describe(key)}, which this one writes"
            if other.reads.holds(key):
                return f"read {describe(key)}, which this one writes"
            if other.claims.holds(key):
                return f"made or dropped what depends on {describe(key)}, which this one writes"
        claimed = min((key for key in other.writes if self.claims.holds(key)), default=None)
        return None if claimed is None else f"wrote {describe(claimed)}, on which this one's writes depend"


@dataclass(frozen=True, slots=True)
class Concurrent:
    """A transaction that took effect after another one's base and before its end."""

    transaction_id: str
    committed: Place
    footprint: Footprint
    before: Place | None = None
    """Right before which commit it stands, if it was ordered backwards."""

    @property
    def place(self) -> Place:
        return self.committed if self.before is None else self.before

    def __str__(self) -> str:
        return f"transaction {self.transaction_id} (version {self.committed.version})"


@dataclass(frozen=True, slots=True)
class NoPlace:
    """It cannot be ordered backwards."""

    reason: str


def place_before(base_version: int, own: Footprint, others: Sequence[Concurrent]) -> Place | NoPlace:
    """The commit before which a transaction made on `base_version` has its place. `others`: all that took effect since, in any order.

    Every write of theirs counts, also of values that came back: if one read is of the base, all are.
    """
    overwriters = [other for other in others if any(own.reads.holds(key) for key in other.footprint.writes)]
    if not overwriters:
        return NoPlace("no transaction is on record as who did")
    first = min(overwriters, key=lambda other: other.place)
    if first.place.version <= base_version:
        return NoPlace(f"{first} is itself ordered before version {first.place.version}, which is not after this one's base")
    for other in others:
        if other.place >= first.place:
            did = own.meeting(other.footprint)
            if did is not None:
                return NoPlace(f"{other} {did}")
    return first.place
