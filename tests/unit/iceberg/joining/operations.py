"""One operation of every kind, on a file or name of three degrees of nearness to another's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, NamedTuple

from tests.support.snapshot_writer import File, SnapshotWriter, equality_deletes, position_deletes, vector
from tests.unit.iceberg.examples import field, order, schema, set_ref, spec
from tests.unit.iceberg.joining.harness import ROOT, data, path

Json = dict[str, Any]


class Level(StrEnum):
    """What the rival's change is about, seen from the own one, which is about file a1 in partition 1."""

    FAR = "another partition, or another name"
    NEAR = "another file of the partition"
    SAME = "the same file, or the same name"


class About(NamedTuple):
    """What an operation of one side is about."""

    role: str
    file: str
    partition: int
    name: str
    snapshot: int

    def new(self, what: str) -> File:
        return data(f"{self.role}-{what}", self.partition)

    @property
    def position_deletes(self) -> File:
        return position_deletes(path(f"{self.role}-deletes"), self.partition, path(self.file))

    def deletes(self, version: int) -> File:
        """Of rows of the file, by position."""
        if version < 3:
            return self.position_deletes
        return vector(path(f"{self.role}-vectors"), path(self.file), 4, self.partition)

    @property
    def partners(self) -> list[str]:
        """The files of its partition."""
        return [path(name) for name in (("a1", "a2") if self.partition == 1 else ("b1", "b2"))]


OWN = About("own", "a1", 1, "n1", 1)
RIVALS = {
    Level.FAR: About("rival", "b1", 2, "n2", 2),
    Level.NEAR: About("rival", "a2", 1, "n2", 2),
    Level.SAME: About("rival", "a1", 1, "n1", 1),
}
Operation = Callable[[SnapshotWriter, About], Awaitable[list[Json]]]


class Kind(NamedTuple):
    """A row and a column of the matrix."""

    operation: Operation
    versions: tuple[int, ...] = (1, 2, 3)


def _metadata(make: Callable[[About], list[Json]]) -> Operation:
    async def operation(writer: SnapshotWriter, about: About) -> list[Json]:
        return make(about)

    return operation


async def _append(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("append", [about.new("new")])


async def _merged_append(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("append", [about.new("new")], merge=True)


async def _delete(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("delete", removed=[path(about.file)])


async def _overwrite(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("overwrite", [about.new("new")], [path(about.file)])


async def _blind_overwrite(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("overwrite", [about.new("new")])


async def _delete_on_read(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("delete", [about.deletes(writer.version)])


async def _update_on_read(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("overwrite", [about.deletes(writer.version), about.new("new")])


async def _upsert(writer: SnapshotWriter, about: About) -> list[Json]:
    deletes = equality_deletes(path(f"{about.role}-equality"), about.partition)
    return await writer.write("overwrite", [deletes, about.new("new")])


async def _compact(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("replace", [about.new("compacted")], [path(about.file)])


async def _rewrite_manifests(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("replace", rewrite_manifests=True)


async def _replace_partitions(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("overwrite", [about.new("new")], about.partners, replace_partitions="true")


async def _stage(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("append", [about.new("staged")], branch=None, wap_id=about.name)


async def _append_to_branch(writer: SnapshotWriter, about: About) -> list[Json]:
    return await writer.write("append", [about.new("new")], branch="dev")


async def _publish(writer: SnapshotWriter, about: About) -> list[Json]:
    """As a cherry-pick does it."""
    return await writer.write("append", [about.new("published")], published_wap_id=about.name)


def _statistics(about: About) -> list[Json]:
    file = {"snapshot-id": about.snapshot, "statistics-path": f"{ROOT}stats-{about.role}", "file-size-in-bytes": 1}
    return [{"action": "set-partition-statistics", "partition-statistics": file}]


def _column(about: About) -> list[Json]:
    added = field(4, f"c{about.name}")
    return [
        {"action": "add-schema", "schema": schema(*schema()["fields"], added)},
        {"action": "set-current-schema", "schema-id": -1},
    ]


KINDS: dict[str, Kind] = {
    "append": Kind(_append),
    "append, merging manifests": Kind(_merged_append),
    "delete of whole files": Kind(_delete),
    "overwrite, copy-on-write": Kind(_overwrite),
    "overwrite that matched nothing": Kind(_blind_overwrite),
    "delete, merge-on-read": Kind(_delete_on_read, (2, 3)),
    "update, merge-on-read": Kind(_update_on_read, (2, 3)),
    "upsert, equality deletes": Kind(_upsert, (2, 3)),
    "replace partitions": Kind(_replace_partitions),
    "rewrite of data files": Kind(_compact),
    "rewrite of manifests": Kind(_rewrite_manifests),
    "append to another branch": Kind(_append_to_branch),
    "staged append": Kind(_stage),
    "publication of a staged append": Kind(_publish),
    "retention of the branch": Kind(_metadata(lambda about: [set_ref("main", 3) | {"min-snapshots-to-keep": 2}])),
    "rollback": Kind(_metadata(lambda about: [set_ref("main", about.snapshot)])),
    "tag": Kind(_metadata(lambda about: [set_ref(f"tag-{about.name}", about.snapshot, "tag")])),
    "expire snapshots": Kind(_metadata(lambda about: [{"action": "remove-snapshots", "snapshot-ids": [about.snapshot]}])),
    "statistics": Kind(_metadata(_statistics)),
    "add a column": Kind(_metadata(_column)),
    "partition spec": Kind(
        _metadata(
            lambda about: [
                {"action": "add-spec", "spec": spec((3, "day", "p"), (1, "bucket[4]", f"b{about.name}"))},
                {"action": "set-default-spec", "spec-id": -1},
            ]
        )
    ),
    "sort order": Kind(
        _metadata(
            lambda about: [
                {"action": "add-sort-order", "sort-order": order((1, "identity"))},
                {"action": "set-default-sort-order", "sort-order-id": -1},
            ]
        )
    ),
    "property": Kind(_metadata(lambda about: [{"action": "set-properties", "updates": {about.name: about.role}}])),
    "location": Kind(_metadata(lambda about: [{"action": "set-location", "location": f"memory://elsewhere/{about.role}"}])),
    "format version": Kind(_metadata(lambda about: [{"action": "upgrade-format-version", "format-version": 3}]), (1, 2)),
}
