"""BEGIN, work, COMMIT and ROLLBACK in Spark SQL: transactions are namespaces, on a local folder and on S3."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Lake

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def shop(lake: Lake) -> Lake:
    """A namespace with two tables, on each kind of store."""
    return _shop(lake)


@pytest.fixture
def local_shop(local_lake: Lake) -> Lake:
    return _shop(local_lake)


def _shop(lake: Lake) -> Lake:
    lake.engine.rows(f"CREATE TABLE {lake.scope}.stock AS SELECT * FROM VALUES ('apple', 5), ('pear', 7) AS t (item, pieces)")
    lake.engine.rows(f"CREATE TABLE {lake.scope}.orders (id BIGINT, item STRING, pieces INT) USING iceberg")
    return lake


def test_begin_work_commit(shop: Lake) -> None:
    """Every kind of change in one transaction: seen inside at once, outside only after COMMIT, and then all of it."""
    run, refusal, outside = shop.engine.rows, shop.engine.refusal, shop.scope
    run(f"CREATE TABLE {outside}.old AS SELECT 1 AS x")
    dtxn = shop.begin(isolation_level="snapshot", ttl_millis="600000", comment="the nightly load")
    inside = dtxn.scope
    assert (f"sys.dtxns.dtxn_{dtxn.id}",) in run(f"SHOW NAMESPACES IN {shop.catalog}.sys.dtxns")
    assert (f"sys.dtxns.dtxn_{dtxn.id}.{shop.namespace}",) in run(f"SHOW NAMESPACES IN {dtxn.name}")
    begun = dict(run(f"DESCRIBE NAMESPACE EXTENDED {dtxn.name}"))
    assert begun["Comment"] == "the nightly load"
    assert (dtxn.properties["status"], dtxn.properties["isolation-level"]) == ("open", "snapshot")
    assert int(dtxn.properties["expires-at"]) - int(dtxn.properties["began-at"]) == 600_000

    # Rows.
    run(f"INSERT INTO {inside}.orders VALUES (1, 'apple', 2), (2, 'pear', 1), (3, 'plum', 9)")
    run(f"USE {inside}")
    run("DELETE FROM orders WHERE item = 'plum'")
    run("UPDATE orders SET pieces = 3 WHERE id = 1")
    run("MERGE INTO stock USING orders ON stock.item = orders.item WHEN MATCHED THEN UPDATE SET pieces = stock.pieces - orders.pieces")
    run("INSERT INTO stock SELECT 'cherry', 100")
    # Tables, views and namespaces.
    run("CREATE TABLE daily AS SELECT item, sum(pieces) AS sold FROM orders GROUP BY item")
    run("CREATE OR REPLACE TABLE daily AS SELECT item, sold, 'today' AS day FROM daily")
    run("ALTER TABLE orders ADD COLUMN note STRING")
    run("ALTER TABLE daily RENAME TO per_day")
    run("DROP TABLE old")
    run(f"CREATE VIEW {inside}.pears AS SELECT * FROM {outside}.orders WHERE item = 'pear'")
    run(f"CREATE NAMESPACE {inside}.archive WITH PROPERTIES ('team'='red')")
    run(f"CREATE TABLE {inside}.archive.empty (x INT) USING iceberg")
    run(f"CREATE NAMESPACE {inside}.short_lived")
    run(f"DROP NAMESPACE {inside}.short_lived")
    run(f"ALTER NAMESPACE {inside} SET PROPERTIES ('loaded'='yes')")
    run("USE spark_catalog.default")

    expected = {
        "stock ORDER BY item": [("apple", 2), ("cherry", 100), ("pear", 6)],
        "orders ORDER BY id": [(1, "apple", 3, None), (2, "pear", 1, None)],
        "per_day ORDER BY item": [("apple", 3, "today"), ("pear", 1, "today")],
        "archive.empty": [],
    }
    tables = {"orders", "per_day", "stock"}
    assert {query: run(f"SELECT * FROM {inside}.{query}") for query in expected} == expected
    assert {row[1] for row in run(f"SHOW TABLES IN {inside}")} == tables
    assert {row[1] for row in run(f"SHOW VIEWS IN {inside}")} == {"pears"}
    assert run(f"SHOW NAMESPACES IN {inside}") == [(f"sys.dtxns.dtxn_{dtxn.id}.{shop.namespace}.archive",)]
    # Metadata tables and time travel below the transaction's name.
    snapshots = run(f"SELECT snapshot_id, operation FROM {inside}.orders.snapshots ORDER BY committed_at")
    assert [operation for _, operation in snapshots] == ["append", "overwrite", "overwrite"]
    assert run(f"SELECT count(*) FROM {inside}.orders VERSION AS OF {snapshots[0][0]}") == [(3,)]
    assert run(f"SELECT count(*) FROM {inside}.orders.files") == [(2,)]

    # Nothing of it outside.
    assert run(f"SELECT * FROM {outside}.stock ORDER BY item") == [("apple", 5), ("pear", 7)]
    assert run(f"SELECT * FROM {outside}.orders") == []
    assert {row[1] for row in run(f"SHOW TABLES IN {outside}")} == {"stock", "orders", "old"}
    assert run(f"SHOW VIEWS IN {outside}") == run(f"SHOW NAMESPACES IN {outside}") == []
    assert run(f"SELECT * FROM {outside}.orders.snapshots") == []
    assert "loaded" not in shop.engine.properties_of(outside)

    dtxn.commit()
    assert {query: run(f"SELECT * FROM {outside}.{query}") for query in expected} == expected
    assert {row[1] for row in run(f"SHOW TABLES IN {outside}")} == tables
    assert run(f"SELECT id FROM {outside}.pears") == [(2,)]
    assert run(f"SHOW NAMESPACES IN {outside}") == [(f"{shop.namespace}.archive",)]
    assert shop.engine.properties_of(outside)["loaded"] == "yes"
    assert run(f"SELECT snapshot_id, operation FROM {outside}.orders.snapshots ORDER BY committed_at") == snapshots

    # What became of it can be asked as often as one likes; it takes nothing more.
    dtxn.commit()
    assert dtxn.properties["status"] == "committed"
    assert int(dtxn.properties["version"]) > int(dtxn.properties["base-version"])
    assert (f"sys.dtxns.dtxn_{dtxn.id}",) not in run(f"SHOW NAMESPACES IN {shop.catalog}.sys.dtxns")
    assert f"Transaction {dtxn.id} was committed" in refusal(f"DROP NAMESPACE {dtxn.name}")
    assert f"Transaction {dtxn.id} is committed" in refusal(f"INSERT INTO {inside}.orders VALUES (9, 'x', 1, '')")
    assert "already exists" in refusal(f"CREATE NAMESPACE {dtxn.name}"), "an id is used once"


def test_rollback_leaves_no_trace(shop: Lake) -> None:
    run = shop.engine.rows
    before = run(f"SELECT * FROM {shop.scope}.stock.snapshots")
    dtxn = shop.begin()
    run(f"UPDATE {dtxn.scope}.stock SET pieces = 0")
    run(f"CREATE TABLE {dtxn.scope}.scratch AS SELECT 1 AS x")
    run(f"DROP TABLE {dtxn.scope}.orders")
    dtxn.roll_back()
    assert run(f"SELECT sum(pieces) FROM {shop.scope}.stock") == [(12,)]
    assert run(f"SELECT * FROM {shop.scope}.stock.snapshots") == before
    assert {row[1] for row in run(f"SHOW TABLES IN {shop.scope}")} == {"stock", "orders"}
    assert dtxn.properties["status"] == "rolled-back"
    assert f"Transaction {dtxn.id} is rolled-back" in shop.engine.refusal(dtxn.committing)


def test_what_others_commit_later_is_invisible(local_shop: Lake) -> None:
    run, outside = local_shop.engine.rows, local_shop.scope
    reader, other = local_shop.begin(), local_shop.begin()
    run(f"INSERT INTO {other.scope}.orders VALUES (1, 'apple', 1)")
    assert run(f"SELECT count(*) FROM {reader.scope}.orders") == [(0,)], "two transactions do not see each other"
    other.commit()
    run(f"INSERT INTO {outside}.stock VALUES ('kiwi', 1)")
    run(f"CREATE TABLE {outside}.later (x INT) USING iceberg")
    run(f"ALTER TABLE {outside}.orders RENAME COLUMN pieces TO amount")
    assert run(f"SELECT * FROM {reader.scope}.stock ORDER BY item") == [("apple", 5), ("pear", 7)]
    assert run(f"SELECT id, item, pieces FROM {reader.scope}.orders") == []
    assert {row[1] for row in run(f"SHOW TABLES IN {reader.scope}")} == {"stock", "orders"}
    assert run(f"SELECT count(*) FROM {reader.scope}.stock.snapshots") == [(1,)]
    reader.commit()
    assert run(f"SELECT amount FROM {outside}.orders") == [(1,)]


def test_a_winner_and_a_loser(shop: Lake) -> None:
    """Both write two tables. The first COMMIT wins; the second is refused as a whole and says why."""
    run = shop.engine.rows
    winner, loser = shop.begin(), shop.begin()
    for number, dtxn in enumerate((loser, winner), start=1):
        run(f"INSERT INTO {dtxn.scope}.orders VALUES ({number}, 'apple', 1)")
        run(f"UPDATE {dtxn.scope}.stock SET pieces = pieces - 1 WHERE item = 'apple'")
    run(f"CREATE TABLE {loser.scope}.extra (x INT) USING iceberg")
    winner.commit()
    message = shop.engine.refusal(loser.committing)
    assert message.startswith(f"Transaction {loser.id} (base version {loser.properties['base-version']}) is refused because of table")
    assert f"{shop.namespace}.orders" in message or f"{shop.namespace}.stock" in message
    assert f"transaction {winner.id} (version {winner.properties['version']})" in message
    assert "changed meanwhile: overwrite and overwrite: both removed" in message and message.endswith(".parquet")
    assert (loser.properties["status"], loser.properties["reason"]) == ("refused", message)
    assert shop.engine.refusal(loser.committing) == message, "asking again gives the same answer"
    assert run(f"SELECT id FROM {shop.scope}.orders") == [(2,)]
    assert run(f"SELECT pieces FROM {shop.scope}.stock WHERE item = 'apple'") == [(4,)]
    assert "TABLE_OR_VIEW_NOT_FOUND" in shop.engine.refusal(f"SELECT * FROM {shop.scope}.extra")


def test_changes_that_do_not_meet_both_commit(local_shop: Lake) -> None:
    run = local_shop.engine.rows
    one, two = local_shop.begin(), local_shop.begin()
    run(f"INSERT INTO {one.scope}.orders VALUES (1, 'apple', 1)")
    run(f"INSERT INTO {two.scope}.stock VALUES ('kiwi', 1)")
    # Of one table, even: another property, beside the other's rows.
    run(f"ALTER TABLE {two.scope}.orders SET TBLPROPERTIES ('purpose'='test')")
    one.commit()
    two.commit()
    assert run(f"SELECT count(*) FROM {local_shop.scope}.stock") == [(3,)]
    assert run(f"SELECT id FROM {local_shop.scope}.orders") == [(1,)]
    assert dict(run(f"SHOW TBLPROPERTIES {local_shop.scope}.orders"))["purpose"] == "test"


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_write_skew(local_shop: Lake, level: str) -> None:
    """Each reads what the other writes: possible under `snapshot`, refused under `serializable`."""
    run = local_shop.engine.rows
    run(f"INSERT INTO {local_shop.scope}.orders VALUES (1, 'apple', 7)")
    one, two = local_shop.begin(isolation_level=level), local_shop.begin(isolation_level=level)
    run(f"INSERT INTO {one.scope}.stock SELECT 'sum', sum(pieces) FROM {one.scope}.orders")
    run(f"INSERT INTO {two.scope}.orders SELECT 2, 'sum', sum(pieces) FROM {two.scope}.stock")
    one.commit()
    if level == "snapshot":
        two.commit()
        assert run(f"SELECT pieces FROM {local_shop.scope}.orders WHERE id = 2") == [(12,)]
    else:
        message = local_shop.engine.refusal(two.committing)
        assert f"because of table {local_shop.namespace}.stock" in message and "it read what the other overwrote" in message
        assert message.endswith(f"read table {local_shop.namespace}.orders, which this one writes")
        assert two.properties["status"] == "refused"


@pytest.mark.parametrize("drew_reads_it", [False, True])
def test_jack_before_drew(local_shop: Lake, drew_reads_it: bool) -> None:
    """Drew changes what Jack has read, and commits first. Jack comes before him, unless Drew has read what Jack changes."""
    run = local_shop.engine.rows
    jack, drew = (local_shop.begin(isolation_level="serializable") for _ in range(2))
    assert run(f"SELECT count(*) FROM {jack.scope}.orders") == [(0,)]
    if drew_reads_it:
        assert run(f"SELECT sum(pieces) FROM {drew.scope}.stock") == [(12,)]
    run(f"INSERT INTO {drew.scope}.orders VALUES (1, 'apple', 2)")
    drew.commit()
    run(f"UPDATE {jack.scope}.stock SET pieces = pieces + 1 WHERE item = 'pear'")
    if drew_reads_it:
        message = local_shop.engine.refusal(jack.committing)
        drew_there = f"transaction {drew.id} (version {drew.properties['version']})"
        assert f"because of table {local_shop.namespace}.orders, which {drew_there} changed meanwhile" in message
        assert message.endswith(f"{drew_there} read table {local_shop.namespace}.stock, which this one writes")
    else:
        jack.commit()
        assert int(jack.properties["version"]) > int(drew.properties["version"])
    assert run(f"SELECT pieces FROM {local_shop.scope}.stock WHERE item = 'pear'") == [(7 if drew_reads_it else 8,)]
    assert run(f"SELECT id FROM {local_shop.scope}.orders") == [(1,)]


def test_system_is_another_word_for_sys(local_shop: Lake) -> None:
    run, name = local_shop.engine.rows, f"{local_shop.catalog}.system.dtxns.dtxn_{local_shop.namespace}"
    run(f"CREATE NAMESPACE {name}")
    run(f"INSERT INTO {name}.{local_shop.namespace}.orders VALUES (1, 'apple', 1)")
    assert run(f"SELECT id FROM {name.replace('.system.', '.sys.')}.{local_shop.namespace}.orders") == [(1,)]
    assert (f"system.dtxns.dtxn_{local_shop.namespace}",) in run(f"SHOW NAMESPACES IN {local_shop.catalog}.system.dtxns")
    run(f"ALTER NAMESPACE {name} SET PROPERTIES ('committed'='true')")
    assert run(f"SELECT id FROM {local_shop.scope}.orders") == [(1,)]


def test_views_belong_to_where_they_are_read(local_shop: Lake) -> None:
    """The names in a view's SQL are found in the transaction when the view is read there, and in the catalog afterwards."""
    run, ns = local_shop.engine.rows, local_shop.namespace
    run(f"USE {local_shop.scope}")
    run("CREATE VIEW all_pieces AS SELECT sum(pieces) AS n FROM stock")
    dtxn = local_shop.begin()
    run(f"USE {dtxn.scope}")
    run("INSERT INTO stock VALUES ('kiwi', 100)")
    assert run(f"SELECT n FROM {dtxn.scope}.all_pieces") == [(112,)]
    run("CREATE VIEW kiwis AS SELECT pieces FROM stock WHERE item = 'kiwi'")
    run("CREATE OR REPLACE VIEW all_pieces AS SELECT sum(pieces) + 1000 AS n FROM stock")
    assert run("SELECT * FROM kiwis") == [(100,)]
    assert run("SELECT * FROM all_pieces") == [(1112,)]
    run(f"USE {local_shop.catalog}")
    assert run(f"SELECT * FROM {ns}.all_pieces") == [(12,)]
    dtxn.commit()
    assert run(f"SELECT * FROM {ns}.kiwis") == [(100,)]
    assert run(f"SELECT * FROM {ns}.all_pieces") == [(1112,)]


