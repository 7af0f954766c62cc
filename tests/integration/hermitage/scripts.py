"""The scripts of Hermitage as data: what two or three sessions do, in which order, and what each script watches for.

Source: Martin Kleppmann, Hermitage, https://github.com/ept/hermitage, in the form that it has for PostgreSQL. The names of
the phenomena are Adya's (Weak Consistency, 1999) and, for P4, those of Berenson et al. (A Critique of ANSI SQL Isolation
Levels, 1995). Rows are (id, value); each script starts with the rows (1, 10) and (2, 20).

A transaction begins with its session's first statement, which is when PostgreSQL takes its snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Rows = Mapping[int, int]
"""Value by id."""

START: Rows = {1: 10, 2: 20}
T1, T2, T3 = "T1", "T2", "T3"


@dataclass(frozen=True)
class Where:
    """A condition on rows: as SQL, and as a predicate of id and value."""

    sql: str
    holds: Callable[[int, int], bool]
    id: int | None = None
    """The only row that can meet it, if that is known beforehand."""


@dataclass(frozen=True)
class NewValue:
    """What an update sets the value to: as SQL, and as a function of the old value."""

    sql: str
    of: Callable[[int], int]


EVERY = Where("true", lambda _id, _value: True)


def row(number: int) -> Where:
    return Where(f"id = {number}", lambda found, _value: found == number, number)


def value_is(wanted: int) -> Where:
    return Where(f"value = {wanted}", lambda _id, value: value == wanted)


def divisible_by(divisor: int) -> Where:
    return Where(f"value % {divisor} = 0", lambda _id, value: value % divisor == 0)


def to(value: int) -> NewValue:
    return NewValue(str(value), lambda _old: value)


def plus(amount: int) -> NewValue:
    return NewValue(f"value + {amount}", lambda old: old + amount)


@dataclass(frozen=True)
class Read:
    where: Where = EVERY


@dataclass(frozen=True)
class Update:
    where: Where
    new: NewValue


@dataclass(frozen=True)
class Insert:
    id: int
    value: int


@dataclass(frozen=True)
class Delete:
    where: Where


@dataclass(frozen=True)
class Commit:
    pass


@dataclass(frozen=True)
class RollBack:
    pass


Statement = Read | Update | Insert | Delete | Commit | RollBack


@dataclass(frozen=True)
class Observation:
    """What came of a script."""

    final: Rows
    """The rows after the last step."""
    reads: tuple[Rows, ...] = ()
    """What each `Read` saw, in the order of the steps."""
    refused: frozenset[str] = frozenset()
    """Sessions whose COMMIT was refused."""

    def all_commit(self, *sessions: str) -> bool:
        return not self.refused & set(sessions)


@dataclass(frozen=True)
class Script:
    """One script, and how its phenomenon is recognised."""

    name: str
    phenomenon: str
    steps: tuple[tuple[str, Statement], ...]
    occurs: Callable[[Observation], bool]
    example: Observation = field(repr=False)
    """What a database that lets it happen could show."""

    @property
    def readers(self) -> list[str]:
        """The session of each read."""
        return [session for session, statement in self.steps if isinstance(statement, Read)]


SCRIPTS = (
    Script(
        "G0",
        "dirty write",
        (
            (T1, Update(row(1), to(11))),
            (T2, Update(row(1), to(12))),
            (T1, Update(row(2), to(21))),
            (T1, Commit()),
            (T2, Update(row(2), to(22))),
            (T2, Commit()),
        ),
        occurs=lambda seen: tuple(seen.final.values()) in {(11, 22), (12, 21)},
        example=Observation({1: 11, 2: 22}),
    ),
    Script(
        "G1a",
        "aborted read",
        (
            (T1, Update(row(1), to(101))),
            (T2, Read()),
            (T1, RollBack()),
            (T2, Read()),
            (T2, Commit()),
        ),
        occurs=lambda seen: any(rows[1] == 101 for rows in seen.reads),
        example=Observation(START, ({1: 101, 2: 20}, START)),
    ),
    Script(
        "G1b",
        "intermediate read",
        (
            (T1, Update(row(1), to(101))),
            (T2, Read()),
            (T1, Update(row(1), to(11))),
            (T1, Commit()),
            (T2, Read()),
            (T2, Commit()),
        ),
        occurs=lambda seen: any(rows[1] == 101 for rows in seen.reads),
        example=Observation({1: 11, 2: 20}, ({1: 101, 2: 20}, {1: 11, 2: 20})),
    ),
    Script(
        "G1c",
        "circular information flow",
        (
            (T1, Update(row(1), to(11))),
            (T2, Update(row(2), to(22))),
            (T1, Read(row(2))),
            (T2, Read(row(1))),
            (T1, Commit()),
            (T2, Commit()),
        ),
        occurs=lambda seen: seen.reads == ({2: 22}, {1: 11}),
        example=Observation({1: 11, 2: 22}, ({2: 22}, {1: 11})),
    ),
    Script(
        "OTV",
        "observed transaction vanishes",
        (
            (T1, Update(row(1), to(11))),
            (T1, Update(row(2), to(19))),
            (T2, Update(row(1), to(12))),
            (T1, Commit()),
            (T3, Read(row(1))),
            (T2, Update(row(2), to(18))),
            (T3, Read(row(2))),
            (T2, Commit()),
            (T3, Read(row(2))),
            (T3, Read(row(1))),
            (T3, Commit()),
        ),
        # Rows 1 and 2, read one after the other, come from different transactions.
        occurs=lambda seen: any(
            (seen.reads[one][1], seen.reads[two][2]) not in {(10, 20), (11, 19), (12, 18)} for one, two in ((0, 1), (3, 2))
        ),
        example=Observation({1: 12, 2: 18}, ({1: 11}, {2: 19}, {2: 18}, {1: 11})),
    ),
    Script(
        "PMP",
        "predicate many preceders",
        (
            (T1, Read(value_is(30))),
            (T2, Insert(3, 30)),
            (T2, Commit()),
            (T1, Read(divisible_by(3))),
            (T1, Commit()),
        ),
        occurs=lambda seen: seen.reads[1] != {},
        example=Observation({**START, 3: 30}, ({}, {3: 30})),
    ),
    Script(
        "PMP-write",
        "predicate many preceders, for write predicates",
        (
            (T1, Update(EVERY, plus(10))),
            (T2, Delete(value_is(20))),
            (T1, Commit()),
            (T2, Read(value_is(20))),
            (T2, Commit()),
        ),
        # One after the other leaves row 2 or row 1, whichever had the value 20 when it was deleted.
        occurs=lambda seen: seen.all_commit(T1, T2) and dict(seen.final) not in ({1: 20}, {2: 30}),
        example=Observation({1: 20, 2: 30}, ({1: 20},)),
    ),
    Script(
        "P4",
        "lost update",
        (
            (T1, Read(row(1))),
            (T2, Read(row(1))),
            (T1, Update(row(1), to(11))),
            (T2, Update(row(1), to(11))),
            (T1, Commit()),
            (T2, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T1, T2),
        example=Observation({1: 11, 2: 20}, ({1: 10}, {1: 10})),
    ),
    Script(
        "G-single",
        "read skew",
        (
            (T1, Read(row(1))),
            (T2, Read(row(1))),
            (T2, Read(row(2))),
            (T2, Update(row(1), to(12))),
            (T2, Update(row(2), to(18))),
            (T2, Commit()),
            (T1, Read(row(2))),
            (T1, Commit()),
        ),
        occurs=lambda seen: seen.reads[3] == {2: 18},
        example=Observation({1: 12, 2: 18}, ({1: 10}, {1: 10}, {2: 20}, {2: 18})),
    ),
    Script(
        "G-single-dependencies",
        "read skew, with predicate dependencies",
        (
            (T1, Read(divisible_by(5))),
            (T2, Update(value_is(10), to(12))),
            (T2, Commit()),
            (T1, Read(divisible_by(3))),
            (T1, Commit()),
        ),
        occurs=lambda seen: seen.reads[1] != {},
        example=Observation({1: 12, 2: 20}, (START, {1: 12})),
    ),
    Script(
        "G-single-write-1",
        "read skew, with a write predicate",
        (
            (T1, Read(row(1))),
            (T2, Read()),
            (T2, Update(row(1), to(12))),
            (T2, Update(row(2), to(18))),
            (T2, Commit()),
            (T1, Delete(value_is(20))),
            (T1, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T1, T2),
        example=Observation({1: 12, 2: 18}, ({1: 10}, START)),
    ),
    Script(
        "G-single-write-2",
        "read skew, with a write predicate that is rolled back",
        (
            (T1, Read(row(1))),
            (T2, Read()),
            (T2, Update(row(1), to(12))),
            (T1, Delete(value_is(20))),
            (T2, Update(row(2), to(18))),
            (T1, RollBack()),
            (T2, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T2) and 2 not in seen.final,
        example=Observation({1: 12}, ({1: 10}, START)),
    ),
    Script(
        "G2-item",
        "write skew",
        (
            (T1, Read()),
            (T2, Read()),
            (T1, Update(row(1), to(11))),
            (T2, Update(row(2), to(21))),
            (T1, Commit()),
            (T2, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T1, T2),
        example=Observation({1: 11, 2: 21}, (START, START)),
    ),
    Script(
        "G2",
        "write skew, with predicates",
        (
            (T1, Read(divisible_by(3))),
            (T2, Read(divisible_by(3))),
            (T1, Insert(3, 30)),
            (T2, Insert(4, 42)),
            (T1, Commit()),
            (T2, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T1, T2),
        example=Observation({**START, 3: 30, 4: 42}, ({}, {})),
    ),
    Script(
        "G2-two-edges",
        "write skew that only a reader sees",
        (
            (T1, Read()),
            (T2, Update(row(2), plus(5))),
            (T2, Commit()),
            (T3, Read()),
            (T3, Commit()),
            (T1, Update(row(1), to(0))),
            (T1, Commit()),
        ),
        occurs=lambda seen: seen.all_commit(T1, T2, T3) and seen.reads[1] == {1: 10, 2: 25},
        example=Observation({1: 0, 2: 25}, (START, {1: 10, 2: 25})),
    ),
)
