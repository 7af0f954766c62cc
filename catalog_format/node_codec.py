"""Node files: pure functions between nodes and their bytes (Arrow IPC file format), hashes included."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog_format.errors import CorruptFileError, NewerFormatError
from catalog_format.node import Entry, Node, Root, RootHeader, Rows, rows_batch, rows_schema
from catalog_format.objects import CatalogDefinition

FORMAT_VERSION = 1
NO_HASH = "0" * 64
"""Stands for the hash of the root before the first one, and for a root's own hash while it is computed."""

_PREFIX = "treeline."
_WRITE_OPTIONS = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5)
# The schema, and with it a root's own hash, stands twice in an Arrow file: in front and in the footer.
_HASH_PLACES = 2


@dataclass(frozen=True, slots=True)
class EncodedNode:
    """A node's bytes and its name, which is their SHA-256 in hex."""

    name: str
    data: bytes
    level: int


def encode_node(entries: Sequence[Entry], level: int, attempt_id: str) -> EncodedNode:
    """Bytes of a node below the root. The attempt id inside keeps two attempts from sharing a name."""
    data = _write(entries, {"kind": "node", "level": str(level), "attempt-id": attempt_id, "sections": f"{len(entries)},0,0"})
    return EncodedNode(hashlib.sha256(data).hexdigest(), data, level)


def decode_node(name: str, data: bytes) -> Node:
    """The node called `name`. Raises `CorruptFileError` if the bytes are not exactly what was written under that name."""
    if hashlib.sha256(data).hexdigest() != name:
        raise CorruptFileError(f"Node {name} is damaged: its {len(data)} bytes do not have the hash that its name states")
    where = f"Node {name}"
    keys, batch = _read(data, where)
    if keys.get("kind") != "node":
        raise CorruptFileError(f"{where} is not a node below the root but {keys.get('kind')!r}")
    pivots, _, _ = _sections(keys, batch, where)
    level = keys.get("level", "")
    if not level.isdecimal():
        raise CorruptFileError(f"{where} misstates its level: {level!r}")
    return Node(name, int(level), Rows(batch, 0, pivots), len(data))


def encode_root(header: RootHeader, pivots: Sequence[Entry], buffer: Sequence[Entry], actions: Sequence[Entry]) -> tuple[bytes, str]:
    """Bytes of a root and its own hash: SHA-256 of the file with the hash's two places filled by 64 zeros."""
    sections = f"{len(pivots)},{len(buffer)},{len(actions)}"
    return _seal(_root_keys(header, "root", sections), [*pivots, *buffer, *actions], header.version)


def encode_stub(root: Root) -> bytes:
    """Bytes of what remains of a root whose version is given up: everything but its pivots and its buffer."""
    actions = root.actions.entries()
    keys = {**_root_keys(root.header, "stub", f"0,0,{len(actions)}"), "root-hash": root.hash}
    return _seal(keys, actions, root.version)[0]


def _root_keys(header: RootHeader, kind: str, sections: str) -> dict[str, str]:
    keys = {
        "kind": kind,
        "level": str(header.level),
        "attempt-id": header.attempt_id,
        "sections": sections,
        "version": str(header.version),
        "created-at-ms": str(header.created_at_ms),
        "catalog": base64.b64encode(header.catalog.to_bytes()).decode(),
        "previous-hash": header.previous_hash,
        "oldest": str(header.oldest),
        "collect-epoch": str(header.collect_epoch),
        "transaction-ids": ",".join(header.transaction_ids),
    }
    if header.stubbed_below:
        keys["stubbed-below"] = str(header.stubbed_below)
    if header.unstubbed:
        keys["unstubbed"] = ",".join(map(str, header.unstubbed))
    if header.rolled_back_from is not None:
        keys["rolled-back-from"] = str(header.rolled_back_from)
    return keys


def _seal(keys: Mapping[str, str], entries: Sequence[Entry], version: int) -> tuple[bytes, str]:
    """The file's bytes with its own hash in their places, and that hash."""
    # A marker that nobody can have written into a value: it depends on this attempt and on all keys.
    marker = hashlib.sha256(repr(sorted(keys.items())).encode()).hexdigest()
    data = _write(entries, {**keys, "hash": marker})
    own_hash = _hash_without(data, marker, f"Root of version {version}")
    return data.replace(marker.encode(), own_hash.encode()), own_hash


