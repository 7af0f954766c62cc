"""`ALTER TABLE` of every kind on Spark, in the catalog and in transactions: what the table is then, and what the server keeps of it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.integration.conftest import Site

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_columns(site: Site) -> None:
    """Add, drop, rename, move, widen, comment; nested in structs, lists and maps; old rows read as they are now."""
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(
        f"CREATE TABLE {t} (id INT NOT NULL COMMENT 'key', name STRING, price DECIMAL(6, 2), ratio FLOAT, place STRUCT<lat: DOUBLE>, "
        "points ARRAY<STRUCT<x: INT>>, prices MAP<STRING, STRUCT<net: INT>>) USING iceberg"
    )
    run(
        f"INSERT INTO {t} VALUES (1, 'one', 1.25, 0.5, named_struct('lat', 1.0), array(named_struct('x', 1)), "
        "map('a', named_struct('net', 7)))"
    )
    for change in (
        "ADD COLUMNS (first STRING COMMENT 'the first' FIRST, after_name BIGINT AFTER name)",
        "ADD COLUMN place.lon DOUBLE COMMENT 'degrees' FIRST",
        "ADD COLUMN points.element.y INT",
        "ADD COLUMN prices.value.gross INT AFTER net",
        "RENAME COLUMN name TO title",
        "RENAME COLUMN place.lat TO latitude",
        "ALTER COLUMN id TYPE BIGINT",
        "ALTER COLUMN ratio TYPE DOUBLE",
        "ALTER COLUMN price TYPE DECIMAL(12, 2)",
        "ALTER COLUMN price COMMENT 'in euros'",
        "ALTER COLUMN id DROP NOT NULL",
        "ALTER COLUMN title FIRST",
        "ALTER COLUMN place.lon AFTER latitude",
        "DROP COLUMN first",
        "DROP COLUMNS (after_name, ratio)",
        "DROP COLUMN points.element.x",
    ):
        run(f"ALTER TABLE {t} {change}")
    for wrong, message in {
        "ALTER COLUMN title TYPE INT": "NOT_SUPPORTED_CHANGE_COLUMN",
        "ALTER COLUMN id SET NOT NULL": "Cannot change nullable column to non-nullable",
        "ADD COLUMN title STRING": "already exists",
        "DROP COLUMN never": "cannot be resolved",
        "RENAME COLUMN title TO id": "already exists",
    }.items():
        assert message in site.here.engine.refusal(f"ALTER TABLE {t} {wrong}"), wrong
    run(
        f"INSERT INTO {t} VALUES ('big', 3000000000, 1234567890.5, named_struct('latitude', 2.0, 'lon', 3.0), array(named_struct('y', 2)), "
        "map('b', named_struct('net', 1, 'gross', 2)))"
    )
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"DESCRIBE TABLE {t}")[:6] == [
            ("title", "string", None),
            ("id", "bigint", "key"),
            ("price", "decimal(12,2)", "in euros"),
            ("place", "struct<latitude:double,lon:double>", None),
            ("points", "array<struct<y:int>>", None),
            ("prices", "map<string,struct<net:int,gross:int>>", None),
        ]
        assert run(
            f"SELECT title, id, price, place.latitude, place.lon, points[0].y, prices['a'].net, prices['b'].gross FROM {t} ORDER BY id"
        ) == [
            ("one", 1, Decimal("1.25"), 1.0, None, None, 7, None),
            ("big", 3000000000, Decimal("1234567890.50"), 2.0, 3.0, 2, None, 2),
        ]
        metadata = place.metadata("t")
        assert len(metadata["schemas"]) == 17 and metadata["last-column-id"] == 18, "each change a schema, each field an id of its own"
        (struct,) = [field["type"] for field in metadata["schemas"][-1]["fields"] if field["name"] == "place"]
        assert [field.get("doc") for field in struct["fields"]] == [None, "degrees"]


def test_partition_fields(site: Site) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(f"CREATE TABLE {t} (id BIGINT, kind STRING, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at))")

    def insert(number: int) -> None:
        run(f"INSERT INTO {t} VALUES ({number}, 'kind{number}', TIMESTAMP '2026-01-0{number} 10:00:00')")

    insert(1)
    run(f"ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id) AS shard")
    run(f"ALTER TABLE {t} ADD PARTITION FIELD truncate(4, kind)")
    insert(2)
    run(f"ALTER TABLE {t} REPLACE PARTITION FIELD at_day WITH hours(at) AS hour")
    run(f"ALTER TABLE {t} DROP PARTITION FIELD shard")
    run(f"ALTER TABLE {t} DROP PARTITION FIELD truncate(4, kind)")
    insert(3)
    run(f"ALTER TABLE {t} ADD PARTITION FIELD kind")
    insert(4)
    assert "Cannot find partition field to remove" in site.here.engine.refusal(f"ALTER TABLE {t} DROP PARTITION FIELD shard")
    assert "duplicate partition field" in site.here.engine.refusal(f"ALTER TABLE {t} ADD PARTITION FIELD kind").lower()
    for place in site.states():
        t = f"{place.scope}.t"
        assert run(f"SELECT id FROM {t} WHERE at < TIMESTAMP '2026-01-03 00:00:00' OR kind = 'kind4' ORDER BY id") == [(1,), (2,), (4,)]
        fields = "partition.at_day IS NOT NULL, partition.shard, partition.kind, partition.hour IS NOT NULL"
        written = run(f"SELECT spec_id, {fields} FROM {t}.files ORDER BY spec_id")
        assert [row[1] for row in written] == [True, True, False, False]
        assert [row[3] for row in written] == [None, None, None, "kind4"] and [row[4] for row in written] == [False, False, True, True]
        assert written[1][2] is not None and written[2][2] is None
        assert [row[0] for row in written] == sorted({row[0] for row in written}), "four specs"
        metadata = place.metadata("t")
        last = next(spec for spec in metadata["partition-specs"] if spec["spec-id"] == metadata["default-spec-id"])
        assert [(field["name"], field["transform"]) for field in last["fields"]] == [("hour", "hour"), ("kind", "identity")]
        assert run(f"DESCRIBE TABLE {t}")[-2:] == [("Part 0", "hours(at)", ""), ("Part 1", "kind", "")]


def test_write_orders_and_distribution(site: Site) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(f"CREATE TABLE {t} (id BIGINT NOT NULL, kind STRING NOT NULL, n INT) USING iceberg PARTITIONED BY (kind)")
    orders = {
        "WRITE ORDERED BY kind ASC NULLS LAST, bucket(8, id) DESC": (
            [("identity", "asc", "nulls-last"), ("bucket[8]", "desc", "nulls-last")],
            "range",
        ),
        "WRITE LOCALLY ORDERED BY id": ([("identity", "asc", "nulls-first")], "range"),
        "WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY n DESC": ([("identity", "desc", "nulls-last")], "hash"),
        "WRITE UNORDERED": ([], "none"),
        "WRITE DISTRIBUTED BY PARTITION": ([], "hash"),
        "WRITE ORDERED BY n DESC NULLS FIRST": ([("identity", "desc", "nulls-first")], "range"),
    }
    for change, expected in orders.items():
        run(f"ALTER TABLE {t} {change}")
        assert _order_and_distribution(site.here.metadata("t")) == expected, change
    run(f"ALTER TABLE {t} SET IDENTIFIER FIELDS id, kind")
    run(f"ALTER TABLE {t} DROP IDENTIFIER FIELDS kind")
    assert "not a required field" in site.here.engine.refusal(f"ALTER TABLE {t} SET IDENTIFIER FIELDS n")
    run(f"INSERT INTO {t} SELECT id, 'a', CAST(id AS INT) FROM range(5)")
    for place in site.states():
        metadata = place.metadata("t")
        assert _order_and_distribution(metadata) == ([("identity", "desc", "nulls-first")], "range")
        schema = next(schema for schema in metadata["schemas"] if schema["schema-id"] == metadata["current-schema-id"])
        assert schema["identifier-field-ids"] == [1]
        assert run(f"SELECT sort_order_id, record_count FROM {place.scope}.t.files") == [(metadata["default-sort-order-id"], 5)]


def test_properties_and_format(site: Site) -> None:
    run, t = site.here.engine.rows, f"{site.here.scope}.t"
    run(f"CREATE TABLE {t} (id BIGINT) USING iceberg COMMENT 'old' TBLPROPERTIES ('format-version'='1', 'a'='1', 'b'='2')")
    run(f"INSERT INTO {t} VALUES (1)")
    run(f"ALTER TABLE {t} SET TBLPROPERTIES ('b'='3', 'c'='4', 'comment'='new')")
    run(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('a')")
    run(f"COMMENT ON TABLE {t} IS 'newest'")
    for version in (2, 3):
        run(f"ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='{version}')")
    assert "downgrade" in site.here.engine.refusal(f"ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='2')")
    run(f"ALTER TABLE {t} SET LOCATION '{site.here.metadata('t')['location']}-moved'")
    run(f"INSERT INTO {t} VALUES (2)")
    for place in site.states():
        t = f"{place.scope}.t"
        properties = dict(run(f"SHOW TBLPROPERTIES {t}"))
        assert (properties["b"], properties["c"], properties["format-version"]) == ("3", "4", "3")
        assert "a" not in properties and run(f"SHOW TBLPROPERTIES {t} ('c')") == [("c", "4")]
        metadata = place.metadata("t")
        assert metadata["location"].endswith("-moved") and metadata["properties"]["comment"] == "newest"
        assert run(f"SELECT id, _row_id FROM {t} ORDER BY id") == [(1, 1), (2, 0)], "rows from before format 3 got their ids after"


def _order_and_distribution(metadata: dict[str, object]) -> tuple[list[tuple[str, str, str]], str]:
    orders: list[dict[str, object]] = metadata["sort-orders"]
    order = next(order for order in orders if order["order-id"] == metadata["default-sort-order-id"])
    fields = [(field["transform"], field["direction"], field["null-order"]) for field in order["fields"]]
    return fields, metadata["properties"].get("write.distribution-mode", "")
