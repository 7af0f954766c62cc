"""Purging while files are damaged, cannot be deleted, or runs are killed: what is not known keeps files, and everything is repeated."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyiceberg.table import Table

from catalog_format.maintenance.expire import ExpiryPolicy
from catalog_format.maintenance.purge import PATIENCE_MS
from catalog_format.storage import CrashAfter, CrashBefore, Denied, FaultyStorage, Rule, ScriptedPlan
from tests.support.catalogs import ManualClock
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
from tests.support.pyiceberg_tables import TestLake, all_files, as_path, ids_in, opened_lake, rows


def manifests_of(table: Table) -> list[Path]:
    """Its manifests, oldest first."""
    return [as_path(manifest.manifest_path) for snapshot in table.metadata.snapshots for manifest in snapshot.manifests(table.io)[:1]]


@pytest.mark.parametrize("broken", ["manifest", "manifest list"])
def test_all_wait_for_a_table_of_which_not_all_can_be_read(lake: TestLake, tmp_path: Path, broken: str) -> None:
    borrowed(lake, tmp_path)
    borrower = lake.load("borrower")
    damaged = as_path(borrower.metadata.snapshots[-1].manifest_list) if broken == "manifest list" else manifests_of(borrower)[-1]
    data = damaged.read_bytes()
    damaged.write_bytes(data[: len(data) // 2])
    drop(lake, "lender")
    drop(lake, "borrower")
    before = {path for path in engines_files(tmp_path) if path.suffix != ".json"}
    report = settled(lake)
    assert (report.tables, report.waiting, report.deleted) == ([], 2, [])
    waits, why = report.problems
    assert waits.startswith("Table ns.borrower waits: ") and f"file://{damaged}" in waits
    assert why.startswith("Nothing is purged while it is not known what table ns.borrower holds, which waits to be purged: restore")
    assert f"or delete {borrower.metadata_location}, which gives up all that it names" in why
    assert {path for path in engines_files(tmp_path) if path.suffix != ".json"} == before
    # Somebody restores it.
    damaged.write_bytes(data)
    assert collected(lake).purge.tables == [("ns", "lender"), ("ns", "borrower")]
    assert engines_files(tmp_path) == set()


def test_a_purge_that_cannot_be_carried_out_can_be_given_up(lake: TestLake, tmp_path: Path) -> None:
    lender, _ = borrowed(lake, tmp_path)
    borrower = lake.load("borrower")
    as_path(borrower.metadata.snapshots[-1].manifest_list).write_bytes(b"damaged")
    left = files_of_table(borrower)
    drop(lake, "lender")
    drop(lake, "borrower")
    assert settled(lake).tables == []
    as_path(borrower.metadata_location).unlink()
    report = collected(lake).purge
    assert report.tables == [("ns", "lender"), ("ns", "borrower")]
    assert report.problems == [f"Table ns.borrower: File is missing: {borrower.metadata_location}"]
    assert wishes(lake) == [] and {path for path in left if path.suffix != ".json"} <= engines_files(tmp_path)
    assert not files_of_table(lender) & engines_files(tmp_path), "nobody knows any more that the borrower has one of them, too"


def test_a_table_whose_manifests_cannot_even_be_found_makes_others_wait(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1])
    metadata = orjson.loads(table.metadata.model_dump_json(by_alias=True, exclude_none=True))
    metadata["snapshots"][0]["manifest-list"] = "hdfs://somewhere/else.avro"
    place = tmp_path / "elsewhere" / "00000-x.metadata.json"
    place.parent.mkdir()
    place.write_bytes(orjson.dumps(metadata))
    register(lake, "strange", f"file://{place}")
    drop(lake, "t")
    drop(lake, "strange")
    report = settled(lake)
    assert (report.tables, report.waiting, report.deleted) == ([], 2, [])
    assert "hdfs://somewhere/else.avro is not deleted" in report.problems[0] and f"or delete file://{place}, which" in report.problems[1]


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
    with opened_lake(tmp_path, clock) as lake:
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
            with opened_lake(tmp_path, clock, lambda store, plan=plan: FaultyStorage(store, plan, clock)) as dying:
                collected(dying)
            break
        except BaseException as error:
            assert "injected: crash" in str(error)
            deaths += 1
        left = files_of_table(table) & engines_files(tmp_path)
        # Whatever is left is named by something that is left.
        assert as_path(table.metadata_location) in left or left == kept
    with opened_lake(tmp_path, clock) as lake:
        assert deaths >= 5 and wishes(lake) == []
        assert files_of_table(table) & engines_files(tmp_path) == kept
        assert len(ids_in(lake.load("borrower"))) == 2 and is_clean(lake)


def files_of_table(table: Table) -> set[Path]:
    """All files below a table's own location, there or not."""
    folder = as_path(table.location())
    return all_files(folder) | {as_path(table.metadata_location)}


def test_files_that_cannot_be_deleted_are_told_of_and_the_wish_stays(tmp_path: Path, clock: ManualClock) -> None:
    with opened_lake(tmp_path, clock) as lake:
        lake.create("t", [1])
        drop(lake, "t")
        expired(lake)
    clock.advance(PATIENCE_S)
    plan = ScriptedPlan(Rule(Denied(), "delete", "*.parquet", times=None))
    with opened_lake(tmp_path, clock, lambda store: FaultyStorage(store, plan, clock)) as refused:
        report = collected(refused).purge
        assert (report.tables, report.waiting) == ([], 1)
        assert "Files could not be deleted" in report.problems[0] and "no access" in report.problems[0]
    with opened_lake(tmp_path, clock) as lake:
        assert collected(lake).purge.tables == [("ns", "t")]
        assert engines_files(tmp_path) == set()
