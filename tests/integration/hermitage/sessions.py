"""Sessions that scripts are played on, whatever the engine."""

from __future__ import annotations

from typing import Protocol

from tests.integration.hermitage.expected import SEVERAL_TABLES
from tests.integration.hermitage.scripts import (
    Commit,
    Delete,
    Insert,
    NewValue,
    Observation,
    Read,
    RollBack,
    Rows,
    Script,
    Statement,
    Update,
    Where,
)


class Session(Protocol):
    """One client, in its own transaction."""

    def begin(self) -> None: ...

    def read(self, where: Where) -> Rows:
        """The rows that meet the condition, by id."""
        ...

    def update(self, where: Where, new: NewValue) -> None: ...

    def insert(self, number: int, value: int) -> None: ...

    def delete(self, where: Where) -> None: ...

    def commit(self) -> str | None:
        """None, or why it was refused."""
        ...

    def roll_back(self) -> None: ...


class Database(Protocol):
    """Where the rows of one script lie: in one table, or spread over several."""

    def session(self, name: str) -> Session:
        """A client that has not begun yet."""
        ...

    def rows(self) -> Rows:
        """All rows, read outside of any transaction."""
        ...


def tables_of(layout: str) -> tuple[str, ...]:
    return ("a", "b") if layout == SEVERAL_TABLES else ("a",)


def table_for(number: int, layout: str) -> str:
    """The table of the row with this id."""
    tables = tables_of(layout)
    return tables[(number - 1) % len(tables)]


def tables_for(where: Where, layout: str) -> tuple[str, ...]:
    """The tables that must be looked at for this condition."""
    return tables_of(layout) if where.id is None else (table_for(where.id, layout),)


def play(script: Script, database: Database) -> tuple[Observation, dict[str, str]]:
    """What came of it, and why each refused session was refused."""
    sessions: dict[str, Session] = {}
    reads: list[Rows] = []
    refusals: dict[str, str] = {}
    for name, statement in script.steps:
        if name not in sessions:
            sessions[name] = database.session(name)
            sessions[name].begin()
        answer = _do(sessions[name], statement)
        if isinstance(statement, Read):
            assert isinstance(answer, dict)
            reads.append(answer)
        elif isinstance(answer, str):
            refusals[name] = answer
    return Observation(database.rows(), tuple(reads), frozenset(refusals)), refusals


def _do(session: Session, statement: Statement) -> Rows | str | None:
    match statement:
        case Read(where):
            return session.read(where)
        case Update(where, new):
            return session.update(where, new)
        case Insert(number, value):
            return session.insert(number, value)
        case Delete(where):
            return session.delete(where)
        case Commit():
            return session.commit()
        case RollBack():
            return session.roll_back()
