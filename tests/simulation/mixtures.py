"""What runs are made of: the usual swarm of operations, and mixtures for what the swarm would hardly come to by chance.

Seeds are dealt to the mixtures in fixed shares. Each says what it is for, and brings about by rates, never by a script, what that
needs: who works beside whom, how long anything takes, and what others do meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from random import Random

from tests.simulation.faults import Harm, Kind

PLAIN_VERBS = {
    "set": 10,
    "set-namespace": 3,
    "set-view": 2,
    "append": 4,
    "create-table": 5,
    "create-view": 2,
    "create-namespace": 2,
    "drop-table": 3,
    "drop-view": 1,
    "drop-namespace": 2,
    "rename-table": 2,
    "set-both": 3,
    "transfer": 5,
    "load": 8,
    "load-namespace": 2,
    "load-view": 2,
    "list": 3,
    "load-past": 3,
    "time-travel": 1,
    "transaction": 9,
    "begin-again": 1,
    "commit-again": 1,
    "list-open": 1,
    "check": 1,
    "expire": 2,
    "collect": 2,
}
INNER_VERBS = {
    "set": 10,
    "set-namespace": 2,
    "set-view": 1,
    "append": 3,
    "create-table": 4,
    "create-view": 2,
    "create-namespace": 1,
    "drop-table": 3,
    "drop-view": 1,
    "drop-namespace": 1,
    "rename-table": 2,
    "transfer": 4,
    "transfer-purse": 5,
    "load": 7,
    "load-namespace": 1,
    "load-view": 1,
    "list": 4,
}
ALWAYS = frozenset({"set", "load", "transaction"})
# Listings beside creates and drops: what matters of ranges would hardly be met by chance.
LISTING_PLAIN = {"create-table": 8, "drop-table": 8, "rename-table": 2, "create-view": 1, "transaction": 5}
LISTING_INNER = {"list": 10, "set-namespace": 4, "load": 1}

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Pause:
    """A harm that many requests of some kinds meet, for one of these times (seconds)."""

    harm: Harm
    kinds: tuple[Kind, ...]
    seconds: tuple[float, ...]
    rate: float = 1.0
    """Of such requests, times the run's own."""


@dataclass(frozen=True)
class Beside:
    """The upkeep of servers that goes on beside the clients."""

    servers: int
    every: tuple[float, ...]
    """Seconds from one turn to the next."""
    collects: tuple[int, ...] = (1,)
    """How often each collects for each time it expires."""
    older_than_s: tuple[float, ...] = (0.0,)
    """Of the versions that are given up."""
    purge_after_s: tuple[float, ...] = (0.0,)


class Names(Enum):
    """What tables there are."""

    FEW = auto()
    CROWD = auto()
    """Many in one namespace."""
    ACCOUNTS = auto()
    """Three that are always there."""


@dataclass(frozen=True)
class Mixture:
    """Operations, their pace, and what makes them last."""

    name: str
    share: float
    """Of all seeds."""
    plain: Mapping[str, int]
    inner: Mapping[str, int]
    hurry: tuple[float, ...]
    """The longest pause before a step (seconds)."""
    pauses: tuple[Pause, ...] = ()
    rates: tuple[float, ...] = (1.0,)
    impatience: float = 0.0
    patience: tuple[float, float] = (20.0, 60.0)
    keyed: float = 0.4
    """How many requests bear an idempotency key."""
    serializable: float | None = None
    """How many transactions are; as the seed says if None."""
    names: Names = Names.FEW
    shares_folders: bool = False
    """Half of the new tables lie in one folder."""
    appends_join: bool = False
    """The accounts have the property that lets plain appends join others."""
    lifetimes_ms: tuple[int, ...] = (24 * HOUR_MS, 24 * HOUR_MS, HOUR_MS)
    finishers: tuple[int, ...] = (1, 2, 3)
    clients: tuple[int, ...] = ()
    """How many; as the seed says if empty."""
    beside: Beside | None = None
    together: bool = False
    """All clients are served by one process, and upkeep is others'."""


UPKEEP_PLAIN = {
    "transaction": 12,
    "expire": 5,
    "collect": 8,
    "list-open": 3,
    "set": 4,
    "append": 2,
    "create-table": 2,
    "drop-table": 2,
    "load-past": 1,
    "commit-again": 1,
    "check": 1,
}
UPKEEP_INNER = {"set": 6, "append": 2, "create-table": 2, "load": 2}
_ANYTHING_ELSE = (Kind.LISTING, Kind.OPEN_ONES, Kind.DELETION, Kind.OTHER)

