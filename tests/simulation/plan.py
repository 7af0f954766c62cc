"""A run's plan, drawn from its seed: who does what where, and what goes wrong. Everything is decided here but the order of events.

A plan is a flat set of atoms, so that a failing one can be shrunk by leaving some out. Every seed draws its own mixture of
operations and of faults (after Groce et al., "Swarm testing", ISSTA 2012): a run with few kinds of them reaches states that
a run with all of them does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any

from catalog_format.changes import IsolationLevel
from catalog_format.keys import Identifier
from catalog_format.objects import TreeLimits
from tests.simulation.faults import CRASHES, DAMAGEABLE, READS_ONLY, WRITES_ONLY, ClockJump, Fault, Harm, Kind, Outage
from tests.simulation.mixtures import (
    ALWAYS,
    HOUR_MS,
    INNER_VERBS,
    LISTING_INNER,
    LISTING_PLAIN,
    PLAIN_VERBS,
    Beside,
    Mixture,
    Names,
    Pause,
    mixture_of,
)

NAMESPACES: tuple[Identifier, ...] = (("a",), ("b",), ("c",))
NAMES: tuple[Identifier, ...] = tuple((*namespace, name) for namespace in NAMESPACES for name in ("t", "u", "v"))
CROWD: tuple[Identifier, ...] = tuple(("a", name) for name in "opqrstuvw")
"""Many names in one namespace, for those who list it."""
ACCOUNTS: tuple[Identifier, ...] = tuple(("bank", f"x{number}") for number in range(3))
"""Money moves between them in transactions and in plain commits to two tables; each transfer adds a snapshot that says what it saw."""
PURSES: tuple[Identifier, ...] = tuple(("purse", f"x{number}") for number in range(3))
"""Money moves between them in transactions only, as a property."""
BALANCE = 100


class Ending(StrEnum):
    COMMIT = "commit"
    ROLLBACK = "rollback"
    RACE = "commit and rollback at once"
    ABANDON = "abandoned"


@dataclass(frozen=True)
class Step:
    """One operation of one client. `where` prefers a process; the rest is the client's patience and luck."""

    id: str
    client: int
    verb: str
    target: Identifier = ()
    other: Identifier = ()
    amount: int = 0
    where: int = 0
    pause: float = 0.0
    """Before it."""
    keyed: bool = False
    """With an idempotency key; only then may it be repeated after an unknown outcome."""
    tries: int = 1
    patience: float = 0.0
    """Seconds after which the client gives up waiting; 0: never."""
    cancels: bool = False
    """Giving up, it also has the server's task cancelled."""
    fraction: float = 0.0
    """Which of the past versions, or of the transactions so far; how much of the past to give up."""

    def __str__(self) -> str:
        names = " ".join(".".join(name) for name in (self.target, self.other) if name)
        return f"{self.id} {self.verb} {names}".rstrip()


@dataclass(frozen=True)
class TransactionStep(Step):
    """A distributed transaction: `workers` do their steps in it at the same time, then `finishers` (slots) end it."""

    isolation: IsolationLevel = IsolationLevel.SNAPSHOT
    ttl_ms: int = 3_600_000
    workers: tuple[tuple[Step, ...], ...] = ()
    ending: Ending = Ending.COMMIT
    finishers: tuple[int, ...] = ()

    def __str__(self) -> str:
        inner = " | ".join("; ".join(str(step) for step in worker) for worker in self.workers)
        return f"{self.id} transaction at {self.isolation}: {inner} -> {self.ending} by {len(self.finishers)}"


@dataclass(frozen=True)
class Upkeep:
    """What a server does by itself, as long as clients are there: it expires once, collects some times, and begins anew."""

    slot: int
    every: float
    """Seconds between two turns, a random part more or less."""
    collects: int
    older_than_s: float
    purge_after_s: float

    def __str__(self) -> str:
        return f"process {self.slot} every {self.every:g} s: expires older than {self.older_than_s:g} s, collects {self.collects} times"


Atom = Step | Upkeep | Fault | Outage | ClockJump


