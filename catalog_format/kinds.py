"""Object kinds: what the committer is told about each type of object. It knows no Iceberg itself.

A kind works on states. A state is whatever the kind wants to hold of one object (immutable): opening it may read
files, applying a change to it is pure, storing it writes the files that its definition needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from catalog_format.changes import Change
from catalog_format.errors import AlreadyExistsError, ConflictError, NotFoundError
from catalog_format.keys import Identifier, ObjectType

State = Any


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """Circumstances of an application."""

    now_ms: int
    check_requirements: bool = True
    """False when a transaction's change is replayed: its requirements were checked when it was made."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What goes into the names of files that are written now."""

    attempt_id: str
    transaction_id: str | None = None
    """Set for the files of a distributed transaction."""


class ObjectKind(Protocol):
    """One type of object: tables, views, namespaces; others join without touching the core."""

    @property
    def object_type(self) -> ObjectType: ...

    @property
    def twin(self) -> ObjectType | None:
        """A type that shares names with this one."""
        ...

    def missing(self, identifier: Identifier) -> NotFoundError:
        """The error for an object that does not exist."""
        ...

    def taken(self, identifier: Identifier, by: ObjectType) -> AlreadyExistsError:
        """The error for a name that an object of type `by` holds."""
        ...

    async def open(self, definition: bytes) -> State:
        """State of an existing object; may read files."""
        ...

    def apply(self, identifier: Identifier, state: State | None, change: Change, context: ApplyContext) -> State:
        """Pure: the state after a CREATE (`state` is None) or an UPDATE; the same object if nothing changes.

        Raises `RequirementFailedError`, `ConflictError`, `InvalidArgumentError`, and `missing` for an UPDATE of nothing.
        """
        ...

    async def store(self, identifier: Identifier, state: State, upload: Upload) -> bytes:
        """The definition; writes the files it needs under names that carry `upload`'s ids."""
        ...

    async def replay(self, identifier: Identifier, base: State, winner: State, changes: Sequence[Change], context: ApplyContext) -> State:
        """The state after UPDATEs that were made on `base`, on top of `winner`; may read files.

        Raises `ConflictError` with the rule because of which they cannot be joined.
        """
        ...

    async def reconcile(
        self, identifier: Identifier, state: State, change: Change, context: ApplyContext, refusal: ConflictError
    ) -> tuple[State, Change]:
        """An UPDATE that `apply` refused, joined with what it did not expect: the state after it, and the UPDATE as it took effect.

        May read files. Raises `refusal`, or another `ConflictError` that says more, if it stands.
        """
        ...

    def foresees(self, change: Change) -> bool:
        """Whether `look_ahead` may find anything for an UPDATE. Asked often."""
        ...

    async def look_ahead(self, definition: bytes, change: Change, *, replays: bool) -> None:
        """Read what `replay` (or `reconcile`, if not `replays`) of an UPDATE will probably ask for. Failing, it says nothing."""
        ...

    def files(self, definition: bytes) -> Sequence[str]:
        """Locations of the files that a definition names, and that must last as long as it is shown."""
        ...

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        """Further entries that a DROP leaves in the tree, such as a wish to purge.

        Raises `RequirementFailedError` if the DROP is of an object as it is no longer.
        """
        ...


Kinds = Mapping[ObjectType, ObjectKind]
