"""COMMIT of a transaction whose change of a table has to be joined with another one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyiceberg.table import CommitTableResponse, Table

from catalog_format.door import TransactionStatus
from catalog_format.errors import RequirementFailedError, RetryLater, TransactionRefusedError
from catalog_format.iceberg.joining import joiner, manifest_reader
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.scope import TableCommit
from catalog_format.storage import FaultyStorage, Storage
from catalog_format.storage.faulty import Denied, Fault, LostRequest, Rule, ScriptedPlan
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


def appended_at_once(lake: TestLake, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """So many appends, all made on the same snapshot, that come at the same time."""
    with held(lake, monkeypatch) as wanted:
        for row in range(number):
            lake.load("t").append(rows(100 + row))
    before = lake.run(lake.catalog.latest_version())

    async def all_at_once() -> None:
        async with asyncio.timeout(30):
            await asyncio.gather(*(lake.catalog.main.commit_tables([commit]) for commit in wanted))

    lake.run(all_at_once())
    assert lake.run(lake.catalog.latest_version()) == before + 1, "one group"


@contextmanager
def held(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[TableCommit]]:
    """What PyIceberg commits meanwhile is kept in the list, and not sent."""
    wanted: list[TableCommit] = []

    def hold(table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        wanted.append(TableCommit(table.name(), [plain(one) for one in requirements], [plain(one) for one in updates]))
        return CommitTableResponse(metadata=table.metadata, metadata_location=table.metadata_location)

    with monkeypatch.context() as context:
        context.setattr(lake, "commit_table", hold)
        yield wanted


@pytest.mark.parametrize("rebases", ["false", "true"])
@pytest.mark.parametrize("others", [0, 1])
def test_a_plain_append_that_comes_twice_is_a_conflict(lake: TestLake, monkeypatch: pytest.MonkeyPatch, rebases: str, others: int) -> None:
    """By any other answer a client takes its first commit for one that failed, and removes its files."""
    lake.create("t", [1], **{"treeline.rebase-appends": rebases})
    with held(lake, monkeypatch) as wanted:
        lake.load("t").append(rows(2))
    lake.run(lake.catalog.main.commit_tables(wanted))
    for _ in range(others):
        lake.load("t").append(rows(3))
    with pytest.raises(RequirementFailedError, match="branch main has changed"):
        lake.run(lake.catalog.main.commit_tables(wanted))
    assert ids_in(lake.load("t")) == [1, 2, 3][: 2 + others]


def test_a_joined_append_leaves_what_others_said_of_its_branch(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [1], **{"treeline.rebase-appends": "true"})
    with held(lake, monkeypatch) as wanted:
        lake.load("t").append(rows(2))
    lake.load("t").append(rows(3))
    kept = {"type": "branch", "min-snapshots-to-keep": 50}
    reference = {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": head(lake)}
    lake.run(lake.catalog.main.commit_tables([TableCommit(TABLE, [], [reference | kept])]))
    lake.run(lake.catalog.main.commit_tables(wanted))
    assert ids_in(lake.load("t")) == [1, 2, 3]
    assert lake.load("t").metadata.refs["main"].min_snapshots_to_keep == 50


def test_what_became_a_tag_is_not_appended_to(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [1], **{"treeline.rebase-appends": "true"})
    reference = {"action": "set-snapshot-ref", "ref-name": "b", "snapshot-id": head(lake)}
    lake.run(lake.catalog.main.commit_tables([TableCommit(TABLE, [], [reference | {"type": "branch"}])]))
    with held(lake, monkeypatch) as wanted:
        lake.load("t").append(rows(2), branch="b")
    lake.load("t").append(rows(3))
    for update in ({"action": "remove-snapshot-ref", "ref-name": "b"}, reference | {"type": "tag", "snapshot-id": head(lake)}):
        lake.run(lake.catalog.main.commit_tables([TableCommit(TABLE, [], [update])]))
    with pytest.raises(RequirementFailedError, match="b is no branch any more"):
        lake.run(lake.catalog.main.commit_tables(wanted))


def _avro(schema: Any) -> bytes:
    out = BytesIO()
    fastavro.writer(out, schema, [])
    return out.getvalue()


@pytest.mark.parametrize(
    "content", [_avro("long"), _avro({"type": "array", "items": "long"}), b"", None], ids=["long", "array", "empty", "folder"]
)
def test_odd_files_end_their_transaction_and_harm_nobody_else(lake: TestLake, tmp_path: Path, content: bytes | None) -> None:
    lake.create("t", [1])
    lake.create("u", [1])
    odd = tmp_path / "list.avro"
    if content is None:
        odd.mkdir()
    else:
        odd.write_bytes(content)
    lake.run(lake.catalog.transactions.begin("late"))
    updates = append_of(lake, **{"parent-snapshot-id": head(lake), "manifest-list": f"file://{odd}"})
    commit_inside(lake, "late", TableCommit(TABLE, [], updates))
    lake.load("t").append(rows(2))

    async def together() -> list[Any]:
        others = (lake.catalog.main.commit_tables([setting("ns", "u", **{f"k{number}": "v"})]) for number in range(5))
        return await asyncio.gather(lake.catalog.transactions.commit("late"), *others, return_exceptions=True)

    refused, *others = lake.run(together())
    assert isinstance(refused, TransactionRefusedError) and "cannot be compared" in refused.message
    assert not [other for other in others if isinstance(other, Exception)]
    assert lake.run(lake.catalog.transactions.load("late")).status is TransactionStatus.REFUSED


@pytest.mark.parametrize("fault", [Denied(), LostRequest()], ids=["no access", "no answer"])
def test_a_file_that_cannot_be_reached_stops_nobody_else(tmp_path: Path, clock: ManualClock, fault: Fault) -> None:
    """Who is denied a file is refused. Who gets no answer waits for it, and keeps its base; upkeep and listings go on."""
    rule = Rule(fault, "get", "*/snap-7.avro", times=None)
    stores: list[FaultyStorage] = []

    def wrapped(store: Storage) -> Storage:
        stores.append(FaultyStorage(store, ScriptedPlan(rule), clock))
        return stores[-1]

    with opened_lake(tmp_path, clock, wrapped) as lake:
        lake.create("t", [1])
        lake.run(lake.catalog.transactions.begin("late"))
        commit_inside(lake, "late", TableCommit(TABLE, [], append_of(lake, **{"parent-snapshot-id": head(lake)})))
        lake.load("t").append(rows(2))
        with pytest.raises(TransactionRefusedError if isinstance(fault, Denied) else RetryLater):
            lake.run(lake.catalog.transactions.commit("late"))
        lake.create("u", [1])
        clock.advance(3600)
        lake.run(expire(lake.parts, ExpiryPolicy(0)))
        lake.run(collect(lake.parts))
        waiting = [info.transaction_id for info in lake.run(lake.catalog.transactions.list_open())]
        assert waiting == ([] if isinstance(fault, Denied) else ["late"])
        assert ids_in(lake.load("t")) == [1, 2]
        # As it is not there at all, this is what becomes of it once there is an answer.
        stores[0].plan = ScriptedPlan()
        assert lake.run(lake.catalog.transactions.load("late")).status is TransactionStatus.REFUSED


def test_members_of_one_group_join_without_any_cache(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that a member made are not in the store yet when the next one is put on top of them."""
    for cache in ("BYTES_CACHE", "LIST_CACHE", "MANIFEST_CACHE"):
        monkeypatch.setattr(manifest_reader, cache, 0)
    monkeypatch.setattr(joiner, "REPEATED_CACHE", 0)
    with opened_lake(tmp_path, clock) as lake:
        lake.create("t", [1], **{"treeline.rebase-appends": "true"})
        appended_at_once(lake, monkeypatch, 10)
        assert ids_in(lake.load("t")) == [1, *range(100, 110)]


