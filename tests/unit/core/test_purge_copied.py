"""A copy of a catalog, opened at another place: its tables' metadata name the original's files, which it must not purge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog_format.errors import ConflictError
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from tests.support.catalogs import ManualClock
from tests.support.purging import drop, engines_files, settled, wishes
from tests.support.pyiceberg_tables import LAKE_FOLDER, TestLake, all_files, as_path, files_of, ids_in, opened_lake

COPY = "copy"


@pytest.fixture
def copy(lake: TestLake, tmp_path: Path, clock: ManualClock) -> Iterator[TestLake]:
    """Of a catalog with the table ns.t."""
    lake.create("t", [1])
    # Nothing is on its way to the folder any more.
    lake.run(lake.catalog.versions.close())
    shutil.copytree(tmp_path / LAKE_FOLDER, tmp_path / COPY / LAKE_FOLDER)
    with opened_lake(tmp_path / COPY, clock) as one:
        yield one


def tables_files(folder: Path) -> set[Path]:
    return {path for path in all_files(folder) if "data" in path.parts}


def test_nothing_is_purged_at_once_in_a_copy(lake: TestLake, copy: TestLake, tmp_path: Path) -> None:
    before = tables_files(tmp_path)
    with pytest.raises(ConflictError, match=r"Table ns\.t cannot be purged: Metadata file .* was copied here .* Purge it there"):
        copy.run(plan_purge(copy.parts, ("ns", "t")))
    assert tables_files(tmp_path) == before and copy.run(copy.catalog.main.table_exists(("ns", "t")))
    assert ids_in(lake.load("t")) == [1]


def test_a_wish_waits_in_a_copy_until_it_is_given_up(lake: TestLake, copy: TestLake, tmp_path: Path) -> None:
    drop(copy, "t")
    original = tables_files(tmp_path / LAKE_FOLDER)
    report = settled(copy)
    assert (report.tables, report.waiting, report.deleted) == ([], 1, [])
    [problem] = report.problems
    assert problem.startswith("Table ns.t waits: Metadata file ") and "was copied here with its catalog" in problem
    assert tables_files(tmp_path / LAKE_FOLDER) == original and ids_in(lake.load("t")) == [1]
    # The copy's own metadata file is what names them.
    location = copy.run(lake.catalog.main.table_location(("ns", "t")))
    as_path(location.replace(f"/{LAKE_FOLDER}/", f"/{COPY}/{LAKE_FOLDER}/", 1)).unlink()
    assert settled(copy).tables == [("ns", "t")] and wishes(copy) == []
    assert tables_files(tmp_path / LAKE_FOLDER) == original


@pytest.mark.parametrize("at_once", [False, True])
def test_a_table_that_lies_elsewhere_by_its_own_account_is_no_copy(lake: TestLake, tmp_path: Path, at_once: bool) -> None:
    """Its metadata below the root are meant to be there, or they are elsewhere too."""
    below = f"file://{tmp_path}/{LAKE_FOLDER}/data/kept-apart"
    lake.create("apart", [1], location=f"file://{tmp_path}/far", **{"write.metadata.path": below})
    lake.create("far", [1], location=f"file://{tmp_path}/farther")
    tables = [lake.load("apart"), lake.load("far")]
    assert as_path(tables[0].metadata_location).parent == as_path(below)
    assert all(files_of(table) for table in tables)
    for table in tables:
        name = table.name()[1]
        if at_once:
            report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, ("ns", name)))))
        else:
            drop(lake, name)
            report = settled(lake)
        assert (report.tables, report.problems) == ([("ns", name)], [])
    assert engines_files(tmp_path) == set()
