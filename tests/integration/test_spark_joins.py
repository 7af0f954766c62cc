"""Two changes of one table that Spark made at the same time: after COMMIT, Spark and PyIceberg read both, row ids included."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.integration.conftest import Lake
from tests.integration.pyiceberg_client.conftest import connect

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

COPY_ON_WRITE = {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")}
MERGE_ON_READ = dict.fromkeys(COPY_ON_WRITE, "merge-on-read")
ALWAYS_MERGING = {"commit.manifest.min-count-to-merge": "2"}


@dataclass(frozen=True)
class Story:
    """Statements of a transaction, and those that others committed meanwhile; `{t}` is the table."""

    properties: dict[str, str]
    own: tuple[str, ...]
    rival: tuple[str, ...]
    before: tuple[str, ...] = ()


UPDATE = "UPDATE {t} SET v = concat(v, '!') WHERE part = 1 AND id < 50"
COMPACTION = "CALL {catalog}.system.rewrite_data_files(table => '{name}', where => 'part = 1', options => map('rewrite-all', 'true'))"
STORIES = {
    "copy-on-write": Story(
        {"format-version": "2", **COPY_ON_WRITE},
        (UPDATE, "DELETE FROM {t} WHERE id = 12", "INSERT INTO {t} VALUES (100, 1, 'own')"),
        ("DELETE FROM {t} WHERE id IN (21, 22)", "INSERT INTO {t} VALUES (200, 1, 'rival')", "UPDATE {t} SET v = 'new' WHERE id = 31"),
    ),
    "merge-on-read": Story(
        {"format-version": "2", **MERGE_ON_READ},
        (UPDATE, "DELETE FROM {t} WHERE id = 12", "INSERT INTO {t} VALUES (100, 2, 'own')", "DELETE FROM {t} WHERE id = 100"),
        ("DELETE FROM {t} WHERE id IN (21, 22)", "INSERT INTO {t} VALUES (200, 1, 'rival')", "UPDATE {t} SET v = 'new' WHERE id = 31"),
    ),
    "deletion vectors": Story(
        {"format-version": "3", **MERGE_ON_READ},
        (
            UPDATE,
            "DELETE FROM {t} WHERE id = 12",
            "INSERT INTO {t} VALUES (100, 1, 'own'), (101, 2, 'own')",
            "DELETE FROM {t} WHERE id = 100",
        ),
        ("DELETE FROM {t} WHERE id IN (21, 22)", "INSERT INTO {t} VALUES (200, 1, 'rival')", "UPDATE {t} SET v = 'new' WHERE id = 31"),
    ),
    "merged manifests": Story(
        {"format-version": "3", **MERGE_ON_READ, **ALWAYS_MERGING},
        ("INSERT INTO {t} VALUES (100, 2, 'own')", UPDATE, "INSERT INTO {t} VALUES (101, 3, 'own')", "DELETE FROM {t} WHERE id = 13"),
        ("INSERT INTO {t} VALUES (200, 1, 'rival')", "DELETE FROM {t} WHERE id = 21", "INSERT INTO {t} VALUES (201, 2, 'rival')"),
        before=("DELETE FROM {t} WHERE id = 39",),
    ),
    "format 1": Story(
        {"format-version": "1", **COPY_ON_WRITE, **ALWAYS_MERGING},
        ("INSERT INTO {t} VALUES (100, 1, 'own')", UPDATE),
        ("DELETE FROM {t} WHERE id = 21", "INSERT INTO {t} VALUES (200, 1, 'rival')"),
    ),
    "upgraded": Story(
        {"format-version": "1", **COPY_ON_WRITE, **ALWAYS_MERGING},
        ("DELETE FROM {t} WHERE id = 12", "INSERT INTO {t} VALUES (100, 1, 'own')"),
        ("DELETE FROM {t} WHERE id = 21", "INSERT INTO {t} VALUES (200, 1, 'rival')"),
        before=("ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='2')", "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')"),
    ),
    "compaction": Story(
        {"format-version": "3", **MERGE_ON_READ},
        (COMPACTION,),
        ("INSERT INTO {t} VALUES (200, 1, 'rival')", "UPDATE {t} SET v = 'new' WHERE id = 21"),
        before=("INSERT INTO {t} VALUES (90, 1, 'small')", "DELETE FROM {t} WHERE id = 13"),
    ),
    "a column and rows": Story(
        {"format-version": "2", **MERGE_ON_READ},
        ("ALTER TABLE {t} ADD COLUMN note STRING", "INSERT INTO {t} VALUES (100, 1, 'own', 'noted')"),
        ("INSERT INTO {t} VALUES (200, 1, 'rival')", "DELETE FROM {t} WHERE id = 21"),
    ),
}


def run(lake: Lake, table: str, *statements: str) -> None:
    for statement in statements:
        lake.engine.rows(statement.format(t=f"{lake.scope}.{table}", catalog=lake.catalog, name=f"{lake.namespace}.{table}"))


def create(lake: Lake, table: str, story: Story) -> None:
    properties = ", ".join(f"'{key}'='{value}'" for key, value in story.properties.items())
    columns = "(id BIGINT, part INT, v STRING) USING iceberg PARTITIONED BY (part)"
    run(lake, table, f"CREATE TABLE {{t}} {columns} TBLPROPERTIES ({properties})")
    run(lake, table, "INSERT INTO {t} SELECT id, CAST(id DIV 10 AS INT), concat('v', id) FROM range(10, 40)", *story.before)


def ids(lake: Lake, table: str) -> list[int]:
    return sorted(row[0] for row in lake.engine.rows(f"SELECT id FROM {lake.scope}.{table} WHERE part = 1"))


@pytest.mark.parametrize("name", STORIES)
def test_both_changes_are_read(name: str, local_lake: Lake) -> None:
    story, lake = STORIES[name], local_lake
    rows = lake.engine.rows
    create(lake, "joined", story)
    create(lake, "serial", story)
    transaction = lake.begin()
    run(transaction.as_warehouse(), "joined", *story.own)
    run(lake, "joined", *story.rival)
    transaction.commit()
    run(lake, "serial", *story.rival, *story.own)
    table, serial = f"{lake.scope}.joined", f"{lake.scope}.serial"

    expected = sorted(rows(f"SELECT * FROM {serial}"), key=str)
    assert sorted(rows(f"SELECT * FROM {table}"), key=str) == expected
    catalog = connect(lake.server)
    scanned = catalog.load_table((lake.namespace, "joined")).scan().to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in scanned), key=str) == expected
    catalog.close()
    metadata = lake.metadata("joined")
    [summary] = [one["summary"] for one in metadata["snapshots"] if one["snapshot-id"] == metadata["current-snapshot-id"]]
    totals = [(int(summary["total-data-files"]), int(summary["total-records"]))]
    assert rows(f"SELECT count(*), sum(record_count) FROM {table}.data_files") == totals
    if metadata["format-version"] == 3:
        lineage = rows(f"SELECT id, _row_id, _last_updated_sequence_number FROM {table}")
        assert len({row_id for _, row_id, _ in lineage}) == len(lineage)
        assert all(row_id is not None for _, row_id, _ in lineage)
        # Rows from before format 3 have no ids yet, wherever own statements move them.
        if "ALTER" in "".join(story.before):
            return
        of_serial = {row[0]: row[2] for row in rows(f"SELECT id, _row_id, _last_updated_sequence_number FROM {serial}")}
        assert {row[0]: row[2] for row in lineage} == of_serial


@pytest.mark.parametrize(
    ("version", "own"),
    [("2", UPDATE), ("3", UPDATE), ("2", COMPACTION), ("3", "DELETE FROM {t} WHERE id = 12")],
    ids=["two updates", "two updates with vectors", "a compaction", "two deletes with vectors"],
)
def test_a_refusal_names_operations_and_file(version: str, own: str, local_lake: Lake) -> None:
    lake = local_lake
    create(lake, "t", Story({"format-version": version, **MERGE_ON_READ}, (), ()))
    transaction = lake.begin()
    run(transaction.as_warehouse(), "t", own)
    run(lake, "t", "INSERT INTO {t} VALUES (200, 1, 'rival')", "DELETE FROM {t} WHERE id = 11")
    refusal = lake.engine.refusal(transaction.committing)
    assert " and delete: " in refusal
    assert "/part=1/" in refusal
    assert ids(lake, "t") == [10, *range(12, 20), 200]


def test_rows_that_a_transaction_added_and_updated(local_lake: Lake) -> None:
    """Their row ids are inside the files: refused if others took ids meanwhile, and fine if not."""
    lake = local_lake
    create(lake, "t", Story({"format-version": "3", **MERGE_ON_READ}, (), ()))
    for rivals in ((), ("INSERT INTO {t} VALUES (200, 2, 'rival')",)):
        transaction = lake.begin()
        own = "INSERT INTO {t} VALUES (100, 1, 'own')", "UPDATE {t} SET v = 'more' WHERE id = 100", "DELETE FROM {t} WHERE id = 100"
        run(transaction.as_warehouse(), "t", *own)
        run(lake, "t", *rivals)
        if rivals:
            assert "row ids were taken" in lake.engine.refusal(transaction.committing)
        else:
            transaction.commit()
    assert ids(lake, "t") == [*range(10, 20)]


def test_sixteen_plain_appends_at_once(local_lake: Lake) -> None:
    """No 409, or a client that tries once would fail; and Java's clean-up after a commit takes no file that is needed."""
    lake, clients = local_lake, range(1000, 1016)
    impatient = {"commit.retry.num-retries": "0", "treeline.rebase-appends": "true"}
    create(lake, "t", Story({"format-version": "3", **MERGE_ON_READ, **ALWAYS_MERGING, **impatient}, (), ()))
    with ThreadPoolExecutor(len(clients)) as pool:
        statements = (f"INSERT INTO {lake.scope}.t VALUES ({number}, 1, 'one'), ({number}, 2, 'two')" for number in clients)
        list(pool.map(lake.engine.spark.sql, statements))
    assert ids(lake, "t") == [*range(10, 20), *clients]
    lineage = lake.engine.rows(f"SELECT _row_id FROM {lake.scope}.t")
    assert len(set(lineage)) == len(lineage) == 30 + 2 * len(clients)
    assert len(lake.snapshots("t")) == 1 + len(clients)
