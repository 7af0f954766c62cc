"""Purging tables: exactly their files, when nobody shows them any more, whatever else lies beside them. Manifests are PyIceberg's own."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.maintenance.collect import CollectReport, collect
from catalog_format.maintenance.expire import ExpiryPolicy
from catalog_format.maintenance.purge import PATIENCE_MS, PurgeReport
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from catalog_format.scope import TableCommit
from catalog_format.storage import CountingStorage, Storage
from tests.support.catalogs import ManualClock, TimelessFolder, opened
from tests.support.purging import (
    PATIENCE_S,
    borrowed,
    collected,
    drop,
    engines_files,
    expired,
    is_clean,
    register,
    settled,
    wishes,
)
from tests.support.pyiceberg_tables import LAKE_FOLDER, TestLake, as_path, files_of, ids_in, opened_lake, rows


@pytest.mark.parametrize("version", ["1", "2"])
def test_exactly_the_files_of_a_dropped_table_go_once_no_kept_version_shows_it(lake: TestLake, tmp_path: Path, version: str) -> None:
    shared = f"file://{tmp_path}/shared"
    doomed = lake.create("doomed", [1, 2], [3], location=shared, **{"format-version": version})
    doomed.overwrite(rows(4))
    doomed.append(rows(5))
    neighbour = lake.create("neighbour", [10], [11], location=shared, **{"format-version": version})
    far = lake.create("far", [20])
    stray = tmp_path / "shared" / "data" / "somebody-elses.parquet"
    stray.write_bytes(b"not in any metadata")
    his, others = files_of(doomed), files_of(neighbour) | files_of(far) | {stray}
    content = set(doomed.inspect.all_files().column("file_path").to_pylist())
    assert len(content) == 4 and not his & others
    drop(lake, "doomed")
    dropped_in = lake.run(lake.catalog.latest_version())
    lake.clock.advance(PATIENCE_S - 100)

    # Shown by old versions.
    report = collected(lake).purge
    assert (report.tables, report.waiting, report.deleted) == ([], 1, [])
    with_old_version = ExpiryPolicy(0, keep=lake.run(lake.catalog.latest_version()) - dropped_in + 3)
    expired(lake, with_old_version)
    assert collected(lake).purge.waiting == 1
    assert ids_in(Table(("ns", "doomed"), doomed.metadata, doomed.metadata_location, doomed.io, lake)) == [4, 5]
    # Shown by none, and not three days ago.
    expired(lake)
    report = collected(lake).purge
    assert (report.tables, report.waiting, report.deleted) == ([], 1, [])
    assert as_path(doomed.metadata_location).exists(), "or nobody could find the files any more"
    assert his - engines_files(tmp_path) <= {as_path(entry.metadata_file) for entry in doomed.metadata.metadata_log}

    lake.clock.advance(100)
    planned = collected(lake, dry_run=True).purge
    # `collect` took older metadata files below the root, which no kept version shows; no file of an engine.
    log = {as_path(entry.metadata_file) for entry in far.metadata.metadata_log}
    assert engines_files(tmp_path) >= (others - log) | {as_path(location) for location in content}
    report = collected(lake).purge
    assert (report.tables, report.waiting, report.problems) == ([("ns", "doomed")], 0, [])
    assert report.deleted == planned.deleted and {as_path(location) for location in report.deleted} == his
    assert engines_files(tmp_path) == others - log
    assert (ids_in(lake.load("neighbour")), ids_in(lake.load("far"))) == ([10, 11], [20])
    assert wishes(lake) == [] and is_clean(lake)
    before = lake.run(lake.catalog.latest_version())
    assert collected(lake).purge == PurgeReport() and lake.run(lake.catalog.latest_version()) == before


def test_statistics_go_too(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1])
    snapshot = table.metadata.current_snapshot_id
    locations = [f"{table.location()}/metadata/{name}.puffin" for name in ("table", "partitions")]
    for location in locations:
        as_path(location).write_bytes(b"statistics")
    common = {"snapshot-id": snapshot, "file-size-in-bytes": 10}
    table_statistics = {**common, "statistics-path": locations[0], "file-footer-size-in-bytes": 1, "blob-metadata": []}
    updates = [
        {"action": "set-statistics", "statistics": table_statistics},
        {"action": "set-partition-statistics", "partition-statistics": {**common, "statistics-path": locations[1]}},
    ]
    lake.run(lake.catalog.main.commit_tables([TableCommit(("ns", "t"), [], updates)]))
    assert {as_path(location) for location in locations} <= files_of(lake.load("t"))
    drop(lake, "t")
    assert settled(lake).problems == []
    assert engines_files(tmp_path) == set()


def test_manifests_that_a_snapshot_of_version_1_names_itself(lake: TestLake, tmp_path: Path) -> None:
    old = lake.create("old", [1], [2], **{"format-version": "1"})
    metadata = orjson.loads(old.metadata.model_dump_json(by_alias=True, exclude_none=True))
    for snapshot, has in zip(metadata["snapshots"], old.metadata.snapshots, strict=True):
        del snapshot["manifest-list"]
        snapshot["manifests"] = [manifest.manifest_path for manifest in has.manifests(old.io)]
    place = tmp_path / "elsewhere" / "00000-x.metadata.json"
    place.parent.mkdir()
    place.write_bytes(orjson.dumps(metadata))
    register(lake, "inlined", f"file://{place}")
    lists = {as_path(snapshot.manifest_list) for snapshot in old.metadata.snapshots}
    drop(lake, "old", purge=False)
    drop(lake, "inlined")
    report = settled(lake)
    assert report.tables == [("ns", "inlined")] and report.problems == []
    assert engines_files(tmp_path) == lists, "nobody names these any more"


def test_a_table_that_is_registered_twice_keeps_its_files_until_both_are_purged(lake: TestLake, tmp_path: Path) -> None:
    one = lake.create("one", [1], [2])
    content = {as_path(location) for location in one.inspect.all_files().column("file_path").to_pylist()}
    drop(lake, "one")
    register(lake, "two", one.metadata_location)
    report = settled(lake)
    assert report.tables == [("ns", "one")]
    assert {as_path(location) for location in report.deleted} == {as_path(one.metadata_location)}
    assert content <= engines_files(tmp_path) and ids_in(lake.load("two")) == [1, 2]
    drop(lake, "two")
    assert settled(lake).tables == [("ns", "two")]
    assert engines_files(tmp_path) == set()


def test_two_wishes_for_the_same_files_are_carried_out_together(lake: TestLake, tmp_path: Path) -> None:
    one = lake.create("one", [1], [2])
    register(lake, "two", one.metadata_location)
    drop(lake, "one")
    drop(lake, "two")
    report = settled(lake)
    assert (report.tables, report.problems) == ([("ns", "one"), ("ns", "two")], [])
    assert engines_files(tmp_path) == set()


def test_a_file_that_was_added_to_another_table_stays(lake: TestLake, tmp_path: Path) -> None:
    lender, file = borrowed(lake, tmp_path)
    his, kept = files_of(lender), files_of(lake.load("borrower"))
    drop(lake, "lender")
    report = settled(lake)
    assert report.tables == [("ns", "lender")] and file not in map(as_path, report.deleted)
    assert engines_files(tmp_path) & his == {file}
    assert kept - engines_files(tmp_path) <= {as_path(entry.metadata_file) for entry in lake.load("borrower").metadata.metadata_log}
    assert len(ids_in(lake.load("borrower"))) == 2


def test_a_kept_old_version_holds_files_through_another_table(lake: TestLake, tmp_path: Path) -> None:
    lender, file = borrowed(lake, tmp_path)
    his = files_of(lender)
    drop(lake, "lender")
    shows = lake.run(lake.catalog.latest_version())
    drop(lake, "borrower", purge=False)
    expired(lake, ExpiryPolicy(0, keep=lake.run(lake.catalog.latest_version()) - shows + 1))
    lake.clock.advance(PATIENCE_S)
    assert collected(lake).purge.tables == [("ns", "lender")]
    assert engines_files(tmp_path) & his == {file}


def test_an_unfinished_transaction_from_before_the_drop_keeps_everything(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1])
    lake.run(lake.catalog.transactions.begin("reader", ttl_ms=2 * PATIENCE_MS))
    drop(lake, "t")
    assert settled(lake).waiting == 1
    assert files_of(table) & engines_files(tmp_path) >= set(map(as_path, table.inspect.all_files().column("file_path").to_pylist()))
    lake.run(lake.catalog.transactions.rollback("reader"))
    lake.run(lake.catalog.main.create_namespace(("later",), {}))
    assert settled(lake).tables == [("ns", "t")]
    assert engines_files(tmp_path) == set()


def test_a_base_counts_before_its_version_is_on_the_list_of_those_that_wait(lake: TestLake) -> None:
    """As when `expire` was killed after its first commit."""
    lake.create("t", [1])
    lake.run(lake.catalog.transactions.begin("reader", ttl_ms=2 * PATIENCE_MS))
    drop(lake, "t")
    lake.run(lake.parts.keep_up(Upkeep(oldest=lake.run(lake.catalog.latest_version())), "killed", "test"))
    lake.clock.advance(PATIENCE_S)
    assert collected(lake).purge == PurgeReport(waiting=1)


def test_what_an_unfinished_transaction_registered_is_kept(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1])
    drop(lake, "t")
    expired(lake)
    lake.run(lake.catalog.transactions.begin("1", ttl_ms=2 * PATIENCE_MS))
    inside = lake.run(lake.catalog.within("1"))
    lake.run(inside.register_table(("ns", "again"), table.metadata_location))
    assert settled(lake).tables == [("ns", "t")]
    lake.run(lake.catalog.transactions.commit("1"))
    assert ids_in(lake.load("again")) == [1]


def test_what_is_registered_while_the_kept_tables_are_read_is_kept(tmp_path: Path, clock: ManualClock) -> None:
    """The register is published after the epoch, and after the latest version was looked at for the first time."""
    with opened_lake(tmp_path, clock) as lake:
        table = lake.create("t", [1])
        lake.create("kept", [2])
        drop(lake, "t")
        expired(lake)
        clock.advance(PATIENCE_S)

        class Registers(TimelessFolder):
            other: TestLake | None = lake

            async def get(self, path: str) -> bytes:
                if path.endswith(".avro") and self.other is not None:
                    other, self.other = self.other, None
                    await other.catalog.main.register_table(("ns", "again"), table.metadata_location)
                return await super().get(path)

        store = Registers(tmp_path / "lake")
        # Both processes on one loop: the one registers in the middle of what the other does.
        report = lake.run(collect_over(store, clock))
        assert store.other is None and report.purge.tables == [("ns", "t")]
        assert ids_in(lake.load("again")) == [1]


async def collect_over(store: Storage, clock: ManualClock) -> CollectReport:
    async with opened(store, clock=clock) as catalog:
        return await collect(catalog.parts)


@pytest.mark.parametrize("value", ["false", "FALSE", " false", "0", "no", "off", "", "true "])
def test_a_table_that_shares_its_data_on_purpose_leaves_them(lake: TestLake, tmp_path: Path, value: str) -> None:
    """As in Java, where all but "true" is false."""
    table = lake.create("t", [1], **{"gc.enabled": value})
    content = set(map(as_path, table.inspect.all_files().column("file_path").to_pylist()))
    drop(lake, "t")
    assert settled(lake).tables == [("ns", "t")]
    assert engines_files(tmp_path) == content != set()


@pytest.mark.parametrize("value", ["true", "True"])
def test_a_table_that_says_that_its_data_are_its_own_loses_them(lake: TestLake, tmp_path: Path, value: str) -> None:
    lake.create("t", [1], **{"gc.enabled": value})
    drop(lake, "t")
    assert settled(lake).tables == [("ns", "t")]
    assert engines_files(tmp_path) == set()


def test_the_catalogs_own_files_are_never_a_tables(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("evil", [1])
    root = tmp_path / "lake" / paths.root_path(0)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file://{root}",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=1,
            file_size_in_bytes=1,
        )
        file.spec_id = 0
        append.append_data_file(file)
    drop(lake, "evil")
    report = settled(lake)
    assert report.tables == [] and report.waiting == 1
    assert [message for message in report.problems if "is where the catalog keeps its own files" in message]
    plan = lake.run(plan_purge(lake.parts, ("ns", "evil")))
    assert lake.run(purge_now(lake.parts, plan)).tables == [("ns", "evil")]
    assert root.exists() and engines_files(tmp_path) == set() and is_clean(lake)


def test_every_manifest_is_read_once_and_none_without_need(tmp_path: Path, clock: ManualClock) -> None:
    counting: list[CountingStorage] = []

    def counted(store: Storage) -> Storage:
        counting.append(CountingStorage(store))
        return counting[-1]

    with opened_lake(tmp_path, clock, counted) as lake:
        doomed = files_of(lake.create("doomed", [1], [2], [3]))
        lake.create("kept", [4], [5])
        register(lake, "twin", lake.load("kept").metadata_location)
        drop(lake, "doomed")
        expired(lake)
        with counting[0].measure() as calls:
            assert collected(lake).purge.waiting == 1
        assert [path for path in calls.paths("get") if path.startswith("data/")] == [], "nothing is due"
        clock.advance(PATIENCE_S)
        with counting[0].measure() as calls:
            assert collected(lake).purge.tables == [("ns", "doomed")]
        read = [path for path in calls.paths("get") if path.endswith(".avro")]
        # Manifest lists and manifests of the doomed (3 + 3) and of the kept one (2 + 2), which its twin shares.
        assert len(read) == len(set(read)) == 10
        deleted = [path for path in calls.paths("delete") if path.startswith("data/")]
        assert sorted(tmp_path / LAKE_FOLDER / path for path in deleted) == sorted(doomed)


def test_tables_of_one_uuid_that_are_dropped_in_one_version_are_both_purged(lake: TestLake, tmp_path: Path) -> None:
    lender = lake.create("one", [1])
    register(lake, "two", lender.metadata_location)
    for name, number in (("one", 2), ("two", 3)):
        lake.load(name).append(rows(number))
    theirs = files_of(lake.load("one")) | files_of(lake.load("two"))

    async def drop_both() -> None:
        await lake.catalog.transactions.begin("both")
        inside = await lake.catalog.within("both")
        for name in ("one", "two"):
            await inside.drop_table(("ns", name), True)
        await lake.catalog.transactions.commit("both")

    lake.run(drop_both())
    assert sorted(wishes(lake)) == ["ns.one", "ns.two"]
    assert sorted(settled(lake).tables) == [("ns", "one"), ("ns", "two")]
    assert not theirs & engines_files(tmp_path) and wishes(lake) == [] and is_clean(lake)
