"""The jobs: reference tables in one transaction, then each day's four tables in one transaction, checked before COMMIT."""

from datetime import date

from pyspark.sql import Row, SparkSession

from pipeline import tables
from pipeline.source import Delivery, Source
from pipeline.transactions import Committed, Transaction, in_transaction

LEAST_DELAY_MINUTES = -120
MOST_DELAY_MINUTES = 1800


class CheckFailed(RuntimeError):
    """A day's data is not fit to be seen. Raised inside its transaction, which is rolled back by that."""

    def __init__(self, day: date, problems: list[str], transaction: Transaction) -> None:
        super().__init__(f"{day}: {'; '.join(problems)}")
        self.day = day
        self.problems = problems
        self.transaction = transaction


def load_reference(spark: SparkSession, catalog: str, namespace: str, source: Source) -> Committed[dict[str, int]]:
    """Create the namespace and (re)place airlines, airports and planes, all in ONE transaction. Returns their rows."""

    def work(transaction: Transaction) -> dict[str, int]:
        scope = f"{transaction.scope}.{namespace}"
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {scope}")
        for table, columns in tables.REFERENCE_COLUMNS.items():
            _csv_view(spark, table, columns, str(source.reference(table)))
            spark.sql(f"CREATE OR REPLACE TABLE {scope}.{table} USING iceberg AS SELECT * FROM delivered_{table}")
        found = counts(spark, scope, tuple(tables.REFERENCE_COLUMNS))
        if any(found[table] != source.rows[table] for table in found):
            raise RuntimeError(f"The reference tables have {found} rows, the source has {source.rows}")
        return found

    return in_transaction(spark, catalog, work)


def create_tables(spark: SparkSession, catalog: str, namespace: str) -> Committed[None]:
    """Create the four tables of the daily load, where they are missing, in ONE transaction."""

    def work(transaction: Transaction) -> None:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {transaction.scope}.{namespace}")
        for table, columns in tables.TABLE_COLUMNS.items():
            partition = " PARTITIONED BY (day)" if table in tables.PARTITIONED_BY_DAY else ""
            spark.sql(f"CREATE TABLE IF NOT EXISTS {transaction.scope}.{namespace}.{table} ({columns}) USING iceberg{partition}")

    return in_transaction(spark, catalog, work)


def load_day(spark: SparkSession, catalog: str, namespace: str, delivery: Delivery) -> Committed[dict[str, int]]:
    """Load one day into the four tables in ONE transaction. Returns the rows added; CheckFailed rolls everything back."""

    def work(transaction: Transaction) -> dict[str, int]:
        scope = f"{transaction.scope}.{namespace}"
        fill_day(spark, scope, delivery, transaction.id)
        added, problems = check_day(spark, scope, delivery)
        if problems:
            raise CheckFailed(delivery.day, problems, transaction)
        return added

    return in_transaction(spark, catalog, work)


def fill_day(spark: SparkSession, scope: str, delivery: Delivery, transaction: str) -> None:
    """Write a day's rows into the four tables. Later statements read what earlier ones wrote."""
    day = f"DATE '{delivery.day}'"
    _csv_view(spark, "flights", tables.DELIVERY_COLUMNS["flights"], str(delivery.flights))
    _csv_view(spark, "weather", tables.DELIVERY_COLUMNS["weather"], str(delivery.weather))
    for table, columns in (("flights", tables.FLIGHT_COLUMNS), ("weather", tables.WEATHER_COLUMNS)):
        spark.sql(f"INSERT INTO {scope}.{table} (day, {columns}) SELECT {day}, {columns} FROM delivered_{table}")
    spark.sql(
        f"""
        MERGE INTO {scope}.daily_delays AS target
        USING (
            SELECT f.day, f.carrier, count(*) AS flights, count_if(f.dep_time IS NULL) AS cancelled,
                   avg(f.dep_delay) AS mean_dep_delay, avg(f.arr_delay) AS mean_arr_delay, max(f.dep_delay) AS worst_dep_delay,
                   avg(w.wind_speed) AS mean_wind_speed, avg(w.visib) AS mean_visibility
            FROM {scope}.flights AS f
            LEFT JOIN {scope}.weather AS w ON w.day = f.day AND w.origin = f.origin AND w.time_hour = f.time_hour
            WHERE f.day = {day}
            GROUP BY f.day, f.carrier
        ) AS source
        ON target.day = source.day AND target.carrier = source.carrier
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *
        """
    )
    after = counts(spark, scope, tables.FOUR_TABLES)
    added = _added(spark, scope, day)
    # The log counts itself too: one row per table comes with this very statement.
    added["audit_log"] = len(tables.FOUR_TABLES)
    after["audit_log"] += len(tables.FOUR_TABLES)
    rows = ", ".join(f"({day}, '{table}', {added[table]}, {after[table]}, '{transaction}')" for table in tables.FOUR_TABLES)
    spark.sql(f"INSERT INTO {scope}.audit_log (day, table_name, rows_added, rows_after, transaction) VALUES {rows}")


