"""Large catalogs on a local folder, built through the tree without a server: chunks of tables, each chunk one version."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from catalog_format import paths
from catalog_format.catalog import open_catalog
from catalog_format.clock import SystemClock
from catalog_format.definitions import encode_value
from catalog_format.iceberg.metadata import new_table_metadata
from catalog_format.ids import SystemIds
from catalog_format.keys import ObjectType, namespace_key, table_key
from catalog_format.node import RootHeader
from catalog_format.node_codec import decode_root, encode_root
from catalog_format.objects import NamespaceDefinition, TableDefinition
from catalog_format.tree import apply
from perf.wire import NAMESPACE, SCHEMA

OWN_FILES = 10_000
"""So many tables have a metadata file to themselves; the others share one, to spare the disk a file for each."""
SNAPSHOTS = 25
"""Snapshots in those files."""
_CHUNK = 50_000
_MOST_LINKS = 30_000
_FILES = "data/shared/metadata"
_SUMMARY = (
    "added-data-files",
    "added-records",
    "added-files-size",
    "changed-partition-count",
    "total-records",
    "total-files-size",
    "total-data-files",
    "total-delete-files",
    "total-position-deletes",
    "total-equality-deletes",
    "spark.app.id",
    "engine-name",
    "engine-version",
)


def table_name(number: int) -> str:
    return f"t{number:07}"


def own_files(tables: int) -> range:
    """Numbers of the tables with a file to themselves, spread evenly over all."""
    return range(0, tables, max(1, tables // OWN_FILES))


def build(folder: Path, tables: int) -> None:
    """A catalog of so many tables in one namespace."""
    asyncio.run(_build(folder, tables))


async def _build(folder: Path, tables: int) -> None:
    ids, clock = SystemIds(), SystemClock()
    catalog = await open_catalog(str(folder), init=True, node_cache_bytes=1 << 30)
    try:
        own = own_files(tables)
        _write_files(folder, own)
        root = catalog.versions.known
        limits = root.header.catalog.limits
        for start in range(0, tables, _CHUNK):
            definitions: dict[bytes, bytes] = {}
            if start == 0:
                definitions[namespace_key((NAMESPACE,))] = NamespaceDefinition({}).to_bytes()
            for number in range(start, min(tables, start + _CHUNK)):
                file = f"./{_FILES}/{_file_name(number if number in own else None)}"
                definitions[table_key((NAMESPACE, table_name(number)))] = TableDefinition(ids.uuid(), file).to_bytes()
            values: dict[bytes, bytes | None] = {
                key: encode_value(definition, ObjectType.TABLE.value, limits.inline_bytes, "").value
                for key, definition in definitions.items()
            }
            attempt_id, version = ids.attempt_id(), root.version + 1
            update = await apply(root, values, version, limits, catalog.nodes, attempt_id)
            await catalog.nodes.upload(update.nodes)
            made_at = max(clock.now_ms(), root.header.created_at_ms + 1)
            header = RootHeader(version, made_at, root.header.catalog, root.hash, attempt_id, level=update.level)
            data, _ = encode_root(header, update.pivots, update.buffer, [])
            await catalog.storage.put_if_absent(paths.root_path(version), data)
            root = decode_root(version, data)
        await catalog.storage.replace(paths.LATEST_HINT, str(root.version).encode())
    finally:
        await catalog.close()


def own_file_bytes(folder: Path) -> int:
    """Size of the metadata files that tables have to themselves."""
    return (folder / _FILES / _file_name(0)).stat().st_size


def _write_files(folder: Path, own: range) -> None:
    """The metadata files. Those that tables have to themselves are hard links: to the server each is a file of its own."""
    files = folder / _FILES
    files.mkdir(parents=True)
    (files / _file_name(None)).write_bytes(metadata_after(0, f"file://{files.parent}"))
    content = metadata_after(SNAPSHOTS, f"file://{files.parent}")
    linked: Path | None = None
    for count, number in enumerate(own):
        file = files / _file_name(number)
        if linked is None or count % _MOST_LINKS == 0:
            file.write_bytes(content)
            linked = file
        else:
            os.link(linked, file)


def _file_name(number: int | None) -> str:
    owner = "f" * 32 if number is None else f"{number:032x}"
    return f"00000-{owner}.metadata.json"


def metadata_after(snapshots: int, location: str) -> bytes:
    """Metadata as tables have it after so many appends."""
    now_ms = SystemClock().now_ms()
    metadata = new_table_metadata(SCHEMA, None, None, location, {}, None, SystemIds(), now_ms)
    ids = [SystemIds().snapshot_id() for _ in range(snapshots)]
    metadata["last-sequence-number"] = snapshots
    metadata["snapshots"] = [
        {
            "sequence-number": number + 1,
            "snapshot-id": snapshot_id,
            **({"parent-snapshot-id": ids[number - 1]} if number else {}),
            "timestamp-ms": now_ms + number,
            "summary": {"operation": "append", **{name: str(number) for name in _SUMMARY}},
            "manifest-list": f"{location}/metadata/snap-{snapshot_id}-1-{SystemIds().uuid()}.avro",
            "schema-id": 0,
        }
        for number, snapshot_id in enumerate(ids)
    ]
    metadata["snapshot-log"] = [{"snapshot-id": snapshot_id, "timestamp-ms": now_ms + number} for number, snapshot_id in enumerate(ids)]
    if ids:
        metadata |= {
            "current-snapshot-id": ids[-1],
            "refs": {"main": {"snapshot-id": ids[-1], "type": "branch"}},
            "last-updated-ms": now_ms + snapshots,
        }
    return json.dumps(metadata, separators=(",", ":")).encode()
