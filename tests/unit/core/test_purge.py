"""Purging tables: exactly their files, when nobody shows them any more, whatever else lies beside them. Manifests are PyIceberg's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.clock import SystemClock
from catalog_format.errors import ConflictError, MissingFileError, NoSuchTableError
from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import CollectReport, collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.maintenance.purge import PATIENCE_MS, PurgeReport, wishes_in
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from catalog_format.scope import TableCommit
from catalog_format.storage import CountingStorage, CrashAfter, CrashBefore, FaultyStorage, Rule, ScriptedPlan, Storage
from tests.support.catalogs import ManualClock, TimelessFolder
from tests.support.pyiceberg_tables import TestLake, all_files, as_path, files_of, ids_in, rows

PATIENCE_S = PATIENCE_MS / 1000
NOW = ExpiryPolicy(0)


@contextmanager
def opened(folder: Path, clock: ManualClock, wrap: Callable[[Storage], Storage] = lambda store: store) -> Iterator[TestLake]:
    """The catalog in `folder`/lake as one more process sees it."""
    lake = TestLake(wrap(TimelessFolder(folder / "lake")), clock, seed=next(_seeds))
    try:
        yield lake
    finally:
        lake.close()


_seeds = itertools.count(1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now_ms())


@pytest.fixture
def lake(tmp_path: Path, clock: ManualClock) -> Iterator[TestLake]:
    with opened(tmp_path, clock) as one:
        yield one


def drop(lake: TestLake, name: str, purge: bool = True) -> None:
    lake.run(lake.catalog.main.drop_table(("ns", name), purge))


def register(lake: TestLake, name: str, metadata_location: str) -> None:
    lake.run(lake.catalog.main.register_table(("ns", name), metadata_location))


def expired(lake: TestLake, policy: ExpiryPolicy = NOW) -> None:
    lake.clock.advance(1)
    lake.run(expire(lake.parts, policy))


def collected(lake: TestLake, **options: Any) -> CollectReport:
    return lake.run(collect(lake.parts, **options))


def settled(lake: TestLake) -> PurgeReport:
    """Expired, of age, and collected."""
    expired(lake)
    lake.clock.advance(PATIENCE_S)
    return collected(lake).purge


def wishes(lake: TestLake) -> list[str]:
    async def names() -> list[str]:
        return [wish.name for wish in await wishes_in(lake.parts, await lake.parts.versions.confirm(anew=True))]

    return lake.run(names())


def is_clean(lake: TestLake) -> bool:
    parts = lake.parts
    return lake.run(check(parts.storage, parts.versions, parts.nodes, parts.logs)).clean


def engines_files(tmp_path: Path) -> set[Path]:
    """All files but the catalog's own."""
    own = {tmp_path / "lake" / folder for folder in ("vn", "node", "def", "dtxn", "dtxn-open")}
    return {path for path in all_files(tmp_path) if not own & set(path.parents)}


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


def borrowed(lake: TestLake, tmp_path: Path) -> tuple[Table, Path]:
    """A table whose first file was added to table `borrower` too; that file."""
    lender = lake.create("lender", [1], [2])
    [location, _] = sorted(lender.inspect.all_files().column("file_path").to_pylist())
    lake.create("borrower", [7]).add_files([location])
    return lender, as_path(location)


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
    with opened(tmp_path, clock) as lake:
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
        collecting = TestLake(store, clock, seed=next(_seeds))
        # Both processes on one loop: the one registers in the middle of what the other does.
        collecting.close()
        report = lake.run(_collect_over(store, clock))
        assert store.other is None and report.purge.tables == [("ns", "t")]
        assert ids_in(lake.load("again")) == [1]


async def _collect_over(store: Storage, clock: ManualClock) -> CollectReport:
    from tests.support.catalogs import opened as opened_catalog

    async with opened_catalog(store, clock=clock) as catalog:
        return await collect(catalog.parts)


def test_a_table_that_shares_its_data_on_purpose_leaves_them(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1], **{"gc.enabled": "false"})
    content = set(map(as_path, table.inspect.all_files().column("file_path").to_pylist()))
    drop(lake, "t")
    assert settled(lake).tables == [("ns", "t")]
    assert engines_files(tmp_path) == content != set()


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


def manifests_of(table: Table) -> list[Path]:
    """Its manifests, oldest first."""
    return [as_path(manifest.manifest_path) for snapshot in table.metadata.snapshots for manifest in snapshot.manifests(table.io)[:1]]


