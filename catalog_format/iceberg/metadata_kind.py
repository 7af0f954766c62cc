"""What tables and views have in common as object kinds: a definition that names a metadata file, updates over raw metadata."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from catalog_format.changes import Change
from catalog_format.errors import NotFoundError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata import Aspects, commute
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
    def _touched(self, updates: Sequence[Json]) -> Aspects: ...

    @abstractmethod
    def _difference(self, base: Json, winner: Json) -> Aspects: ...

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
        metadata = self._updated(state, parsed, context.now_ms)
        return state if metadata is state.metadata else MetadataState(metadata, None, state.location or state.previous)

    async def store(self, identifier: Identifier, state: MetadataState, upload: Upload) -> bytes:
        location = state.location
        if location is None:
            location = await self._files.write(state.metadata, metadata_folder(state.metadata), state.previous, upload)
        return self._definition(state.metadata, self._locations.to_relative(location))

    def forbids(self, base: MetadataState, winner: MetadataState, changes: Sequence[Change]) -> str | None:
        requests = [orjson.loads(change.request) for change in changes]
        if any("metadata" in request for request in requests):
            return "it was replaced as a whole"
        touched = self._touched([update for request in requests for update in request["updates"]])
        return commute(touched, self._difference(base.metadata, winner.metadata))

    def files(self, definition: bytes) -> Sequence[str]:
        return (self._location_in(definition),)

    def farewell(self, definition: bytes, change: Change, version: int, now_ms: int) -> Mapping[bytes, bytes]:
        return {}
