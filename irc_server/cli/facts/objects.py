"""The objects of a version: all of them, or one with its definition decoded."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from catalog_format.catalog import StoredCatalog
from catalog_format.clock import iso
from catalog_format.definitions import file_of, read_definition
from catalog_format.errors import InvalidArgumentError, NewerFormatError, NotFoundError
from catalog_format.iceberg.locations import Locations
from catalog_format.keys import USER_TYPES, Identifier, ObjectType, describe, identifier_of, object_key, type_of, type_range
from catalog_format.node import Entry, Root
from catalog_format.objects import NamespaceDefinition, TableDefinition, ViewDefinition
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.tree import lookup, scan
from irc_server.cli.facts.actions import name_of, read_words, type_name

_KEY = re.compile(r"[A-Z]===.*", re.DOTALL)
_ESCAPE = re.compile(r"\\x(1[ef])", re.IGNORECASE)
EVERY_TYPE = tuple(ObjectType)


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """One entry of the tree."""

    type: str
    name: tuple[str, ...]
    stamp: int
    """The version that last wrote it."""
    key: str
    metadata_location: str | None
    """Of tables and views: where their current metadata file lies, as clients are told."""


@dataclass(frozen=True, slots=True)
class DetailedFacts:
    """One entry of the tree with what it holds."""

    version: int
    """The version that was read."""
    type: str
    name: tuple[str, ...]
    stamp: int
    key: str
    metadata_location: str | None
    definition: dict[str, Any]
    definition_file: str | None
    """Where the definition lies if it was too large to be inlined."""


async def all_objects(catalog: StoredCatalog, root: Root, *, bookkeeping: bool) -> AsyncGenerator[ObjectFacts, None]:
    """In key order, which is by type and then by name; with `bookkeeping`, Treeline's own entries too. Raises `CorruptFileError`."""
    for object_type in EVERY_TYPE if bookkeeping else USER_TYPES:
        async with aclosing(scan(root, *type_range(object_type), catalog.nodes)) as entries:
            async for entry in entries:
                location = _location(catalog, entry.key, await _held(catalog, entry))
                yield ObjectFacts(type_name(entry.key), name_of(entry.key), entry.stamp, entry.key.decode(), location)


async def find_objects(catalog: StoredCatalog, root: Root, text: str) -> list[DetailedFacts]:
    """What a key (as listed; `\\x1e` and `\\x1f` may be written like that) or a dotted name stands for.

    A name can be that of a namespace and of a table or view at once. Raises `NotFoundError`, `InvalidArgumentError`.
    """
    found = [entry for key in _keys(text) if (entry := await lookup(root, key, catalog.nodes)) is not None]
    if not found:
        raise NotFoundError(f"Nothing is called {text} in version {root.version} of {catalog.url}")
    return [await _details(catalog, root, entry) for entry in found]


def table_named(text: str) -> Identifier:
    """The table that a dotted name, or a key as listed, stands for, whether it is there or not. Raises `InvalidArgumentError`."""
    for key in _keys(text):
        if type_of(key) is ObjectType.TABLE:
            return identifier_of(key)
    raise InvalidArgumentError(f"{text!r} is not the key of a table")


def _keys(text: str) -> list[bytes]:
    if _KEY.fullmatch(text):
        key = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text).encode()
        try:
            type_of(key)
        except NewerFormatError:
            raise InvalidArgumentError(f"{text!r} is no key of a type that this Treeline knows") from None
        return [key]
    return [object_key(object_type, tuple(text.split("."))) for object_type in USER_TYPES]


async def _held(catalog: StoredCatalog, entry: Entry) -> bytes:
    return await read_definition(entry.value or b"", catalog.storage)


async def _details(catalog: StoredCatalog, root: Root, entry: Entry) -> DetailedFacts:
    held = await _held(catalog, entry)
    return DetailedFacts(
        root.version,
        type_name(entry.key),
        name_of(entry.key),
        entry.stamp,
        entry.key.decode(),
        _location(catalog, entry.key, held),
        _DECODERS[type_of(entry.key)](held),
        file_of(entry.value or b""),
    )


def _location(catalog: StoredCatalog, key: bytes, held: bytes) -> str | None:
    match type_of(key):
        case ObjectType.TABLE:
            stored = TableDefinition.from_bytes(held).metadata_location
        case ObjectType.VIEW:
            stored = ViewDefinition.from_bytes(held).metadata_location
        case _:
            return None
    return Locations(catalog.url).to_absolute(stored)


def _namespace(held: bytes) -> dict[str, Any]:
    return {"properties": dict(NamespaceDefinition.from_bytes(held).properties)}


def _table(held: bytes) -> dict[str, Any]:
    table = TableDefinition.from_bytes(held)
    return {"table_uuid": table.table_uuid, "metadata_location": table.metadata_location}


def _view(held: bytes) -> dict[str, Any]:
    view = ViewDefinition.from_bytes(held)
    return {"view_uuid": view.view_uuid, "metadata_location": view.metadata_location}


def _outcome(held: bytes) -> dict[str, Any]:
    outcome = pb.Outcome.FromString(held)
    return {
        "transaction_id": outcome.transaction_id,
        "committed": outcome.committed,
        "reason": outcome.reason,
        "decided_at": iso(outcome.decided_at_ms),
        "version": outcome.version,
    }


def _idempotent(held: bytes) -> dict[str, Any]:
    kept = pb.IdempotentAnswer.FromString(held)
    answer = pb.CommittedAnswer.FromString(kept.answer)
    return {
        "request_hash": kept.request_hash.hex(),
        "answered_at": iso(kept.answered_at_ms),
        "version": answer.version,
        "written": [read_words(written.key) for written in answer.written],
    }


def _purge(held: bytes) -> dict[str, Any]:
    wish = pb.PurgeWish.FromString(held)
    return {"metadata_location": wish.metadata_location, "requested_at": iso(wish.requested_at_ms), "dropped": describe(wish.key)}


def _opaque(held: bytes) -> dict[str, Any]:
    return {"hex": held.hex()}


_DECODERS: dict[ObjectType, Callable[[bytes], dict[str, Any]]] = {
    ObjectType.CATALOG: _opaque,
    ObjectType.NAMESPACE: _namespace,
    ObjectType.TABLE: _table,
    ObjectType.VIEW: _view,
    ObjectType.OUTCOME: _outcome,
    ObjectType.IDEMPOTENCY: _idempotent,
    ObjectType.PURGE: _purge,
}