def test_a_table_with_an_unreadable_manifest_waits_and_others_do_not(lake: TestLake, tmp_path: Path) -> None:
    broken, other = lake.create("broken", [1], [2]), lake.create("other", [3])
    [manifest, _] = manifests_of(broken)
    data = manifest.read_bytes()
    manifest.write_bytes(data[: len(data) // 2])
    drop(lake, "broken")
    drop(lake, "other")
    his = files_of_engine = engines_files(tmp_path) - files_of(other)
    report = settled(lake)
    assert (report.tables, report.waiting) == ([("ns", "other")], 1)
    assert len(report.problems) == 1 and f"Table ns.broken waits: Manifest file://{manifest} has" in report.problems[0]
    his = engines_files(tmp_path)
    assert his <= files_of_engine and manifest in his and len([path for path in his if path.suffix == ".parquet"]) == 2
    # Somebody restores it.
    manifest.write_bytes(data)
    assert collected(lake).purge.tables == [("ns", "broken")]
    assert engines_files(tmp_path) == set()


def test_nothing_is_purged_while_it_is_not_known_what_another_table_holds(lake: TestLake, tmp_path: Path) -> None:
    lake.create("doomed", [1])
    kept = lake.create("kept", [2], [3])
    [first, _] = manifests_of(kept)
    data = first.read_bytes()
    drop(lake, "doomed")
    for damage in (first.unlink, lambda: first.write_bytes(data[:-1])):
        damage()
        before = {path for path in engines_files(tmp_path) if path.suffix != ".json"}
        report = settled(lake)
        assert (report.tables, report.waiting, report.deleted) == ([], 1, [])
        assert all(str(first) in problem for problem in report.problems) and report.problems
        assert {path for path in engines_files(tmp_path) if path.suffix != ".json"} == before
    first.write_bytes(data)
    assert settled(lake).tables == [("ns", "doomed")]
    assert ids_in(lake.load("kept")) == [2, 3]


def test_what_an_engine_expired_is_no_reason_to_wait(lake: TestLake, tmp_path: Path) -> None:
    """Old versions of the catalog go on naming snapshots whose files are gone."""
    lake.create("doomed", [1])
    drop(lake, "doomed")
    kept = lake.create("kept", [2])
    shows = lake.run(lake.catalog.latest_version())
    [snapshot] = kept.metadata.snapshots
    kept.append(rows(3))
    kept.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    as_path(snapshot.manifest_list).unlink()
    expired(lake, ExpiryPolicy(0, keep=lake.run(lake.catalog.latest_version()) - shows + 1))
    lake.clock.advance(PATIENCE_S)
    report = collected(lake).purge
    assert (report.tables, report.problems) == ([("ns", "doomed")], [])
    assert ids_in(lake.load("kept")) == [2, 3]


@pytest.mark.parametrize("crash", [CrashBefore(), CrashAfter()], ids=["before", "after"])
def test_a_run_that_is_killed_at_any_deletion_is_repeated(tmp_path: Path, clock: ManualClock, crash: Any) -> None:
    with opened(tmp_path, clock) as lake:
        table = lake.create("t", [1], [2])
        borrower = lake.create("borrower", [3])
        content = sorted(table.inspect.all_files().column("file_path").to_pylist())
        borrower.add_files(content[:1])
        drop(lake, "t")
        expired(lake)
        collected(lake)
        clock.advance(PATIENCE_S)
        expired(lake)
        collected(lake, purge_patience_ms=10 * PATIENCE_MS)
    kept = {as_path(content[0])}
    deaths = 0
    for number in itertools.count(1):
        plan = ScriptedPlan(Rule(crash, "delete", "data/*", nth=number))
        try:
            with opened(tmp_path, clock, lambda store, plan=plan: FaultyStorage(store, plan, clock)) as dying:
                collected(dying)
            break
        except BaseException as error:
            assert "injected: crash" in str(error)
            deaths += 1
        left = files_of_table(table) & engines_files(tmp_path)
        # Whatever is left is named by something that is left.
        assert as_path(table.metadata_location) in left or left == kept
    with opened(tmp_path, clock) as lake:
        assert deaths >= 5 and wishes(lake) == []
        assert files_of_table(table) & engines_files(tmp_path) == kept
        assert len(ids_in(lake.load("borrower"))) == 2 and is_clean(lake)


def files_of_table(table: Table) -> set[Path]:
    """All files below a table's own location, there or not."""
    folder = as_path(table.location())
    return all_files(folder) | {as_path(table.metadata_location)}


def test_files_that_cannot_be_deleted_are_told_of_and_the_wish_stays(tmp_path: Path, clock: ManualClock) -> None:
    from catalog_format.storage import Denied

    with opened(tmp_path, clock) as lake:
        lake.create("t", [1])
        drop(lake, "t")
        expired(lake)
    clock.advance(PATIENCE_S)
    plan = ScriptedPlan(Rule(Denied(), "delete", "*.parquet", times=None))
    with opened(tmp_path, clock, lambda store: FaultyStorage(store, plan, clock)) as refused:
        report = collected(refused).purge
        assert (report.tables, report.waiting) == ([], 1)
        assert "Files could not be deleted" in report.problems[0] and "no access" in report.problems[0]
    with opened(tmp_path, clock) as lake:
        assert collected(lake).purge.tables == [("ns", "t")]
        assert engines_files(tmp_path) == set()


def test_every_manifest_is_read_once_and_none_without_need(tmp_path: Path, clock: ManualClock) -> None:
    counting: list[CountingStorage] = []

    def counted(store: Storage) -> Storage:
        counting.append(CountingStorage(store))
        return counting[-1]

    with opened(tmp_path, clock, counted) as lake:
        doomed = lake.create("doomed", [1], [2], [3])
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
        assert len(deleted) == len(set(deleted)) == len(files_named_by(doomed))


def files_named_by(table: Table) -> set[str]:
    """How many files the table had: 3 data files, manifests and lists, and 4 metadata files."""
    return {f"{kind} {number}" for kind in ("data", "manifest", "list") for number in range(3)} | {f"metadata {n}" for n in range(4)}


def test_purging_now_takes_the_table_from_old_versions(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1], [2])
    with_two = lake.run(lake.catalog.latest_version())
    [first, _] = table.metadata.snapshots
    # Only an older version of the catalog still names this snapshot.
    table.append(rows(3))
    table.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    neighbour = lake.create("neighbour", [9])
    others = files_of(neighbour)
    plan = lake.run(plan_purge(lake.parts, ("ns", "t")))
    assert plan.is_there and plan.versions == list(range(2, lake.run(lake.catalog.latest_version()) + 1))
    before = engines_files(tmp_path)
    told = lake.run(purge_now(lake.parts, plan, dry_run=True))
    assert engines_files(tmp_path) == before and lake.run(lake.catalog.main.table_exists(("ns", "t")))
    report = lake.run(purge_now(lake.parts, plan))
    assert (report.tables, report.problems) == ([("ns", "t")], []) and report.deleted == told.deleted
    assert engines_files(tmp_path) == others
    assert wishes(lake) == [] and is_clean(lake)
    for version in (2, with_two):
        with pytest.raises(MissingFileError):
            lake.run(lake.run(lake.catalog.at(version)).load_table(("ns", "t")))
    with pytest.raises(NoSuchTableError, match=r"Table ns\.t does not exist, and no DROP with purge"):
        lake.run(plan_purge(lake.parts, ("ns", "t")))
    # Old versions name metadata that are gone: nothing else minds.
    drop(lake, "neighbour")
    expired(lake, ExpiryPolicy(0, keep=100))
    lake.clock.advance(PATIENCE_S)
    collected(lake)
    assert settled(lake).tables == [("ns", "neighbour")]


def test_purging_now_a_table_that_was_dropped_before(lake: TestLake, tmp_path: Path) -> None:
    lender, file = borrowed(lake, tmp_path)
    lake.run(lake.catalog.main.rename_table(("ns", "lender"), ("ns", "renamed")))
    drop(lake, "renamed")
    last = lake.run(lake.catalog.latest_version())
    plan = lake.run(plan_purge(lake.parts, ("ns", "renamed")))
    assert not plan.is_there and plan.versions == list(range(2, last))
    report = lake.run(purge_now(lake.parts, plan))
    assert report.tables == [("ns", "renamed")]
    assert all_files(as_path(lender.location())) == {file}, "the latest version shows it through another table"
    assert len(ids_in(lake.load("borrower"))) == 2
    # What old versions alone show goes.
    drop(lake, "borrower")
    report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "borrower")))))
    assert engines_files(tmp_path) == set() and wishes(lake) == []


