"""The same SQL on every line of Spark that is tested, and a transaction that goes from one line to another."""

from __future__ import annotations

import json
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Lake
from tests.support.servers import WAREHOUSE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_ROOT = Path(__file__).resolve().parents[2]
_OLDER = _ROOT / ".venv-spark35" / "bin" / "python"

Rows = list[list[Any]]

# Statement, and what it answers: rows, words of the error it must end with (a string), or nothing that matters (None).
# `{c}` is the catalog, `{ns}` a namespace of the test's own, `{d}` an open transaction.
SCRIPT: list[tuple[str, Rows | str | None]] = [
    ("CREATE NAMESPACE {ns} WITH PROPERTIES ('team'='red')", None),
    ("CREATE NAMESPACE {ns}", "already exists"),
    ("CREATE NAMESPACE {ns}.deep", None),
    ("SHOW NAMESPACES IN {ns}", [["{n}.deep"]]),
    ("CREATE TABLE {ns}.t (id BIGINT NOT NULL, word STRING, day DATE) USING iceberg PARTITIONED BY (days(day))", None),
    ("CREATE TABLE {ns}.t (x INT) USING iceberg", "already exists"),
    ("INSERT INTO {ns}.t VALUES (1, 'one', DATE'2026-01-01'), (2, 'two', DATE'2026-01-02'), (3, 'three', DATE'2026-01-02')", None),
    ("UPDATE {ns}.t SET word = 'uno' WHERE id = 1", None),
    ("DELETE FROM {ns}.t WHERE id = 3", None),
    (
        "MERGE INTO {ns}.t USING (SELECT 2L AS id UNION ALL SELECT 4L) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET word = 'zwei' "
        "WHEN NOT MATCHED THEN INSERT (id, word, day) VALUES (s.id, 'four', DATE'2026-01-04')",
        None,
    ),
    ("SELECT id, word FROM {ns}.t ORDER BY id", [[1, "uno"], [2, "zwei"], [4, "four"]]),
    ("SELECT id FROM {ns}.t WHERE day > DATE'2026-01-02'", [[4]]),
    ("SELECT operation FROM {ns}.t.snapshots ORDER BY committed_at", [["append"], ["overwrite"], ["overwrite"], ["overwrite"]]),
    ("ALTER TABLE {ns}.t ADD COLUMN price DECIMAL(6, 2) AFTER id", None),
    ("ALTER TABLE {ns}.t RENAME COLUMN word TO title", None),
    ("ALTER TABLE {ns}.t ADD PARTITION FIELD bucket(4, id)", None),
    ("ALTER TABLE {ns}.t WRITE ORDERED BY id DESC", None),
    ("ALTER TABLE {ns}.t SET IDENTIFIER FIELDS id", None),
    ("INSERT INTO {ns}.t VALUES (5, 1.50, 'five', DATE'2026-01-05')", None),
    ("SELECT id, price, title FROM {ns}.t WHERE id > 3 ORDER BY id", [[4, None, "four"], [5, "1.50", "five"]]),
    ("ALTER TABLE {ns}.t CREATE TAG good", None),
    ("ALTER TABLE {ns}.t CREATE BRANCH audit", None),
    ("INSERT INTO {ns}.t.branch_audit VALUES (6, NULL, 'six', NULL)", None),
    ("SELECT count(*) FROM {ns}.t", [[4]]),
    ("CALL {c}.system.fast_forward('{n}.t', 'main', 'audit')", None),
    ("SELECT count(*) FROM {ns}.t", [[5]]),
    ("SELECT count(*) FROM {ns}.t VERSION AS OF 'good'", [[4]]),
    ("CALL {c}.system.rewrite_data_files(table => '{n}.t', options => map('rewrite-all', 'true'))", None),
    ("SELECT max(record_count), sum(record_count) FROM {ns}.t.data_files", [[1, 5]]),
    ("CALL {c}.system.expire_snapshots(table => '{n}.t', retain_last => 1)", None),
    ("CREATE TABLE {ns}.sums USING iceberg AS SELECT day, count(*) AS n FROM {ns}.t GROUP BY day", None),
    ("CREATE OR REPLACE TABLE {ns}.sums USING iceberg AS SELECT sum(n) AS n FROM {ns}.sums", None),
    ("ALTER TABLE {ns}.sums RENAME TO {n}.totals", None),
    ("SHOW TABLES IN {ns}", [["{n}", "t", False], ["{n}", "totals", False]]),
    ("CREATE VIEW {ns}.big AS SELECT id FROM {ns}.t WHERE id > 4", None),
    ("CREATE OR REPLACE VIEW {ns}.big (number) AS SELECT id FROM {ns}.t WHERE id > 5", None),
    ("SELECT number FROM {ns}.big", [[6]]),
    ("DROP VIEW {ns}.big", None),
    ("SHOW VIEWS IN {ns}", []),
    ("CREATE NAMESPACE {d} WITH PROPERTIES ('isolation-level'='serializable')", None),
    ("INSERT INTO {d}.{n}.totals VALUES (100)", None),
    ("CREATE TABLE {d}.{n}.inside USING iceberg AS SELECT n FROM {d}.{n}.totals", None),
    ("SELECT n FROM {d}.{n}.inside ORDER BY n", [[5], [100]]),
    ("SELECT n FROM {ns}.totals", [[5]]),
    ("DROP TABLE {d}.{n}.t PURGE", "GC is disabled"),
    ("DROP TABLE {d}.{n}.t", None),
    ("SELECT * FROM {d}.{n}.t", "TABLE_OR_VIEW_NOT_FOUND"),
    ("SELECT count(*) FROM {ns}.t", [[5]]),
]