def check_day(spark: SparkSession, scope: str, delivery: Delivery) -> tuple[dict[str, int], list[str]]:
    """Look at a day as everybody would see it after COMMIT: the rows added, and all that is wrong with them."""
    day = f"DATE '{delivery.day}'"
    found = _one(
        spark,
        f"""
        SELECT count(*) AS flights,
               count(*) - count(DISTINCT {tables.FLIGHT_KEY}) AS twice,
               count_if(dep_delay NOT BETWEEN {LEAST_DELAY_MINUTES} AND {MOST_DELAY_MINUTES}
                     OR arr_delay NOT BETWEEN {LEAST_DELAY_MINUTES} AND {MOST_DELAY_MINUTES}) AS absurd,
               (SELECT count(*) FROM {scope}.weather WHERE day = {day}) AS weather,
               (SELECT coalesce(sum(flights), 0) FROM {scope}.daily_delays WHERE day = {day}) AS summed
        FROM {scope}.flights WHERE day = {day}
        """,
    )
    problems = [
        f"{table} has {found[table]} rows, {delivery.rows[table]} were delivered"
        for table in ("flights", "weather")
        if found[table] != delivery.rows[table]
    ]
    if found["summed"] != found["flights"]:
        problems.append(f"daily_delays counts {found['summed']} flights, flights has {found['flights']}")
    if found["twice"]:
        problems.append(f"{found['twice']} flight(s) more than once")
    if found["absurd"]:
        problems.append(f"{found['absurd']} delay(s) outside {LEAST_DELAY_MINUTES} to {MOST_DELAY_MINUTES} minutes")
    seen, audited = counts(spark, scope, tables.FOUR_TABLES), audit(spark, scope)
    problems += [
        f"audit_log says {audited.get(table)} rows of {table}, there are {seen[table]}"
        for table in seen
        if audited.get(table) != seen[table]
    ]
    rows = spark.sql(f"SELECT table_name, rows_added FROM {scope}.audit_log WHERE day = {day}").collect()
    return {row.table_name: row.rows_added for row in rows}, problems


def counts(spark: SparkSession, scope: str, names: tuple[str, ...]) -> dict[str, int]:
    """The rows of each table, one statement after the other."""
    return {name: int(_one(spark, f"SELECT count(*) AS n FROM {scope}.{name}")["n"]) for name in names}


def audit(spark: SparkSession, scope: str) -> dict[str, int]:
    """The rows that each table has according to the audit log; nothing but zeros before the first day."""
    rows = spark.sql(f"SELECT table_name, max(rows_after) AS n FROM {scope}.audit_log GROUP BY table_name").collect()
    return dict.fromkeys(tables.FOUR_TABLES, 0) | {row.table_name: row.n for row in rows}


def loaded_days(spark: SparkSession, scope: str) -> set[date]:
    """The days that the audit log knows."""
    return {row.day for row in spark.sql(f"SELECT DISTINCT day FROM {scope}.audit_log").collect()}


def traces(spark: SparkSession, scope: str, day: date) -> dict[str, int]:
    """How many rows each of the four tables has of a day: all zeros when it was rolled back."""
    return {
        table: int(_one(spark, f"SELECT count(*) AS n FROM {scope}.{table} WHERE day = DATE '{day}'")["n"]) for table in tables.FOUR_TABLES
    }


def snapshots(spark: SparkSession, scope: str) -> dict[str, list[int]]:
    """The snapshots of each of the four tables, oldest first."""
    return {
        table: [row.snapshot_id for row in spark.sql(f"SELECT snapshot_id FROM {scope}.{table}.snapshots ORDER BY committed_at").collect()]
        for table in tables.FOUR_TABLES
    }


def _added(spark: SparkSession, scope: str, day: str) -> dict[str, int]:
    names = [table for table in tables.FOUR_TABLES if table != "audit_log"]
    columns = ", ".join(f"(SELECT count(*) FROM {scope}.{name} WHERE day = {day}) AS {name}" for name in names)
    row = _one(spark, f"SELECT {columns}")
    return {name: int(row[name]) for name in names}


def _csv_view(spark: SparkSession, table: str, columns: str, path: str) -> None:
    quoted = path.replace("\\", "\\\\").replace("'", "\\'")
    # A file whose columns or values are not what they should be is an error, never a row of NULLs.
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW delivered_{table} ({columns}) USING csv OPTIONS (path '{quoted}', header 'true', "
        "nullValue 'NA', mode 'FAILFAST', enforceSchema 'false')"
    )


def _one(spark: SparkSession, query: str) -> Row:
    return spark.sql(query).collect()[0]
