"""What an operation of a client is, and what its refusals say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from catalog_format.catalog import PlaceScope
from catalog_format.errors import (
    AlreadyExistsError,
    ConflictError,
    MissingFileError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TreelineError,
)
from catalog_format.keys import Identifier, namespace_key, table_key, view_key
from catalog_format.scope import LoadedMetadata, RequestContext
from tests.simulation.engine import Read
from tests.simulation.plan import Step
from tests.simulation.sights import Absent, Located, NotEmpty, OtherHead, Present, Sight
from tests.simulation.states import Json, Wanted


class Operation(ABC):
    """One wish of one client. `prepare` may look first; then `send` asks, maybe several times, always for the same."""

    looks_first = False

    def __init__(self, step: Step, read_file: Read) -> None:
        """`read_file` is the engine's own way to the store."""
        self.step = step
        self.read_file = read_file
        self.wanted: tuple[Wanted, ...] = ()
        """What it changes; known before it is sent."""
        self.subjects: tuple[Identifier, ...] = tuple(name for name in (step.target, step.other) if name)
        """Objects that have to exist."""
        self.claimed: tuple[Identifier, ...] = ()
        """Names that have to be free."""
        self.files: dict[str, bytes] = {}
        """What an engine writes before it is sent, by location; known when it has looked."""

    async def prepare(self, scope: PlaceScope) -> list[Sight]:
        """Look at what the wish depends on."""
        return []

    @abstractmethod
    async def send(self, scope: PlaceScope, context: RequestContext) -> list[Sight]:
        """Ask; what the answer says of the state it was given on."""

    def denied(self, error: TreelineError) -> Sight | None:
        """What a refusal says of the state; None if it is one that this operation must never meet."""
        match error:
            case NoSuchNamespaceError():
                return Absent(tuple(namespace_key(name[:1]) for name in (*self.subjects, *self.claimed)))
            case NoSuchTableError():
                return Absent(tuple(table_key(name) for name in self.subjects))
            case NoSuchViewError():
                return Absent(tuple(view_key(name) for name in self.subjects))
            case MissingFileError():
                return None
            case AlreadyExistsError() if self.claimed:
                return Present(tuple(key for name in self.claimed for key in _taken_by(name)))
            case NamespaceNotEmptyError():
                return NotEmpty(self.step.target)
            case ConflictError() if heads := _heads_in(self.wanted):
                return OtherHead(heads)
        return None


class Making(Operation):
    """Something under a name that has to be free."""

    def __init__(self, step: Step, read_file: Read) -> None:
        super().__init__(step, read_file)
        self.subjects, self.claimed = (), (step.target,)


def property_of(step: Step) -> str:
    """Few names, so that settings meet."""
    return "p" if step.fraction < 0.6 else "q"


def setting(updates: dict[str, str]) -> Json:
    return {"action": "set-properties", "updates": updates}


def located(key: bytes, loaded: LoadedMetadata) -> Located:
    return Located(key, loaded.metadata_location)


def _heads_in(wanted: Sequence[Wanted]) -> tuple[tuple[bytes, int | None], ...]:
    """The newest snapshots that a wish depends on."""
    return tuple(
        (want.key, requirement["snapshot-id"])
        for want in wanted
        for requirement in want.request.get("requirements", [])
        if "ref" in requirement
    )


def _taken_by(name: Identifier) -> tuple[bytes, ...]:
    return (namespace_key(name),) if len(name) == 1 else (table_key(name), view_key(name))
