"""Purging a table at once while others work: only that very table loses anything, whoever took its name or shares its files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import CommitTableResponse, Table

from catalog_format.changes import Verb
from catalog_format.maintenance.purge_now import plan_purge, purge_now
from catalog_format.scope import NewTable, TableCommit
from tests.support.catalogs import ManualClock, TimelessFolder
from tests.support.purging import drop, is_clean, wishes
from tests.support.pyiceberg_tables import LAKE_FOLDER, SCHEMA, TestLake, all_files, as_path, files_of, ids_in, opened_lake, plain, rows

T = ("ns", "t")


class Between(TimelessFolder):
    """Has something else happen before the first file is read whose name ends as told."""

    suffix = ""
    then: Callable[[], Awaitable[object]] | None = None

    async def get(self, path: str) -> bytes:
        if self.then is not None and path.endswith(self.suffix):
            then, self.then = self.then, None
            await then()
        return await super().get(path)


@pytest.mark.parametrize("anew", ["created", "registered"])
def test_a_table_that_takes_the_name_right_after_the_drop_loses_nothing(tmp_path: Path, clock: ManualClock, anew: str) -> None:
    with opened_lake(tmp_path, clock) as other, opened_lake(tmp_path, clock) as lake:
        old = other.create("t", [1])
        his = files_of(old)
        submit = lake.parts.committer.submit

        async def followed(wish: Any) -> Any:
            done = await submit(wish)
            if any(change.verb is Verb.DROP for change in wish.changes):
                if anew == "created":
                    await other.catalog.main.create_table(T, NewTable(SCHEMA))
                else:
                    await other.catalog.main.register_table(T, old.metadata_location)
            return done

        lake.parts.committer.submit = followed  # type: ignore[method-assign]
        report = lake.run(purge_now(lake.parts, lake.run(plan_purge(lake.parts, T))))
        assert (report.tables, report.problems) == ([T], [])
        assert wishes(other) == []
        assert bool(his & all_files(tmp_path)) is (anew == "registered")
        other.load("t").append(rows(2))
        assert ids_in(other.load("t")) == ([2] if anew == "created" else [1, 2])
        assert is_clean(other)


def test_a_transaction_that_commits_while_kept_tables_are_read_loses_nothing(tmp_path: Path, clock: ManualClock) -> None:
    """It had added a file of the doomed table to another one: at first nobody but it shows that, then nobody but the latest version."""
    with opened_lake(tmp_path, clock) as other:
        lender = other.create("lender", [1], [2])
        [location, _] = sorted(lender.inspect.all_files().column("file_path").to_pylist())
        other.create("borrower", [7])
        drop(other, "lender")
        other.run(other.catalog.transactions.begin("late"))
        commit_inside(other, "late", "borrower", lambda table: table.add_files([location]))
        store = Between(tmp_path / LAKE_FOLDER)
        lake = TestLake(store, clock)
        plan = lake.run(plan_purge(lake.parts, ("ns", "lender")))

        async def commit() -> None:
            await other.catalog.transactions.commit("late")
            await other.catalog.transactions.close()

        # The borrower's; those of the doomed table are read before.
        store.suffix = as_path(other.load("borrower").metadata.snapshots[-1].manifest_list).name
        store.then = commit
        report = lake.run(purge_now(lake.parts, plan))
        lake.close()
        assert store.then is None and (report.tables, report.problems) == ([("ns", "lender")], [])
        assert len(ids_in(other.load("borrower"))) == 2


def test_what_is_registered_while_kept_tables_are_read_loses_nothing(tmp_path: Path, clock: ManualClock) -> None:
    with opened_lake(tmp_path, clock) as other:
        table = other.create("t", [1])
        kept = other.create("kept", [2])
        drop(other, "t")
        store = Between(tmp_path / LAKE_FOLDER)
        lake = TestLake(store, clock)
        store.suffix = as_path(kept.metadata.snapshots[-1].manifest_list).name
        plan = lake.run(plan_purge(lake.parts, T))

        async def again() -> None:
            await other.catalog.main.register_table(("ns", "again"), table.metadata_location)
            # What only a version in between shows is safe as well: a transaction may begin there.
            await other.catalog.main.rename_table(("ns", "again"), ("ns", "renamed"))

        store.then = again
        report = lake.run(purge_now(lake.parts, plan))
        lake.close()
        # A table that is registered gets a metadata file of its own.
        assert store.then is None and (report.tables, report.deleted) == ([T], [table.metadata_location])
        assert ids_in(other.load("renamed")) == [1]


def commit_inside(lake: TestLake, transaction: str, name: str, change: Callable[[Table], object]) -> None:
    """Do to a table, in a transaction, what PyIceberg would do outside."""
    wanted: list[TableCommit] = []

    def hold(table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        wanted.append(TableCommit(table.name(), [plain(one) for one in requirements], [plain(one) for one in updates]))
        return CommitTableResponse(metadata=table.metadata, metadata_location=table.metadata_location)

    async def inside() -> None:
        await (await lake.catalog.within(transaction)).commit_tables(wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lake, "commit_table", hold)
        change(lake.load(name))
    lake.run(inside())