class TogetherOnly(FaultyStorage):
    """Answers for the first manifest lists when so many are asked for at the same time, and never before."""

    def __init__(self, inner: Storage, number: int) -> None:
        super().__init__(inner, ScriptedPlan(), ManualClock())
        self._barrier = asyncio.Barrier(number)
        self.lists: list[str] = []

    async def get(self, path: str) -> bytes:
        if "/snap-" in path:
            self.lists.append(path)
            if len(self.lists) <= self._barrier.parties:
                async with asyncio.timeout(10):
                    await self._barrier.wait()
        return await super().get(path)


def test_the_lists_of_a_group_are_read_together(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a group would take as many round trips as it has members. The first one is joined with nobody."""
    with opened_lake(tmp_path, clock) as lake:
        lake.create("t", [1], **{"treeline.rebase-appends": "true"})
    stores: list[TogetherOnly] = []

    def wrapped(store: Storage) -> Storage:
        stores.append(TogetherOnly(store, 9))
        return stores[-1]

    with opened_lake(tmp_path, clock, wrapped) as lake:
        appended_at_once(lake, monkeypatch, 10)
        assert ids_in(lake.load("t")) == [1, *range(100, 110)]
        # Beside the own ones those of the snapshot that all were made on, and of the first of them.
        assert len(stores[0].lists) == len(set(stores[0].lists)) == 9 + 2
