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
    before = all_files(tmp_path)
    with pytest.raises(ConflictError, match=r"Transaction reader began at version \d+ and may still read table ns.t"):
        lake.run(purge_now(lake.parts, plan, dry_run=True))
    lake.clock.advance(30 * 24 * 3600)
    told = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t"), dry_run=True)), dry_run=True))
    assert told.tables == [("ns", "t")] and all_files(tmp_path) == before, "its time is up, which a dry run only notices"
    lake.clock.advance(-30 * 24 * 3600)
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


def test_whether_data_may_go_is_what_the_newest_metadata_say(lake: TestLake) -> None:
    """Older versions of the catalog show the table as it was before the property was set, or taken back."""
    for name, before, after in (("shares", "true", "false"), ("owns", "false", "true")):
        table = lake.create(name, [1], **{"gc.enabled": before})
        content = {as_path(location) for location in table.inspect.all_files().column("file_path").to_pylist()}
        with table.transaction() as transaction:
            transaction.set_properties({"gc.enabled": after})
        report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", name)))))
        assert report.tables == [("ns", name)] and not as_path(table.metadata_location).exists()
        assert {path.exists() for path in content} == {after == "false"}


def test_nobody_can_tell_whose_the_data_are_once_the_newest_metadata_are_gone(lake: TestLake) -> None:
    table = lake.create("t", [1], [2])
    content = {as_path(location) for location in table.inspect.all_files().column("file_path").to_pylist()}
    drop(lake, "t")
    as_path(table.metadata_location).unlink()
    report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    assert report.problems == [f"Table ns.t: File is missing: {table.metadata_location}"]
    assert report.tables == [("ns", "t")] and all(path.exists() for path in content)


def test_what_engines_expired_since_is_no_problem(lake: TestLake, tmp_path: Path) -> None:
    table = lake.create("t", [1], [2])
    [first, _] = table.metadata.snapshots
    table.maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    as_path(first.manifest_list).unlink()
    report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    assert (report.tables, report.problems) == ([("ns", "t")], []) and engines_files(tmp_path) == set()


@pytest.mark.parametrize("let_go", ["unregistered", "dropped"])
def test_what_only_a_former_twin_had_stays(lake: TestLake, let_go: str) -> None:
    """It was registered from the table's metadata, so it bears its UUID; old versions still show it."""
    one = lake.create("one", [1])
    register(lake, "two", one.metadata_location)
    lake.load("two").append(rows(2))
    lake.run(lake.catalog.main.rename_table(("ns", "two"), ("ns", "twin")))
    two = lake.load("twin")
    own = files_of(two) - files_of(one)
    if let_go == "dropped":
        drop(lake, "twin", purge=False)
    else:
        lake.run(lake.catalog.main.unregister_table(("ns", "twin")))
    lake.load("one").append(rows(3))
    plan = lake.run(plan_purge(lake.parts, ("ns", "one")))
    assert plan.versions == list(range(2, lake.run(lake.catalog.latest_version()) + 1))
    taken = files_of(lake.load("one"))
    report = lake.run(purge_now(lake.parts, plan))
    assert report.tables == [("ns", "one")]
    assert own and all(path.exists() for path in own)
    assert not any(path.exists() for path in taken)


def test_a_table_is_followed_through_its_names(lake: TestLake, tmp_path: Path) -> None:
    """Also where others bore them before and afterwards, and in transactions that did several things to it."""
    main = lake.catalog.main
    table = lake.create("first", [1])
    lake.run(main.rename_table(("ns", "first"), ("ns", "second")))
    other = files_of(lake.create("first", [9]))
    table = lake.load("second")
    [snapshot] = table.metadata.snapshots
    table.append(rows(2))
    # Its file is named by an older version alone.
    table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()

    async def exchange() -> None:
        await lake.catalog.transactions.begin("exchange")
        inside = await lake.catalog.within("exchange")
        for source, target in (("first", "third"), ("second", "first"), ("third", "second")):
            await inside.rename_table(("ns", source), ("ns", target))
        await lake.catalog.transactions.commit("exchange")

    lake.run(exchange())
    plan = lake.run(plan_purge(lake.parts, ("ns", "first")))
    assert plan.versions == list(range(2, lake.run(lake.catalog.latest_version()) + 1))
    report = lake.run(purge_now(lake.parts, plan))
    assert (report.tables, report.problems) == ([("ns", "first")], [])
    assert engines_files(tmp_path) == files_of(lake.load("second")) == other and ids_in(lake.load("second")) == [9]


def test_a_table_that_was_made_and_dropped_in_one_transaction(lake: TestLake, tmp_path: Path) -> None:
    source = lake.create("source", [1])
    lake.run(lake.catalog.main.unregister_table(("ns", "source")))

    async def come_and_go() -> None:
        await lake.catalog.transactions.begin("short")
        inside = await lake.catalog.within("short")
        await inside.register_table(("ns", "t"), source.metadata_location)
        await inside.drop_table(("ns", "t"), True)
        await lake.catalog.transactions.commit("short")

    lake.run(come_and_go())
    plan = lake.run(plan_purge(lake.parts, ("ns", "t")))
    assert plan.versions == [] and not plan.is_there
    assert lake.run(purge_now(lake.parts, plan)).tables == [("ns", "t")]
    # That file is of a table which nobody wished to purge; registered tables have their own.
    assert engines_files(tmp_path) == {as_path(source.metadata_location)}


def test_it_is_told_how_far_it_is(lake: TestLake) -> None:
    lake.create("t", [1], [2])
    lake.create("kept", [3])
    told: list[tuple[str, int, int | None]] = []
    plan = lake.run(plan_purge(lake.parts, ("ns", "t")))
    report = lake.run(purge_now(lake.parts, plan, progress=lambda *arguments: told.append(arguments)))
    assert list(dict.fromkeys(doing for doing, _, _ in told)) == ["reading doomed tables", "reading kept tables", "deleting table files"]
    deleted = [(done, total) for doing, done, total in told if doing == "deleting table files"]
    # In batches, each counted for itself.
    batches = [total for done, total in deleted if done == 1]
    assert sum(batches) == len(report.deleted) and deleted == [(done, total) for total in batches for done in range(1, total + 1)]


def test_a_reader_is_found_though_the_versions_since_were_given_up(lake: TestLake, tmp_path: Path) -> None:
    """Their stubs still say what became of the table's name."""
    lake.create("t", [1])
    reader = lake.run(lake.catalog.transactions.begin("reader"))
    lake.run(lake.catalog.main.rename_table(("ns", "t"), ("ns", "u")))
    drop(lake, "u")
    lake.run(lake.catalog.main.create_namespace(("later",), {}))
    expired(lake)
    with pytest.raises(ConflictError, match=rf"Transaction reader began at version {reader.base_version} and may still read table ns\.u"):
        lake.run(plan_purge(lake.parts, ("ns", "u")))
    # Whoever bears the name that it had then is another one.
    lake.create("t", [2])
    lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "t")))))
    lake.run(lake.catalog.transactions.rollback("reader"))
    assert lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", "u"))))).tables == [("ns", "u")]
    assert engines_files(tmp_path) == set()
