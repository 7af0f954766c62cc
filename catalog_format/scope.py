"""Scopes: where names are read and written. Latest state, a past version, or a transaction; the operations are the same.

Every method may raise the store's errors (`RetryLater`, `GiveUp`) and `UnknownOutcomeError` where it writes.
Names of the system namespace are not known here; `names.py` maps them to scopes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from catalog_format.keys import Identifier

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, and how a repeated request is recognised."""

    agent: str = ""
    """Client and principal, for the log."""
    idempotency_key: str | None = None
    request_hash: bytes = b""
    """SHA-256 of what is asked; a key that comes back with another hash raises `InvalidArgumentError`."""


NO_CONTEXT = RequestContext()


@dataclass(frozen=True, slots=True)
class Page:
    """A wish for a part of a listing: at most `size` items after `token` (None: from the start)."""

    token: str | None = None
    size: int = 1000


@dataclass(frozen=True, slots=True)
class Listing:
    """Full identifiers, sorted; `next_token` is None on the last page. All pages show the version of the first."""

    items: list[Identifier]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedMetadata:
    """A table or a view as it is loaded: `metadata` is the file's own (decompressed) JSON bytes, never parsed."""

    identifier: Identifier
    metadata_location: str
    """Absolute, a URL."""
    metadata: bytes
    definition: bytes
    """What the catalog's tree says of the object. As long as it says so, the rest is as it is here."""


@dataclass(frozen=True, slots=True)
class PropertiesUpdate:
    updated: list[str]
    removed: list[str]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class TableCommit:
    """Requirements and updates of one table, in the JSON of the REST specification."""

    identifier: Identifier
    requirements: Sequence[Json]
    updates: Sequence[Json]


@dataclass(frozen=True, slots=True)
class NewTable:
    """What a create asks: schema (JSON, any ids), and optional partition spec, write order, location, properties."""

    schema: Json
    partition_spec: Json | None = None
    write_order: Json | None = None
    location: str | None = None
    properties: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NewView:
    """What a view's create asks: schema and view version (JSON), and optional location and properties."""

    schema: Json
    view_version: Json
    location: str | None = None
    properties: Mapping[str, str] | None = None


class Scope(Protocol):
    """The operations on names. Reads are of one confirmed version (or of one version and a transaction's own changes)."""

    # Namespaces ---------------------------------------------------------------------------------

    async def list_namespaces(self, parent: Identifier = (), page: Page | None = None) -> Listing:
        """Direct children of `parent`. Raises `NoSuchNamespaceError` when the parent does not exist."""
        ...

    async def load_namespace(self, namespace: Identifier) -> dict[str, str]:
        """Its properties. Raises `NoSuchNamespaceError`."""
        ...

    async def namespace_exists(self, namespace: Identifier) -> bool: ...

    async def create_namespace(
        self, namespace: Identifier, properties: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> dict[str, str]:
        """Raises `AlreadyExistsError`; `NoSuchNamespaceError` when its parent does not exist."""
        ...

    async def update_namespace(
        self, namespace: Identifier, removals: Sequence[str], updates: Mapping[str, str], context: RequestContext = NO_CONTEXT
    ) -> PropertiesUpdate:
        """Raises `NoSuchNamespaceError`; `InvalidArgumentError` for a key both set and removed."""
        ...

    async def drop_namespace(self, namespace: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        """Raises `NoSuchNamespaceError`, `NamespaceNotEmptyError`."""
        ...

    # Tables -------------------------------------------------------------------------------------

    async def list_tables(self, namespace: Identifier, page: Page | None = None) -> Listing:
        """Raises `NoSuchNamespaceError`."""
        ...

    async def load_table(self, table: Identifier, held: LoadedMetadata | None = None) -> LoadedMetadata:
        """Raises `NoSuchTableError`; `MissingFileError` when its metadata file is gone.

        `held`: an earlier answer to the same question; it is returned itself if the answer is still the same.
        """
        ...

    async def table_exists(self, table: Identifier) -> bool: ...

    async def table_location(self, table: Identifier) -> str | None:
        """Where its metadata file is said to be, a URL, without a look at the file; None if there is no such table."""
        ...

    async def create_table(self, table: Identifier, new: NewTable, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        """Raises `NoSuchNamespaceError`, `AlreadyExistsError` (a view of that name too), `InvalidArgumentError`."""
        ...

    async def stage_table(self, table: Identifier, new: NewTable) -> Json:
        """Metadata of a table to be created by a later commit with `assert-create`; writes nothing."""
        ...

    async def register_table(
        self, table: Identifier, metadata_location: str, overwrite: bool = False, context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata:
        """A table from an existing metadata file. Raises as `create_table`, and `MissingFileError`."""
        ...

    async def commit_tables(self, commits: Sequence[TableCommit], context: RequestContext = NO_CONTEXT) -> list[LoadedMetadata]:
        """All commits in one version or none, creates (`assert-create`) included.

        Raises `NoSuchTableError`, `RequirementFailedError`, `ConflictError`, `InvalidArgumentError` (unknown updates, one table twice).
        """
        ...

    async def drop_table(self, table: Identifier, purge: bool = False, context: RequestContext = NO_CONTEXT) -> None:
        """With `purge` the wish is recorded; files go when the last kept version that shows the table is given up."""
        ...

    async def unregister_table(self, table: Identifier, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        """Drops the entry and keeps every file; the table as it was last. Raises `NoSuchTableError`, `MissingFileError`."""
        ...

    async def rename_table(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None:
        """Raises `NoSuchTableError`, `NoSuchNamespaceError` (target's parent), `AlreadyExistsError`."""
        ...

    # Views --------------------------------------------------------------------------------------

    async def list_views(self, namespace: Identifier, page: Page | None = None) -> Listing: ...

    async def load_view(self, view: Identifier) -> LoadedMetadata: ...

    async def view_exists(self, view: Identifier) -> bool: ...

    async def view_location(self, view: Identifier) -> str | None:
        """As `table_location`."""
        ...

    async def create_view(self, view: Identifier, new: NewView, context: RequestContext = NO_CONTEXT) -> LoadedMetadata: ...

    async def register_view(self, view: Identifier, metadata_location: str, context: RequestContext = NO_CONTEXT) -> LoadedMetadata:
        """A view from an existing metadata file. Raises as `create_view`, and `MissingFileError`."""
        ...

    async def replace_view(
        self, view: Identifier, requirements: Sequence[Json], updates: Sequence[Json], context: RequestContext = NO_CONTEXT
    ) -> LoadedMetadata: ...

    async def drop_view(self, view: Identifier, context: RequestContext = NO_CONTEXT) -> None: ...

    async def rename_view(self, source: Identifier, target: Identifier, context: RequestContext = NO_CONTEXT) -> None: ...