EVERYTHING_LASTS = Mixture(
    # Runs of hours or days, in which what takes a moment elsewhere may last until all others have done everything.
    name="everything lasts",
    share=0.12,
    plain=UPKEEP_PLAIN,
    inner=UPKEEP_INNER,
    hurry=(5.0, 60.0, 1800.0, 1800.0),
    rates=(0.03, 0.05, 0.1),
    pauses=(
        Pause(Harm.STALL, (Kind.STATE, Kind.ROOT, Kind.NODE, Kind.METADATA, *_ANYTHING_ELSE), (60.0, 600.0, 5000.0, 10_000.0)),
        Pause(Harm.SLOW, (Kind.ROOT, Kind.NODE, Kind.METADATA, *_ANYTHING_ELSE), (20.0, 60.0)),
    ),
    # Or soon everybody waits for the process that stands still.
    impatience=0.8,
)

COMMITS_LAST = Mixture(
    # What a commit has uploaded is needed by nobody until its root is there. Only an epoch between the listing of files and the end of
    # the looking keeps that root from coming after all, so others have to list and look in that very time, and nobody may publish
    # anything else: roots that are long under way, all from one process, and one that collects much more often than it expires.
    name="commits last",
    share=0.08,
    plain={"set": 6, "append": 3, "create-table": 4, "drop-table": 2, "transaction": 2},
    inner={"set": 4, "create-table": 2},
    hurry=(5.0, 20.0),
    rates=(0.3, 0.6),
    pauses=(
        Pause(Harm.SLOW, (Kind.ROOT,), (60.0, 200.0)),
        Pause(Harm.SLOW, (Kind.LISTING,), (60.0, 200.0), 2.0),
        Pause(Harm.SLOW, (Kind.STATE, Kind.METADATA), (20.0, 60.0), 0.3),
    ),
    clients=(2, 3),
    beside=Beside(1, (5.0, 20.0), (4, 10), (0.0, 600.0)),
    together=True,
)

LISTINGS_LAST = Mixture(
    # A transaction keeps its files by being open, and from its commit on by the version that shows them. Who asks for the one and then
    # for the other in the wrong order misses it if it commits in between: listings of open transactions that take as long as
    # transactions do, which come and go all the time, their states long under way as well.
    name="listings last",
    share=0.07,
    plain={"transaction": 12, "set": 1},
    inner={"set": 4, "append": 1, "create-table": 4},
    hurry=(10.0, 30.0),
    rates=(0.3, 0.6),
    pauses=(
        Pause(Harm.SLOW, (Kind.OPEN_ONES,), (60.0, 200.0), 2.0),
        Pause(Harm.SLOW, (Kind.STATE, Kind.METADATA), (20.0, 100.0), 0.3),
        Pause(Harm.STALL, (Kind.STATE,), (60.0, 200.0), 0.3),
    ),
    clients=(4, 6),
    beside=Beside(2, (5.0, 20.0), (1, 4), (0.0, 60.0)),
)

ENDINGS_LAST = Mixture(
    # Who has sealed a transaction and hears of it hours later finds it finished by others, and its verdict, which expire drops after an
    # hour, only in its log.
    name="endings last",
    share=0.05,
    plain={"transaction": 6, "set": 1},
    inner={"set": 3, "append": 1, "create-table": 2},
    hurry=(600.0,),
    pauses=(Pause(Harm.SLOW, (Kind.STATE,), (5000.0, 10_000.0)),),
    rates=(0.2, 0.3),
    finishers=(2, 3),
    clients=(4, 6),
    beside=Beside(1, (600.0, 1200.0)),
)

ANSWERS_LAST = Mixture(
    # What was done is not told in time: requests are repeated, and what one looks for is there when the answer comes that it is not.
    name="answers last",
    share=0.04,
    plain={"set": 8, "append": 4, "create-table": 3, "drop-table": 3, "set-both": 2, "transfer": 2, "load": 16},
    inner={},
    hurry=(0.5, 2.0),
    pauses=(Pause(Harm.SLOW, (Kind.PROBE, Kind.ROOT), (0.5, 2.0)),),
    rates=(0.3, 0.5),
    impatience=0.3,
    patience=(0.05, 1.5),
    keyed=0.8,
    clients=(4, 6),
)