def decode_root(version: int, data: bytes) -> Root:
    """The root of `version`, or its stub. Raises `CorruptFileError` for altered or truncated bytes, `NewerFormatError`."""
    where = f"Root of version {version}"
    keys, batch = _read(data, where)
    if keys.get("kind") not in {"root", "stub"}:
        raise CorruptFileError(f"{where} is not a root node but {keys.get('kind')!r}")
    try:
        own_hash = keys["hash"]
        if len(own_hash) != len(NO_HASH) or _hash_without(data, own_hash, where) != own_hash:
            raise CorruptFileError(f"{where} is damaged: its {len(data)} bytes do not have the hash that it states")
        stub = keys["kind"] == "stub"
        rolled_back_from = keys.get("rolled-back-from")
        header = RootHeader(
            version=int(keys["version"]),
            created_at_ms=int(keys["created-at-ms"]),
            catalog=CatalogDefinition.from_bytes(base64.b64decode(keys["catalog"])),
            previous_hash=keys["previous-hash"],
            attempt_id=keys["attempt-id"],
            transaction_ids=tuple(part for part in keys["transaction-ids"].split(",") if part),
            level=int(keys["level"]),
            oldest=int(keys["oldest"]),
            collect_epoch=int(keys["collect-epoch"]),
            stubbed_below=int(keys.get("stubbed-below", "0")),
            unstubbed=tuple(int(part) for part in keys.get("unstubbed", "").split(",") if part),
            rolled_back_from=int(rolled_back_from) if rolled_back_from is not None else None,
        )
        root_hash = keys["root-hash"] if stub else own_hash
    except (KeyError, ValueError) as error:
        raise CorruptFileError(f"{where} lacks or misstates a system key: {error}") from None
    if header.version != version:
        raise CorruptFileError(f"{where} says that it is version {header.version}: somebody moved the file")
    pivots, buffer, actions = _sections(keys, batch, where)
    if stub and pivots + buffer:
        raise CorruptFileError(f"{where} is a stub and holds entries all the same")
    return Root(
        header=header,
        hash=root_hash,
        pivots=Rows(batch, 0, pivots),
        buffer=Rows(batch, pivots, pivots + buffer),
        actions=Rows(batch, pivots + buffer, pivots + buffer + actions),
        size_bytes=len(data),
        stub=stub,
    )


def _write(entries: Sequence[Entry], keys: Mapping[str, str]) -> bytes:
    metadata = {f"{_PREFIX}format-version".encode(): str(FORMAT_VERSION).encode()}
    metadata.update({f"{_PREFIX}{key}".encode(): value.encode() for key, value in keys.items()})
    schema = rows_schema(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema, options=_WRITE_OPTIONS) as writer:
        writer.write_batch(rows_batch(entries, schema))
    return bytes(sink.getvalue())


def _read(data: bytes, where: str) -> tuple[dict[str, str], Any]:
    try:
        reader = pa.ipc.open_file(pa.py_buffer(data))
        metadata = reader.schema.metadata or {}
        keys = {key.decode().removeprefix(_PREFIX): value.decode() for key, value in metadata.items() if key.startswith(_PREFIX.encode())}
        version = int(keys.get("format-version", "-1"))
        if version > FORMAT_VERSION:
            raise NewerFormatError(f"{where} has format version {version}; this Treeline reads up to {FORMAT_VERSION}: update it")
        if version < 1:
            raise CorruptFileError(f"{where} is not a Treeline node: it states no format version")
        if reader.num_record_batches != 1 or not reader.schema.equals(rows_schema(), check_metadata=False):
            raise CorruptFileError(f"{where} is an Arrow file of another shape than a node's")
        return keys, reader.get_batch(0)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptFileError(f"{where} is damaged: not a readable Arrow file of {len(data)} bytes ({type(error).__name__})") from None


def _sections(keys: Mapping[str, str], batch: Any, where: str) -> tuple[int, int, int]:
    try:
        pivots, buffer, actions = (int(part) for part in keys["sections"].split(","))
    except (KeyError, ValueError):
        raise CorruptFileError(f"{where} misstates its sections: {keys.get('sections')!r}") from None
    if min(pivots, buffer, actions) < 0 or pivots + buffer + actions != batch.num_rows:
        raise CorruptFileError(f"{where} has {batch.num_rows} rows but states sections {keys['sections']}")
    return pivots, buffer, actions


def _hash_without(data: bytes, own_hash: str, where: str) -> str:
    """SHA-256 of `data` with the places of `own_hash` filled by zeros."""
    if data.count(own_hash.encode()) != _HASH_PLACES:
        raise CorruptFileError(f"{where} is damaged: its own hash does not stand in its {_HASH_PLACES} places")
    return hashlib.sha256(data.replace(own_hash.encode(), NO_HASH.encode())).hexdigest()