def test_purging_one_of_two_registrations_now_leaves_the_other_and_its_history(lake: TestLake) -> None:
    one = lake.create("one", [1])
    register(lake, "two", one.metadata_location)
    version = lake.run(lake.catalog.latest_version())
    drop(lake, "one")
    lake.load("two").append(rows(2))
    plan = lake.run(plan_purge(lake.parts, ("ns", "one")))
    assert plan.versions == list(range(2, version + 1)), "later ones show it under the other name only"
    lake.run(purge_now(lake.parts, plan))
    assert ids_in(lake.load("two")) == [1, 2]
    lake.run(lake.run(lake.catalog.at(version)).load_table(("ns", "two")))
    with pytest.raises(MissingFileError):
        lake.run(lake.run(lake.catalog.at(version)).load_table(("ns", "one")))


def test_purging_now_is_refused_while_a_transaction_may_read_the_table(lake: TestLake, tmp_path: Path) -> None:
    lake.create("t", [1])
    lake.run(lake.catalog.transactions.begin("reader"))
    before = all_files(tmp_path)
    with pytest.raises(ConflictError, match=r"Transaction reader began at version \d+ and may still read table ns.t"):
        lake.run(plan_purge(lake.parts, ("ns", "t")))
    assert all_files(tmp_path) == before
    lake.run(lake.catalog.transactions.rollback("reader"))
    plan = lake.run(plan_purge(lake.parts, ("ns", "t")))
    drop(lake, "t", purge=False)
    lake.create("t", [2])
    with pytest.raises(ConflictError, match="Another table has taken the name"):
        lake.run(purge_now(lake.parts, plan))
    assert ids_in(lake.load("t")) == [2]
