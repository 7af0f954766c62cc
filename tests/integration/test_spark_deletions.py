"""Engines delete files themselves when snapshots expire: not where a rollback, or a later version, would miss them."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.conftest import Lake
from tests.support.servers import WAREHOUSE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
DISABLED = "GC is disabled"


def refused_deletions(lake: Lake, table: str) -> None:
    """Everything by which Spark would delete a table's files ends with the same words, in this state of the catalog."""
    name, tomorrow = f"table => '{lake.namespace}.{table}'", f"TIMESTAMP '{_tomorrow()}'"
    for call in (
        f"expire_snapshots({name}, older_than => {tomorrow}, retain_last => 1)",
        f"remove_orphan_files({name})",
        f"remove_orphan_files({name}, dry_run => true)",
    ):
        assert DISABLED in lake.engine.refusal(f"CALL {lake.catalog}.system.{call}"), call


def test_what_a_transaction_rolled_back_is_still_there(local_lake: Lake) -> None:
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.t AS SELECT 1L AS id")
    run(f"INSERT INTO {here.scope}.t VALUES (2)")
    first, second = here.snapshots("t")
    dtxn = here.begin()
    # Nothing of what the latest version shows is part of the newest snapshot.
    run(f"INSERT OVERWRITE {dtxn.scope}.t VALUES (3)")
    for inside in (dtxn.by_name, dtxn.as_warehouse()):
        refused_deletions(inside, "t")
        # Without `rest-catalog-purge` Spark would delete the files of the purged table by itself.
        assert DISABLED in here.engine.refusal(f"DROP TABLE {inside.scope}.t PURGE")
        # What deletes nothing goes on: metadata of this transaction, snapshots included.
        run(f"ALTER TABLE {inside.scope}.t SET TBLPROPERTIES ('seen'='yes')")
        assert run(f"SELECT id FROM {inside.scope}.t") == [(3,)]
    run(f"CREATE OR REPLACE TABLE {dtxn.scope}.t TBLPROPERTIES ('replaced'='yes') AS SELECT 4L AS id")
    refused_deletions(dtxn.by_name, "t")
    dtxn.roll_back()
    assert run(f"SELECT id FROM {here.scope}.t ORDER BY id") == [(1,), (2,)]
    assert run(f"SELECT id FROM {here.scope}.t VERSION AS OF {first}") == [(1,)]
    assert here.snapshots("t") == [first, second]


def test_what_spark_sends_back_from_a_transaction_does_not_carry_it_out(local_lake: Lake) -> None:
    """Changes and replacements are made from what was loaded; after COMMIT the table allows what it allowed before."""
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.changed AS SELECT 1L AS id")
    run(f"CREATE TABLE {here.scope}.replaced AS SELECT 1L AS id")
    dtxn = here.begin()
    run(f"ALTER TABLE {dtxn.scope}.changed SET TBLPROPERTIES ('a'='1')")
    run(f"INSERT INTO {dtxn.scope}.changed VALUES (2)")
    run(f"CREATE OR REPLACE TABLE {dtxn.scope}.replaced TBLPROPERTIES ('a'='1') AS SELECT 2L AS id")
    run(f"CREATE TABLE {dtxn.scope}.created TBLPROPERTIES ('a'='1') AS SELECT 2L AS id")
    dtxn.commit()
    for table in ("changed", "replaced", "created"):
        properties = dict(run(f"SHOW TBLPROPERTIES {here.scope}.{table}"))
        assert properties["a"] == "1" and "gc.enabled" not in properties, table
    ((deleted, *_),) = run(
        f"CALL {here.catalog}.system.expire_snapshots(table => '{here.namespace}.replaced', older_than => TIMESTAMP '{_tomorrow()}')"
    )
    assert deleted == 1, "in the latest state it is as it was"


def test_a_past_version_deletes_nothing_of_the_present(local_lake: Lake) -> None:
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.t AS SELECT 1L AS id")
    run(f"INSERT OVERWRITE {here.scope}.t VALUES (2)")
    probe = here.begin()
    version = probe.properties["base-version"]
    probe.roll_back()
    run(f"INSERT INTO {here.scope}.t VALUES (3)")
    past = Lake(here.engine, here.server, here.engine.attach(here.server, f"{WAREHOUSE}@v{version}"), here.namespace)
    refused_deletions(past, "t")
    assert run(f"SELECT id FROM {past.scope}.t") == [(2,)]
    assert run(f"SELECT id FROM {here.scope}.t ORDER BY id") == [(2,), (3,)]


def test_expired_snapshots_leave_old_versions_that_load_and_have_no_rows(local_lake: Lake) -> None:
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.t AS SELECT 1L AS id")
    dtxn = here.begin()
    past = Lake(
        here.engine, here.server, here.engine.attach(here.server, f"{WAREHOUSE}@v{dtxn.properties['base-version']}"), here.namespace
    )
    run(f"INSERT OVERWRITE {here.scope}.t VALUES (2)")
    earlier = (past, dtxn.by_name)
    assert [run(f"SELECT id FROM {lake.scope}.t") for lake in earlier] == [[(1,)], [(1,)]]
    call = f"expire_snapshots(table => '{here.namespace}.t', older_than => TIMESTAMP '{_tomorrow()}', retain_last => 1)"
    run(f"CALL {here.catalog}.system.{call}")
    for lake in earlier:
        assert run(f"DESCRIBE TABLE {lake.scope}.t")[0][:2] == ("id", "bigint")
        refusal = here.engine.refusal(f"SELECT id FROM {lake.scope}.t")
        lost = re.search(r"file:(/\S+\.(?:avro|parquet))", refusal)
        assert lost is not None and not Path(lost[1]).exists(), refusal
    assert run(f"SELECT id FROM {here.scope}.t") == [(2,)]
    dtxn.roll_back()


def test_old_files_of_an_open_transaction_are_taken_for_orphans(local_lake: Lake) -> None:
    run, here = local_lake.engine.rows, local_lake
    run(f"CREATE TABLE {here.scope}.t AS SELECT 1L AS id")
    folder = Path(here.metadata("t")["location"].removeprefix("file://"))
    before = set(folder.rglob("*.parquet"))
    dtxn = here.begin()
    run(f"INSERT INTO {dtxn.scope}.t VALUES (2)")
    (new,) = set(folder.rglob("*.parquet")) - before

    def orphans() -> set[str]:
        """Names of the files that the default would delete: those older than three days."""
        found = run(f"CALL {here.catalog}.system.remove_orphan_files(table => '{here.namespace}.t', dry_run => true)")
        return {Path(location).name for (location,) in found}

    assert new.name not in orphans(), "spared while it is young"
    four_days_ago = time.time() - 4 * 86_400
    os.utime(new, (four_days_ago, four_days_ago))
    assert new.name in orphans()
    dtxn.commit()
    assert new.name not in orphans()
    assert run(f"SELECT id FROM {here.scope}.t ORDER BY id") == [(1,), (2,)]


def _tomorrow() -> str:
    return f"{datetime.now(UTC) + timedelta(days=1):%F %T}"
