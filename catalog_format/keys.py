"""Keys of the tree: what orders objects so that the children of one parent lie together.

A key is `<type, base64, padded with "=" to 4 characters><parent levels joined by 0x1F> 0x1E <name>`, in UTF-8.
Since 0x1E sorts before 0x1F, the children of `a` come before everything below `a.b`, at any depth.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import lru_cache

from catalog_format.errors import InvalidArgumentError, NewerFormatError

LEVEL_SEPARATOR = "\x1f"
NAME_SEPARATOR = "\x1e"
MAX_KEY_BYTES = 1024
_FIRST_PRINTABLE = 0x20
_DELETE = 0x7F

Identifier = tuple[str, ...]
"""Levels of a name, outermost first: ("db", "orders")."""


class ObjectType(StrEnum):
    """The type id that begins a key. Letters are never reused."""

    CATALOG = "A"
    NAMESPACE = "B"
    TABLE = "C"
    VIEW = "D"
    OUTCOME = "E"
    IDEMPOTENCY = "F"
    PURGE = "G"

    @property
    def prefix(self) -> bytes:
        """The 4 bytes that begin every key of this type."""
        return self.value.ljust(4, "=").encode()


# Types that a user made; the others are Treeline's own bookkeeping.
USER_TYPES = (ObjectType.NAMESPACE, ObjectType.TABLE, ObjectType.VIEW)


def check_name(name: str) -> None:
    """Raise `InvalidArgumentError` unless `name` can be one level of an identifier."""
    if not name:
        raise InvalidArgumentError("A name must not be empty")
    if name in {".", ".."}:
        # HTTP clients take them out of paths, and what is left names another object.
        raise InvalidArgumentError(f"A name must not be {name!r}")
    for character in name:
        code = ord(character)
        if code < _FIRST_PRINTABLE or code == _DELETE:
            raise InvalidArgumentError(f"Name {name!r} contains the control character U+{code:04X}; remove it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"Name {name!r} is not valid Unicode") from None


@lru_cache(maxsize=4096)
def object_key(object_type: ObjectType, identifier: Identifier) -> bytes:
    """Key of a namespace, table or view. Raises `InvalidArgumentError` for bad names and for keys over 1 KiB."""
    if not identifier:
        raise InvalidArgumentError("An identifier must have at least one level")
    for level in identifier:
        check_name(level)
    key = object_type.prefix + LEVEL_SEPARATOR.join(identifier[:-1]).encode() + NAME_SEPARATOR.encode() + identifier[-1].encode()
    if len(key) > MAX_KEY_BYTES:
        raise InvalidArgumentError(
            f"The name {'.'.join(identifier)[:80]}… takes {len(key)} bytes with its parents; at most {MAX_KEY_BYTES} fit: shorten it"
        )
    return key


def namespace_key(identifier: Identifier) -> bytes:
    return object_key(ObjectType.NAMESPACE, identifier)


def table_key(identifier: Identifier) -> bytes:
    return object_key(ObjectType.TABLE, identifier)


def view_key(identifier: Identifier) -> bytes:
    return object_key(ObjectType.VIEW, identifier)


CATALOG_KEY = ObjectType.CATALOG.prefix + NAME_SEPARATOR.encode()
"""Stands for the catalog itself where an action is about it; the tree holds no such entry."""


def outcome_key(base_version: int, transaction_id: str) -> bytes:
    """Key of a verdict. It starts with the base version, so that outcomes age together."""
    return _own_key(ObjectType.OUTCOME, f"{base_version:020d}", transaction_id)


def idempotency_key(client_key: str) -> bytes:
    """Raises `InvalidArgumentError` for keys that are too long or hold control characters."""
    return _own_key(ObjectType.IDEMPOTENCY, "", client_key)


def purge_key(version: int, table_uuid: str, metadata_location: str) -> bytes:
    """Key of a purge wish, recorded by the commit of `version`. Tables that were registered twice share a UUID, but no metadata."""
    which = hashlib.sha256(metadata_location.encode()).hexdigest()[:16]
    return _own_key(ObjectType.PURGE, f"{version:020d}", f"{table_uuid}.{which}")


def _own_key(object_type: ObjectType, parent: str, name: str) -> bytes:
    """Key of an entry of Treeline's own; its name comes from outside all the same."""
    check_name(name)
    key = object_type.prefix + f"{parent}{NAME_SEPARATOR}{name}".encode()
    if len(key) > MAX_KEY_BYTES:
        raise InvalidArgumentError(f"{name[:40]}… is too long for a key: it takes {len(key)} bytes of at most {MAX_KEY_BYTES}")
    return key


def children_range(object_type: ObjectType, parent: Identifier) -> tuple[bytes, bytes]:
    """[low, high) of the keys of `parent`'s direct children of one type; () is the root."""
    stem = object_type.prefix + LEVEL_SEPARATOR.join(parent).encode()
    return stem + b"\x1e", stem + b"\x1f"


def type_range(object_type: ObjectType) -> tuple[bytes, bytes]:
    """[low, high) of all keys of one type."""
    prefix = object_type.prefix
    return prefix, prefix[:-1] + bytes([prefix[-1] + 1])


def type_of(key: bytes) -> ObjectType:
    """The object type of a key. Raises `NewerFormatError` for one that this Treeline does not know."""
    try:
        return ObjectType(key[:4].rstrip(b"=").decode())
    except ValueError:
        raise NewerFormatError(
            f"The catalog holds an object of an unknown type, {key[:4]!r}, which may name files: update Treeline"
        ) from None


def identifier_of(key: bytes) -> Identifier:
    """Levels of the object that `key` names (for outcomes and the like: its two parts)."""
    parent, _, name = key[4:].partition(b"\x1e")
    levels = parent.decode().split(LEVEL_SEPARATOR) if parent else []
    return (*levels, name.decode())


def describe(key: bytes) -> str:
    """The object in words, such as "table a.b.t"."""
    if key == CATALOG_KEY:
        return "the catalog"
    try:
        kind = type_of(key).name.lower()
    except NewerFormatError:
        kind = f"object of the unknown type {key[:4]!r},"
    return f"{kind} {'.'.join(identifier_of(key))}"
