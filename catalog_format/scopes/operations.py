"""What all operations share: the place, and listing the children of a namespace."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import orjson

from catalog_format import paths
from catalog_format.clock import Clock
from catalog_format.errors import InvalidArgumentError, NoSuchNamespaceError
from catalog_format.iceberg.locations import Locations
from catalog_format.iceberg.metadata_files import MetadataFiles
from catalog_format.ids import Ids
from catalog_format.keys import Identifier, ObjectType, children_range, identifier_of, namespace_key
from catalog_format.scope import Listing, Page
from catalog_format.scopes.place import Place, PlaceReader


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What operations use of their catalog, whatever the place."""

    files: MetadataFiles
    locations: Locations
    clock: Clock
    ids: Ids


class Operations:
    """Base of the operations on one type of object."""

    def __init__(self, place: Place, surroundings: Surroundings) -> None:
        self._place = place
        self._files = surroundings.files
        self._locations = surroundings.locations
        self._clock = surroundings.clock
        self._ids = surroundings.ids

    async def _children(self, object_type: ObjectType, parent: Identifier, page: Page | None) -> Listing:
        version, after = (None, None) if page is None or not page.token else _parse_token(page.token)
        async with self._place.reading(version) as reader:
            await _check_namespace(reader, parent)
            low, high = children_range(object_type, parent)
            items: list[Identifier] = []
            last = b""
            async for key in reader.scan(low, high, after):
                if page is not None and len(items) == page.size:
                    return Listing(items, _make_token(reader.version, last))
                items.append(identifier_of(key))
                last = key
            return Listing(items)


async def _check_namespace(reader: PlaceReader, namespace: Identifier) -> None:
    if namespace and not await reader.exists(namespace_key(namespace)):
        raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(namespace)}")


def _make_token(version: int, last: bytes) -> str:
    """A page token names the version it began on, so that all pages are one consistent listing."""
    return base64.urlsafe_b64encode(orjson.dumps([version, last.hex()])).decode()


def _parse_token(token: str) -> tuple[int, bytes]:
    try:
        version, last = orjson.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        after = bytes.fromhex(last)
    except (ValueError, TypeError, binascii.Error):
        raise InvalidArgumentError(f"Page token {token[:40]!r} was not given by this catalog; begin the listing anew") from None
    if not isinstance(version, int) or not 0 <= version < 1 << paths.VERSION_BITS:
        raise InvalidArgumentError(f"Page token {token[:40]!r} was not given by this catalog; begin the listing anew")
    return version, after