@dataclass(frozen=True)
class Plan:
    """Everything about a run that is decided in advance."""

    seed: int
    slots: int
    limits: TreeLimits
    skews: tuple[float, ...]
    """Of the processes' clocks, in seconds."""
    latency: float
    """A request's usual way, in seconds."""
    staleness: float
    cache_bytes: int
    atoms: tuple[Atom, ...]
    appends_join: bool = False
    """Whether plain appends to accounts join others."""
    schedule: int = 0
    """Another order of events under the same plan (for shrinking)."""

    def of(self, kind: type[Any]) -> list[Any]:
        return [atom for atom in self.atoms if isinstance(atom, kind)]

    @property
    def is_calm(self) -> bool:
        """Whether nothing at all goes wrong."""
        return not self.of(Fault) and not self.of(Outage) and not self.of(ClockJump)

    @property
    def damages(self) -> bool:
        """Whether anybody reads other bytes than were written."""
        return any(fault.harm in READS_ONLY for fault in self.of(Fault))

    @property
    def purges_at_once(self) -> bool:
        """Whether tables go although kept versions show them."""
        return any(step.verb == "purge-now" for step in self.of(Step))

    @property
    def operations(self) -> int:
        """How many catalog operations it asks for."""
        return sum(2 + sum(len(worker) for worker in step.workers) if isinstance(step, TransactionStep) else 1 for step in self.of(Step))

    def with_atoms(self, atoms: Sequence[Atom]) -> Plan:
        return replace(self, atoms=tuple(atoms))


def plan_of(seed: int, operations: int = 100) -> Plan:
    """The plan of a seed, with about so many operations."""
    random = Random(f"plan {seed}")
    slots = random.choice((1, 2, 2, 3))
    mixture = mixture_of(seed)
    if mixture is not None:
        slots = max(2, slots)
    draft = _Draft(random, slots)
    if mixture is not None:
        draft.turn_to(mixture)
    steps = draft.steps(operations)
    return Plan(
        seed=seed,
        slots=slots,
        limits=TreeLimits(
            node_bytes=4096,
            node_rows=random.choice((3, 4, 8)),
            buffer_bytes=4096,
            buffer_rows=random.choice((2, 4, 8)),
            inline_bytes=random.choice((60, 4096)),
        ),
        skews=tuple(draft.skew() for _ in range(slots)),
        latency=random.choice((0.002, 0.02, 0.2)),
        staleness=random.choice((0.0, 0.0, 0.0, 0.0, 2.0)),
        cache_bytes=random.choice((64 * 1024 * 1024, 8 * 1024)),
        atoms=(*steps, *draft.upkeep(), *draft.harms(operations), *_damage(seed)),
        appends_join=mixture is not None and mixture.appends_join,
    )


def _damage(seed: int) -> list[Fault]:
    """In some seeds many reads of roots or nodes are damaged: most of their bytes say nothing that would be missed."""
    random = Random(f"damage {seed}")
    drawn = random.random()
    if drawn >= 0.08:
        return []
    kind = Kind.READ_ROOT if drawn < 0.05 else Kind.READ_NODE
    return [Fault(kind, nth, Harm.FLIPPED, 0.0, random.random()) for nth in range(1, 200) if random.random() < 0.2]


