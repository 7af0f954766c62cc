"""COMMIT of a transaction whose change of a table has to be joined with another one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import CommitTableResponse, Table

from catalog_format.door import TransactionStatus
from catalog_format.errors import RequirementFailedError, TransactionRefusedError
from catalog_format.iceberg.joining import joiner, manifest_reader
from catalog_format.scope import TableCommit
from tests.support.catalogs import ManualClock, setting
from tests.support.pyiceberg_tables import TestLake, ids_in, opened_lake, plain, rows

Json = dict[str, Any]
TABLE = ("ns", "t")


def append_of(lake: TestLake, **snapshot: Any) -> list[Json]:
    """The updates of an append whose files nobody has written."""
    location = f"{lake.load('t').location()}/metadata/snap-7.avro"
    wanted = {
        "snapshot-id": 7,
        "timestamp-ms": lake.clock.now_ms(),
        "manifest-list": location,
        "sequence-number": 2,
        "summary": {"operation": "append"},
    }
    return [
        {"action": "add-snapshot", "snapshot": wanted | snapshot},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 7},
    ]


def head(lake: TestLake) -> int:
    current = lake.load("t").metadata.current_snapshot_id
    assert current is not None
    return current


def commit_inside(lake: TestLake, name: str, commit: TableCommit) -> None:
    async def work() -> None:
        await (await lake.catalog.within(name)).commit_tables([commit])

    lake.run(work())


def test_files_that_cannot_be_read_end_the_transaction(lake: TestLake) -> None:
    """Were it left sealed, it could never end, and would hold its base for ever."""
    lake.create("t", [1])
    lake.run(lake.catalog.transactions.begin("late"))
    commit_inside(lake, "late", TableCommit(TABLE, [], append_of(lake, **{"parent-snapshot-id": head(lake)})))
    lake.load("t").append(rows(2))
    with pytest.raises(TransactionRefusedError, match=r"what both changed cannot be compared: .*snap-7\.avro"):
        lake.run(lake.catalog.transactions.commit("late"))
    assert lake.run(lake.catalog.transactions.load("late")).status is TransactionStatus.REFUSED
    assert ids_in(lake.load("t")) == [1, 2]


def test_a_plain_append_of_files_that_cannot_be_read_stays_refused(lake: TestLake) -> None:
    lake.create("t", [1], **{"treeline.rebase-appends": "true"})
    expected = head(lake)
    lake.load("t").append(rows(2))
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": expected}
    commit = TableCommit(TABLE, [requirement], append_of(lake, **{"parent-snapshot-id": expected, "sequence-number": 2}))
    with pytest.raises(RequirementFailedError, match=r"it was not joined with what came first: .*snap-7\.avro"):
        lake.run(lake.catalog.main.commit_tables([commit]))
    assert ids_in(lake.load("t")) == [1, 2]


@pytest.mark.parametrize("rival", [None, "another property"])
def test_who_has_no_rival_reads_no_manifest(lake: TestLake, rival: str | None) -> None:
    """Nor does one whose rival added no files: the own ones are not even there."""
    lake.create("t", [1])
    lake.run(lake.catalog.transactions.begin("alone"))
    commit_inside(lake, "alone", TableCommit(TABLE, [], append_of(lake, **{"parent-snapshot-id": head(lake)})))
    if rival is not None:
        lake.run(lake.catalog.main.commit_tables([setting(*TABLE, note=rival)]))
    lake.run(lake.catalog.transactions.commit("alone"))
    assert head(lake) == 7


def test_members_of_one_group_join_without_any_cache(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that a member made are not in the store yet when the next one is put on top of them."""
    monkeypatch.setattr(manifest_reader, "DECODED_CACHE", 0)
    monkeypatch.setattr(joiner, "REPEATED_CACHE", 0)
    with opened_lake(tmp_path, clock) as lake:
        lake.create("t", [1], **{"treeline.rebase-appends": "true"})
        wanted: list[TableCommit] = []

        def hold(table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
            wanted.append(TableCommit(table.name(), [plain(one) for one in requirements], [plain(one) for one in updates]))
            return CommitTableResponse(metadata=table.metadata, metadata_location=table.metadata_location)

        with monkeypatch.context() as context:
            context.setattr(lake, "commit_table", hold)
            for number in range(2, 12):
                lake.load("t").append(rows(number))
        before = lake.run(lake.catalog.latest_version())

        async def all_at_once() -> None:
            await asyncio.gather(*(lake.catalog.main.commit_tables([commit]) for commit in wanted))

        lake.run(all_at_once())
        assert lake.run(lake.catalog.latest_version()) == before + 1, "one group"
        assert ids_in(lake.load("t")) == list(range(1, 12))
