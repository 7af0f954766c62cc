"""A table of many tiny manifests, made with PyIceberg's writers. Its data files are only named: joins do not look at them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

from catalog_format.clock import SystemClock
from catalog_format.ids import SystemIds
from catalog_format.scope import NewTable
from perf.joining.embedded import Client, EmbeddedCatalog

FILES = 2
"""Of each manifest, each in a partition of its own: file n is in partition n."""
_SCHEMA = Schema(NestedField(1, "part", LongType()), NestedField(2, "value", LongType()))
_SPEC = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "part"))
_FILE_BYTES = 1000


def make(catalog: EmbeddedCatalog, name: tuple[str, ...], manifests: int) -> None:
    """A table with one snapshot of so many manifests."""
    client = catalog.main
    new = NewTable(_SCHEMA.model_dump(mode="json"), partition_spec=_SPEC.model_dump(mode="json", by_alias=True))
    catalog.run(client.scope.create_table(name, new))
    table = client.load_table(name)
    snapshot_id = SystemIds().snapshot_id()
    location = f"{table.location()}/metadata/snap-{snapshot_id}-1-{SystemIds().uuid()}.avro"
    with write_manifest_list(2, load_file_io({}, location).new_output(location), snapshot_id, None, 1, "deflate") as listed:
        listed.add_manifests([_manifest(table, number, snapshot_id) for number in range(manifests)])
    _commit(client, table, snapshot_id, location, manifests * FILES)


def rows(part: int) -> pa.Table:
    """One row of a partition."""
    return pa.table({"part": pa.array([part], pa.int64()), "value": pa.array([1], pa.int64())})


def _manifest(table: Table, number: int, snapshot_id: int) -> Any:
    location = f"{table.location()}/metadata/{number:08}-m0.avro"
    with write_manifest(2, table.spec(), table.schema(), table.io.new_output(location), snapshot_id, "deflate") as writer:
        for part in range(number * FILES, (number + 1) * FILES):
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/part={part}/{part:08}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(part),
                record_count=1,
                file_size_in_bytes=_FILE_BYTES,
                # Without these PyIceberg would open a file to find out whether all its rows are to be deleted.
                value_counts={1: 1},
                null_value_counts={1: 0},
                lower_bounds={1: to_bytes(LongType(), part)},
                upper_bounds={1: to_bytes(LongType(), part)},
            )
            file.spec_id = table.spec().spec_id
            writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file))
    return writer.to_manifest_file()


def _commit(client: Client, table: Table, snapshot_id: int, location: str, files: int) -> None:
    totals = {"data-files": files, "records": files, "files-size": files * _FILE_BYTES}
    summary = {"operation": "append", **{f"{what}-{name}": str(count) for name, count in totals.items() for what in ("added", "total")}}
    snapshot = {
        "snapshot-id": snapshot_id,
        "sequence-number": 1,
        "timestamp-ms": SystemClock().now_ms(),
        "manifest-list": location,
        "summary": summary,
        "schema-id": 0,
    }
    ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}
    client.commit(table.name(), [], [{"action": "add-snapshot", "snapshot": snapshot}, ref])