def test_bad_wishes_are_refused_in_plain_words(local_lake: Lake) -> None:
    refusal, dtxns = local_lake.engine.refusal, f"{local_lake.catalog}.sys.dtxns"
    name = f"{dtxns}.dtxn_{local_lake.namespace}"
    assert "isolation-level must be snapshot or serializable" in refusal(
        f"CREATE NAMESPACE {name} WITH PROPERTIES ('isolation-level'='dirty')"
    )
    assert "ttl-millis must be" in refusal(f"CREATE NAMESPACE {name} WITH PROPERTIES ('ttl-millis'='an hour')")
    assert "sys.dtxns.dtxn_<id>" in refusal(f"CREATE NAMESPACE {dtxns}.{local_lake.namespace}")
    assert "cannot be made" in refusal(f"CREATE TABLE {dtxns}.t (x INT) USING iceberg")
    assert "is the system's and cannot be dropped" in refusal(f"DROP NAMESPACE {dtxns}")
    assert "already exists" in refusal(f"CREATE NAMESPACE {local_lake.catalog}.sys")
    dtxn = local_lake.begin()
    local_lake.engine.rows(f"CREATE TABLE {dtxn.scope}.t (x INT) USING iceberg")
    assert "must be in the same transaction" in refusal(f"ALTER TABLE {dtxn.scope}.t RENAME TO {local_lake.namespace}.t")
    assert "can be set to true only" in refusal(f"ALTER NAMESPACE {dtxn.name} SET PROPERTIES ('commit'='maybe')")
    assert dtxn.properties["status"] == "open"