DROPS_BESIDE_LISTINGS = Mixture(
    # A drop is the one change that leaves nothing where it was, but that others see that something has been there: lists in
    # transactions, beside drops that reach the leaves, for which other names' changes have to fill the write buffer. Some share a turn.
    name="drops beside listings",
    share=0.06,
    plain={"transaction": 6, "drop-table": 5, "create-table": 3, "transfer": 4},
    inner={"list": 8, "set": 1},
    hurry=(0.5, 2.0),
    pauses=(Pause(Harm.SLOW, (Kind.ROOT,), (1.0, 4.0)),),
    rates=(0.1, 0.4),
    serializable=1.0,
    clients=(4, 6),
    together=True,
    names=Names.CROWD,
)

TURNS_SHARED = Mixture(
    # Who comes while a root is under way is judged together with all others who wait: many short serializable transactions of one
    # process over three tables, of which each reads what others write.
    name="turns shared",
    share=0.06,
    plain={"transaction": 10, "set": 1},
    inner={"load": 4, "set": 4},
    hurry=(0.5, 2.0),
    pauses=(Pause(Harm.SLOW, (Kind.ROOT,), (2.0, 10.0)),),
    rates=(0.3, 0.6),
    serializable=0.8,
    clients=(6, 7),
    together=True,
    names=Names.ACCOUNTS,
)

PURGED_PLAIN = {
    "append": 6,
    "add-files": 3,
    "register": 2,
    "unregister": 1,
    "create-table": 5,
    "drop-table": 7,
    "rename-table": 1,
    "set": 1,
    "transaction": 3,
    "collect": 2,
    "load": 2,
    "load-past": 1,
    "check": 1,
}
PURGED_INNER = {"append": 3, "add-files": 2, "register": 1, "create-table": 2, "drop-table": 2, "set": 1, "load": 1}

WISHES = Mixture(
    # Tables that share folders, data files and metadata, dropped with purge and carried out by processes that die in the middle of it.
    # Versions are kept for hours: who brings back what a purge is about to delete has to be slower than that, and nobody can help it.
    name="wishes",
    share=0.06,
    plain=PURGED_PLAIN,
    inner=PURGED_INNER,
    hurry=(600.0, 1800.0),
    pauses=(
        Pause(Harm.SLOW, (Kind.ROOT, Kind.STATE, *_ANYTHING_ELSE), (20.0, 60.0)),
        Pause(Harm.CRASH_AFTER, (Kind.DELETION,), (0.0,)),
    ),
    rates=(0.03, 0.1),
    clients=(3, 4),
    beside=Beside(1, (600.0, 1800.0), (1,), (7200.0, 14_400.0), (0.0, 7200.0)),
    shares_folders=True,
)

PURGED_AT_ONCE = Mixture(
    # The same for those who cannot wait.
    name="purged at once",
    share=0.03,
    plain={**PURGED_PLAIN, "purge-now": 6},
    inner=PURGED_INNER,
    hurry=WISHES.hurry,
    pauses=WISHES.pauses,
    rates=WISHES.rates,
    clients=WISHES.clients,
    beside=WISHES.beside,
    shares_folders=True,
)

ROWS_JOINED = Mixture(
    # Many who change the same tables at the same time, and do so on top of each other instead of being refused: appends, and files
    # overwritten, deleted and compacted beside them, some of them the same ones. Turns are shared, and processes die with files written.
    name="rows joined",
    share=0.05,
    plain={"transaction": 10, "append": 5, "overwrite-rows": 1, "compact": 1, "set": 1, "load": 1},
    inner={"append": 6, "overwrite-rows": 3, "delete-rows": 2, "compact": 2, "set": 2},
    hurry=(0.5, 2.0, 20.0),
    pauses=(Pause(Harm.SLOW, (Kind.ROOT,), (2.0, 10.0)), Pause(Harm.SLOW, (Kind.METADATA,), (1.0, 5.0), 0.3)),
    rates=(0.1, 0.3),
    serializable=0.2,
    clients=(4, 6),
    beside=Beside(1, (20.0, 60.0)),
    names=Names.ACCOUNTS,
    appends_join=True,
)

MIXTURES = (
    EVERYTHING_LASTS,
    COMMITS_LAST,
    LISTINGS_LAST,
    ENDINGS_LAST,
    ANSWERS_LAST,
    DROPS_BESIDE_LISTINGS,
    WISHES,
    PURGED_AT_ONCE,
    TURNS_SHARED,
    ROWS_JOINED,
)


def mixture_of(seed: int) -> Mixture | None:
    """The mixture that a seed belongs to; None for the usual swarm."""
    drawn = Random(f"hours {seed}").random()
    for mixture in MIXTURES:
        if drawn < mixture.share:
            return mixture
        drawn -= mixture.share
    return None
