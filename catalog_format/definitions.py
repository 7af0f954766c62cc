"""Values of the tree: a definition inline, or in a file of its own when it is large."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from catalog_format import paths
from catalog_format.errors import CorruptFileError, LostFileError
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.storage import Storage


@dataclass(frozen=True, slots=True)
class EncodedValue:
    """The value to be put into the tree, and the file to be uploaded before it, if any."""

    value: bytes
    file: tuple[str, bytes] | None = None


def encode_value(definition: bytes, type_id: str, inline_bytes: int, attempt_id: str) -> EncodedValue:
    """Pure: definitions over `inline_bytes` go to `def/<type>/<hash>.binpb`."""
    if len(definition) <= inline_bytes:
        return EncodedValue(pb.Value(inline=definition).SerializeToString())
    data = pb.DefinitionFile(attempt_id=attempt_id, definition=definition).SerializeToString(deterministic=True)
    path = paths.definition_path(type_id, hashlib.sha256(data).hexdigest())
    return EncodedValue(pb.Value(file=path).SerializeToString(), (path, data))


def file_of(value: bytes) -> str | None:
    """Path of the definition file that a value names."""
    held = pb.Value.FromString(value)
    return held.file if held.WhichOneof("held") == "file" else None


async def read_definition(value: bytes, storage: Storage) -> bytes:
    """The definition that a value holds. Raises `LostFileError` if its file is missing, `CorruptFileError` if it is altered."""
    held = pb.Value.FromString(value)
    if held.WhichOneof("held") != "file":
        return held.inline
    try:
        data = await storage.get(held.file)
    except FileNotFoundError:
        raise LostFileError(f"Definition file {held.file} is missing: restore it, or run `treeline check`") from None
    if held.file.rpartition("/")[2] != f"{hashlib.sha256(data).hexdigest()}.binpb":
        raise CorruptFileError(f"Definition file {held.file} is damaged: its bytes do not have the hash that its name states")
    return pb.DefinitionFile.FromString(data).definition
