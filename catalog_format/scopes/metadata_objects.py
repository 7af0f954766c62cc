"""What tables and views share: loading a definition and the metadata file that it names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from catalog_format.changes import Committed
from catalog_format.errors import NoSuchNamespaceError, NotFoundError, TreelineError, UnknownOutcomeError
from catalog_format.iceberg.metadata_files import missing_file
from catalog_format.iceberg.requests import create_request
from catalog_format.keys import Identifier, namespace_key
from catalog_format.objects import NamespaceDefinition
from catalog_format.scope import Json, LoadedMetadata
from catalog_format.scopes.operations import Operations


class MetadataOperations(Operations):
    """Base of the operations on objects whose definition names a metadata file."""

    async def _load(
        self,
        identifier: Identifier,
        key: bytes,
        location_in: Callable[[bytes], str],
        missing: Callable[[Identifier], NotFoundError],
        held: LoadedMetadata | None = None,
    ) -> LoadedMetadata:
        """One version probe and one existence probe: at the same time, of the metadata file that is probably meant, where probes wait."""
        guess = held or await self._guess(identifier, key, location_in)
        probe: asyncio.Task[bool] | None = None
        if guess is not None and self._files.are_remote:
            probe = asyncio.create_task(self._files.exists(guess.metadata_location))
        try:
            # The metadata file within it, too: it may be gone because the version was given up or the transaction has ended.
            async with self._place.reading() as reader:
                definition = await reader.definition(key)
                if definition is None:
                    raise missing(identifier)
                if guess is None or definition != guess.definition:
                    location = self._locations.to_absolute(location_in(definition))
                    return LoadedMetadata(identifier, location, await self._files.read_anew(location), definition)
                if not await (probe or self._files.exists(guess.metadata_location)):
                    raise missing_file(guess.metadata_location)
                return guess
        finally:
            if probe is not None and not probe.cancel() and not probe.cancelled():
                # Taken notice of, for the case that something else failed first.
                probe.exception()

    async def _location_of(self, key: bytes, location_in: Callable[[bytes], str]) -> str | None:
        """Where the tree says that the metadata file is; None if there is no such object."""
        async with self._place.reading() as reader:
            definition = await reader.definition(key)
        return None if definition is None else self._locations.to_absolute(location_in(definition))

    def _register_request(self, metadata: Json, metadata_location: str) -> bytes:
        """A file that Treeline wrote goes with the object it was written for: another one gets a copy under a name of its own."""
        own = self._locations.below_root(metadata_location) is not None
        return create_request(metadata, None if own else metadata_location)

    async def _guess(self, identifier: Identifier, key: bytes, location_in: Callable[[bytes], str]) -> LoadedMetadata | None:
        """What a load will probably come to; None if that cannot be said without asking, or asking costs nothing."""
        definition = await self._place.peek(key) if self._files.are_remote else None
        if definition is None:
            return None
        location = self._locations.to_absolute(location_in(definition))
        metadata = self._files.cached(location)
        return None if metadata is None else LoadedMetadata(identifier, location, metadata, definition)

    async def _written(self, identifier: Identifier, key: bytes, done: Committed, location_in: Callable[[bytes], str]) -> LoadedMetadata:
        """The object as a write left it."""
        definition = done.definitions[key]
        assert definition is not None
        location = self._locations.to_absolute(location_in(definition))
        try:
            return LoadedMetadata(identifier, location, await self._files.read(location), definition)
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