@pytest.mark.parametrize("line", ["4.1", "3.5"])
def test_the_same_script(local_lake: Lake, line: str) -> None:
    """Its last transaction is left open; the newest line goes on with it and commits."""
    lake, run = local_lake, local_lake.engine.rows
    namespace = f"line_{uuid.uuid4().hex[:8]}"
    names = {"c": lake.catalog, "n": namespace, "ns": f"{lake.catalog}.{namespace}", "d": f"{lake.catalog}.sys.dtxns.dtxn_{namespace}"}
    statements = [statement.format(**names) for statement, _ in SCRIPT]
    if line == "4.1":
        assert lake.engine.spark.version.startswith(line)
        answers = [_answer(lake, statement) for statement in statements]
    else:
        version, *answers = _elsewhere(lake, ["SELECT version()", *statements])
        assert version["rows"][0][0].startswith(line)
    for (_, expected), statement, answer in zip(SCRIPT, statements, answers, strict=True):
        if isinstance(expected, str):
            assert expected in answer.get("error", "no error"), statement
        else:
            assert "error" not in answer, (statement, answer)
            if expected is not None:
                assert answer["rows"] == json.loads(json.dumps(expected).replace("{n}", namespace)), statement

    run(f"INSERT INTO {names['d']}.{namespace}.inside VALUES (7)")
    run(f"ALTER NAMESPACE {names['d']} SET PROPERTIES ('commit'='true')")
    assert run(f"SELECT n FROM {names['ns']}.inside ORDER BY n") == [(5,), (7,), (100,)]
    assert {row[1] for row in run(f"SHOW TABLES IN {names['ns']}")} == {"totals", "inside"}


def _answer(lake: Lake, statement: str) -> dict[str, Any]:
    from pipeline.transactions import SPARK_ERRORS, one_line

    try:
        return {"rows": json.loads(json.dumps(lake.engine.rows(statement), default=str))}
    except SPARK_ERRORS as error:
        return {"error": one_line(error)}


def _elsewhere(lake: Lake, statements: list[str]) -> list[dict[str, Any]]:
    """What the older line answers, in a process of its own."""
    if not _OLDER.exists():
        raise RuntimeError("Spark 3.5 is not installed: run `make env-spark35`")
    done = subprocess.run(
        [str(_OLDER), "-m", "tests.support.spark_script", lake.server.url, WAREHOUSE, lake.catalog],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        cwd=_ROOT,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers
