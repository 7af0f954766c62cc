"""Purging a table at once: old versions lose it, and nobody else loses anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_format.errors import ConflictError, MissingFileError, NoSuchTableError
from catalog_format.maintenance.expire import ExpiryPolicy
from catalog_format.maintenance.purge_now import plan_purge, purge_now
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
from tests.support.pyiceberg_tables import TestLake, all_files, as_path, files_of, ids_in, rows


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


def test_purging_now_is_refused_if_a_transaction_began_since_the_plan(lake: TestLake, tmp_path: Path) -> None:
    lake.create("t", [1])
    plan = lake.run(plan_purge(lake.parts, ("ns", "t")))
    lake.run(lake.catalog.transactions.begin("reader"))
    with pytest.raises(ConflictError, match=r"Transaction reader began at version \d+ and may still read table ns.t"):
        lake.run(purge_now(lake.parts, plan, dry_run=True))
    drop(lake, "t")
    before = engines_files(tmp_path)
    with pytest.raises(ConflictError, match=r"Transaction reader began at version \d+ and may still read table ns.t"):
        lake.run(purge_now(lake.parts, plan))
    assert engines_files(tmp_path) == before and len(wishes(lake)) == 1, "else nobody would find the files when it has ended"
    lake.run(lake.catalog.transactions.rollback("reader"))
    lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    assert engines_files(tmp_path) == set() and wishes(lake) == []


def test_purging_now_waits_for_what_cannot_be_read(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1])
    manifests = as_path(table.metadata.snapshots[-1].manifest_list)
    whole = manifests.read_bytes()
    manifests.write_bytes(b"damaged")
    before = engines_files(tmp_path)
    report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    assert (report.tables, report.deleted, report.waiting) == ([], [], 1)
    assert any(problem.startswith("Table ns.t waits: ") for problem in report.problems)
    assert engines_files(tmp_path) == before and len(wishes(lake)) == 1, "else nobody would find what it names"
    manifests.write_bytes(whole)
    report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    assert (report.tables, report.problems) == ([("ns", "t")], []) and engines_files(tmp_path) == set()