class _Draft:
    """Draws the parts of a plan."""

    def __init__(self, random: Random, slots: int) -> None:
        self._random = random
        self._slots = slots
        self._clients = random.randint(2, 7)
        # The longest pauses make hours of a run, so that what maintenance keeps for a while becomes old.
        self._hurry = random.choice((0.0, 0.05, 0.5, 0.5, 3.0, 900.0))
        self._names = random.sample(NAMES, random.choice((2, 4, 9)))
        self._namespaces = sorted({name[:1] for name in self._names})
        self._plain = self._some(PLAIN_VERBS)
        self._inner = self._some(INNER_VERBS)
        self._serializable = random.choice((0.0, 0.5, 0.5, 1.0))
        if random.random() < 0.15:
            self._names, self._namespaces = list(CROWD), [("a",), ("b",)]
            self._plain, self._inner, self._serializable = LISTING_PLAIN, LISTING_INNER, 1.0
            self._hurry, self._clients = 0.05, 7
        self._impatience = random.choice((0.0, 0.0, 0.1, 0.3))
        self._patience = (0.001, 3.0)
        self._lifetimes_ms: tuple[int, ...] = (HOUR_MS, HOUR_MS, 30_000, 2_000)
        self._finishers: tuple[int, ...] = (1, 1, 2, 3)
        self._keyed = 0.4
        self._shares_folders = False
        self._serving = range(slots)
        """Processes that clients go to."""
        self._beside: Beside | None = None
        self._pauses: tuple[Pause, ...] = ()
        self._pause_rate = 0.0
        self._number = 0

    def turn_to(self, mixture: Mixture) -> None:
        random = self._random
        self._plain, self._inner = dict(mixture.plain), dict(mixture.inner)
        few = random.sample(NAMES, 3)
        self._names = {Names.FEW: few, Names.CROWD: list(CROWD), Names.ACCOUNTS: list(ACCOUNTS)}[mixture.names]
        self._namespaces = [NAMESPACES[0]]
        self._hurry, self._keyed = random.choice(mixture.hurry), mixture.keyed
        if mixture.serializable is not None:
            self._serializable = mixture.serializable
        self._impatience, self._patience = mixture.impatience, mixture.patience
        self._lifetimes_ms, self._finishers = mixture.lifetimes_ms, mixture.finishers
        self._pause_rate, self._pauses = random.choice(mixture.rates), mixture.pauses
        self._beside, self._shares_folders = mixture.beside, mixture.shares_folders
        if mixture.clients:
            self._clients = random.choice(mixture.clients)
        if mixture.together:
            self._serving = range(1)

    def steps(self, operations: int) -> list[Step]:
        steps: list[Step] = []
        count = 0
        while count < operations:
            step = self._step(self._random.randrange(self._clients), self._plain)
            count += 2 + sum(len(worker) for worker in step.workers) if isinstance(step, TransactionStep) else 1
            steps.append(step)
        return steps

    def upkeep(self) -> list[Upkeep]:
        beside, random = self._beside, self._random
        if beside is None:
            return []
        others = [slot for slot in range(self._slots) if slot not in self._serving] or range(self._slots)
        return [
            Upkeep(
                random.choice(others),
                random.choice(beside.every),
                random.choice(beside.collects),
                random.choice(beside.older_than_s),
                random.choice(beside.purge_after_s),
            )
            for _ in range(beside.servers)
        ]

    def skew(self) -> float:
        return self._random.choice((0.0, 0.0, 0.3, -0.3, 5.0, -5.0, 25.0, -25.0))

    def harms(self, operations: int) -> list[Atom]:
        random = self._random
        atoms = self._pausing(operations)
        if random.random() < 0.1:
            return atoms
        rate = random.choice((0.01, 0.03, 0.1))
        # About how often each kind of request occurs in an operation.
        often = {Kind.STATE: 0.7, Kind.NODE: 0.5, Kind.PROBE: 2.0}
        harms = random.sample(list(Harm), random.randint(1, 6))
        for kind in Kind:
            for nth in range(1, int(operations * often.get(kind, 1.0)) + 1):
                if random.random() < rate:
                    atoms += self._fault(kind, nth, random.choice(harms))
        atoms += [self._outage() for _ in range(random.choice((0, 0, 1, 2)))]
        if random.random() < 0.2:
            atoms += [ClockJump(random.randrange(self._slots), random.uniform(0, 20), random.choice((-90.0, -5.0, 5.0, 3700.0)))]
        return atoms

    def _pausing(self, operations: int) -> list[Atom]:
        """In the middle of something, a process or a request takes seconds to hours."""
        random = self._random
        return [
            Fault(kind, nth, pause.harm, random.choice(pause.seconds), random.random())
            for pause in self._pauses
            for kind in pause.kinds
            for nth in range(1, 2 * operations)
            if random.random() < self._pause_rate * pause.rate
        ]

    def _fault(self, kind: Kind, nth: int, harm: Harm) -> list[Fault]:
        random = self._random
        is_read = kind.startswith("read")
        if (is_read and harm in WRITES_ONLY) or (harm in READS_ONLY and kind not in DAMAGEABLE):
            return []
        if harm in CRASHES and random.random() < 0.5:
            return []
        seconds = {
            Harm.LATE: random.choice((0.5, 20.0, 90.0, 600.0)),
            Harm.CRASH_LATE: random.choice((0.5, 20.0, 600.0)),
            Harm.SLOW: random.choice((0.5, 5.0, 40.0)),
            Harm.STALL: random.choice((1.0, 45.0, 300.0)),
        }.get(harm, 0.0)
        return [Fault(kind, nth, harm, seconds, random.random())]

    def _outage(self) -> Outage:
        random = self._random
        harm = random.choice((Harm.LOST, Harm.REPLY_LOST, Harm.LATE))
        return Outage(
            random.randrange(self._slots), random.uniform(0, 20), random.choice((1.0, 10.0, 45.0)), harm, random.choice((20.0, 300.0))
        )

    def _some(self, weights: dict[str, int]) -> dict[str, int]:
        """A random part of the verbs, weighted anew."""
        random = self._random
        kept = {verb: weight for verb, weight in weights.items() if verb in ALWAYS or random.random() < 0.6}
        return {verb: weight * random.choice((1, 1, 4, 12)) for verb, weight in kept.items()}

    def _step(self, client: int, weights: dict[str, int]) -> Step:
        random = self._random
        verb = random.choices(list(weights), list(weights.values()))[0]
        self._number += 1
        keyed = random.random() < self._keyed
        common = Step(
            id=f"o{self._number}",
            client=client,
            verb=verb,
            where=random.choice(self._serving),
            pause=random.random() * self._hurry,
            keyed=keyed,
            tries=random.choice((1, 2, 4)),
            patience=random.uniform(*self._patience) if random.random() < self._impatience else 0.0,
            cancels=random.random() < 0.5,
            fraction=random.random(),
        )
        match verb:
            case "transaction":
                return self._transaction(common)
            case "transfer" | "set-both":
                pool = ACCOUNTS if verb == "transfer" else self._names
                source, target = random.sample(pool, 2)
                return replace(common, target=source, other=target, amount=random.randint(1, 20))
            case "transfer-purse":
                source, target = random.sample(PURSES, 2)
                return replace(common, target=source, other=target, amount=random.randint(1, 20))
            case "rename-table" | "add-files":
                source, target = random.sample(self._names, 2)
                return replace(common, target=source, other=target)
            case "register":
                source, target = random.sample(self._names, 2)
                return replace(common, target=source, other=target, amount=int(random.random() < 0.3))
            case "create-table" if self._shares_folders:
                return replace(common, target=random.choice(self._names), amount=random.randint(0, 1))
            case "set-namespace" | "create-namespace" | "drop-namespace" | "load-namespace" | "list":
                return replace(common, target=random.choice(self._namespaces))
            case "expire":
                return replace(common, amount=random.choice((1, 2, 5)))
            case "load" | "load-past" if random.random() < 0.2:
                return replace(common, target=random.choice(ACCOUNTS))
        return replace(common, target=random.choice(self._names))

    def _transaction(self, common: Step) -> TransactionStep:
        random = self._random
        # Who shares a transaction is not kept apart from each other in it, so only the first worker reads and then writes unguarded.
        guarded = {verb: weight for verb, weight in self._inner.items() if verb != "transfer-purse"}
        workers = tuple(
            tuple(self._step(common.client, guarded if number else self._inner) for _ in range(random.randint(1, 4)))
            for number in range(random.choice((1, 1, 1, 2)))
        )
        ending = random.choices(list(Ending), (12, 1, 1, 1))[0]
        return TransactionStep(
            **{name: getattr(common, name) for name in Step.__dataclass_fields__},
            isolation=IsolationLevel.SERIALIZABLE if random.random() < self._serializable else IsolationLevel.SNAPSHOT,
            ttl_ms=random.choice(self._lifetimes_ms),
            workers=workers,
            ending=ending,
            finishers=tuple(random.choice(self._serving) for _ in range(random.choice(self._finishers))),
        )
