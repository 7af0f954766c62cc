"""What tables and views have in common as object kinds: a definition that names a metadata file, updates over raw metadata."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from catalog_format.changes import Change
from catalog_format.errors import ConflictError, NotFoundError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.iceberg.metadata_state import Json, MetadataState, metadata_folder
from catalog_format.keys import Identifier
from catalog_format.kinds import ApplyContext, Upload


class MetadataKind(ABC):
    """State: a `MetadataState`. Requests are those of `iceberg.requests`. What is left to each type are small pure functions."""

    def __init__(self, files: MetadataFiles, locations: Locations) -> None:
        self._files = files
        self._locations = locations

    @abstractmethod
    def missing(self, identifier: Identifier) -> NotFoundError: ...

    @abstractmethod
    def _location_in(self, definition: bytes) -> str:
        """The location of the metadata file, as the definition has it."""

    @abstractmethod
    def _definition(self, metadata: Json, location: str) -> bytes:
        """The definition for metadata in a file at a (relative) location."""

    @abstractmethod
    def _check(self, identifier: Identifier, metadata: Json | None, requirements: Sequence[Json]) -> None:
        """Raise `RequirementFailedError`, or what else the requirements' failing means."""

    @abstractmethod
    def _created(self, identifier: Identifier, requirements: Sequence[Json], updates: Sequence[Json], now_ms: int) -> Json:
        """Metadata of an object that an update creates. Raises `missing` if it does not mean to."""

    @abstractmethod
    def _parsed(self, updates: Sequence[Json]) -> Sequence[Any]:
        """What updates do, once all of them are well-formed."""

    @abstractmethod
    def _updated(self, state: MetadataState, updates: Sequence[Any], now_ms: int) -> Json:
        """The metadata after parsed updates; the same object if they change nothing."""

    @abstractmethod
    async def _join(
        self, base: MetadataState, winner: MetadataState, updates: Sequence[Json], context: ApplyContext
    ) -> MetadataState | None:
        """Updates that were made on `base` joined with what made `winner` of it; None if they can simply be applied again.

        Raises `ConflictError` with the rule that forbids either.
        """

    async def open(self, definition: bytes) -> MetadataState:
        location = self._locations.to_absolute(self._location_in(definition))
        return MetadataState(await self._files.parse(location), location)

    def apply(self, identifier: Identifier, state: MetadataState | None, change: Change, context: ApplyContext) -> MetadataState:
        request = orjson.loads(change.request)
        if "metadata" in request:
            return MetadataState(request["metadata"], request["location"], state.location if state else None)
        requirements, updates = request["requirements"], request["updates"]
        if state is None:
            return MetadataState(self._created(identifier, requirements, updates, context.now_ms), None)
        # A malformed request is told as such, whatever has become of the object meanwhile.
        parsed = self._parsed(updates)
        if context.check_requirements:
            self._check(identifier, state.metadata, requirements)
        return state.followed_by(self._updated(state, parsed, context.now_ms))

    async def store(self, identifier: Identifier, state: MetadataState, upload: Upload) -> bytes:
        location = state.location
        if location is None:
            others = (self._files.put(file.location, file.data) for file in state.files)
            written = self._files.write(state.metadata, metadata_folder(state.metadata), state.previous, upload)
            location = (await asyncio.gather(written, asyncio.gather(*others)))[0]
        return self._definition(state.metadata, self._locations.to_relative(location))

    async def replay(
        self, identifier: Identifier, base: MetadataState, winner: MetadataState, changes: Sequence[Change], context: ApplyContext
    ) -> MetadataState:
        requests = [orjson.loads(change.request) for change in changes]
        if any("metadata" in request for request in requests):
            raise ConflictError("it was replaced as a whole")
        joined = await self._join(base, winner, [update for request in requests for update in request["updates"]], context)
        if joined is not None:
            return joined
        for change in changes:
            winner = self.apply(identifier, winner, change, context)
        return winner

    async def reconcile(
        self, identifier: Identifier, state: MetadataState, change: Change, context: ApplyContext, refusal: ConflictError
    ) -> tuple[MetadataState, Change]:
        raise refusal

    def foresees(self, change: Change) -> bool:
        return False

    async def look_ahead(self, definition: bytes, change: Change, *, replays: bool) -> None:  # noqa: B027 - for most there is nothing
        """Nothing but metadata is asked for."""

    def files(self, definition: bytes) -> Sequence[str]:
        return (self._location_in(definition),)

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        return {}
