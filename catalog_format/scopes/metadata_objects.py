"""What tables and views share: loading a definition and the metadata file that it names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from catalog_format.changes import Committed
from catalog_format.errors import NoSuchNamespaceError, NotFoundError, TreelineError, UnknownOutcomeError
from catalog_format.iceberg.metadata_files import missing_file
from catalog_format.keys import Identifier, namespace_key
from catalog_format.objects import NamespaceDefinition
from catalog_format.scope import LoadedMetadata
from catalog_format.scopes.operations import Operations


class MetadataOperations(Operations):
    """Base of the operations on objects whose definition names a metadata file."""

    async def _load(
        self, identifier: Identifier, key: bytes, location_in: Callable[[bytes], str], missing: Callable[[Identifier], NotFoundError]
    ) -> LoadedMetadata:
        """One version probe and one existence probe: at the same time, of the metadata file that is probably meant, where probes wait."""
        guess = await self._place.peek(key) if self._files.are_remote else None
        probe: asyncio.Task[bool] | None = None
        if guess is not None and self._files.holds(self._locations.to_absolute(location_in(guess))):
            probe = asyncio.create_task(self._files.exists(self._locations.to_absolute(location_in(guess))))
        try:
            async with self._place.reading() as reader:
                definition = await reader.definition(key)
            if definition is None:
                raise missing(identifier)
            location = self._locations.to_absolute(location_in(definition))
            if probe is None or definition != guess:
                return LoadedMetadata(identifier, location, await self._files.read_anew(location))
            if not await probe:
                raise missing_file(location)
            return LoadedMetadata(identifier, location, await self._files.read(location))
        finally:
            if probe is not None and not probe.done():
                probe.cancel()

    async def _written(self, identifier: Identifier, key: bytes, done: Committed, location_in: Callable[[bytes], str]) -> LoadedMetadata:
        """The object as a write left it."""
        definition = done.definitions[key]
        assert definition is not None
        location = self._locations.to_absolute(location_in(definition))
        try:
            return LoadedMetadata(identifier, location, await self._files.read(location))
        except (TreelineError, OSError) as error:
            # It is committed: whatever a client took for a failure, it might clean up what it wrote.
            raise UnknownOutcomeError(
                f"{'.'.join(identifier)} was changed in version {done.version}, but its metadata cannot be read back: {error}"
            ) from error

    async def _place_for(self, identifier: Identifier, location: str | None) -> str:
        """The location asked for, else one below the namespace's `location`, else the catalog's default."""
        if location:
            return self._locations.check(location.rstrip("/"))
        uuid = self._ids.uuid()
        if len(identifier) > 1:
            async with self._place.reading() as reader:
                definition = await reader.definition(namespace_key(identifier[:-1]))
            if definition is None:
                raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(identifier[:-1])}")
            base = NamespaceDefinition.from_bytes(definition).properties.get("location")
            if base:
                return self._locations.location_below(base, identifier[-1], uuid)
        return self._locations.default_location(identifier, uuid)
