"""Transactions over plain SQL: BEGIN, COMMIT and ROLLBACK are commands on the namespace `sys.dtxns.dtxn_<id>`."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

T = TypeVar("T")
SPARK_ERRORS = (PySparkException, Py4JJavaError)
_PROPERTY = re.compile(r"\(([\w.-]+),(.*?)\)(?=, \([\w.-]+,|\)$)")


class TransactionRefused(RuntimeError):
    """The catalog proved a conflict and refused the commit: nothing of the transaction happened."""

    def __init__(self, transaction: str, reason: str) -> None:
        super().__init__(f"Transaction {transaction} was refused: {reason}")
        self.transaction = transaction
        self.reason = reason


@dataclass(frozen=True)
class Transaction:
    """One transaction of one catalog, open or ended."""

    spark: SparkSession
    catalog: str
    id: str

    @property
    def scope(self) -> str:
        """What to put before `namespace.table` to read and write inside the transaction."""
        return f"{self.catalog}.sys.dtxns.dtxn_{self.id}"

    def properties(self) -> dict[str, str]:
        """What the catalog says about the transaction: `status`, `base-version`, `version` and more."""
        return namespace_properties(self.spark, self.scope)

    def begin(self, isolation: str) -> None:
        """BEGIN."""
        self.spark.sql(f"CREATE NAMESPACE {self.scope} WITH DBPROPERTIES ('isolation-level'='{isolation}')")

    def commit(self) -> None:
        """COMMIT, or raise TransactionRefused. A lost reply is settled by asking what became of the transaction."""
        try:
            self.spark.sql(f"ALTER NAMESPACE {self.scope} SET PROPERTIES ('commit'='true')")
        except SPARK_ERRORS as error:
            after = self.properties()
            if after.get("status") == "committed":
                return
            if after.get("status") == "refused":
                raise TransactionRefused(self.id, after.get("reason") or one_line(error)) from error
            raise

    def rollback(self) -> None:
        """ROLLBACK."""
        self.spark.sql(f"DROP NAMESPACE {self.scope}")


@dataclass(frozen=True)
class Committed(Generic[T]):
    """What a committed transaction came to: the work's result, and how often it had to be done."""

    result: T
    transaction: Transaction
    attempts: int


@contextmanager
def transaction(spark: SparkSession, catalog: str, *, isolation: str = "snapshot", read_only: bool = False) -> Iterator[Transaction]:
    """A transaction around a block: committed at its end, rolled back when it raises (and when it only reads)."""
    current = Transaction(spark, catalog, uuid4().hex)
    current.begin(isolation)
    try:
        yield current
    except BaseException as error:
        try:
            current.rollback()
        except SPARK_ERRORS as second:
            # The block's own error is the one to see; the catalog ends the transaction when its time is up.
            error.add_note(f"Rolling back {current.scope} failed too: {one_line(second)}")
        raise
    if read_only:
        current.rollback()
    else:
        current.commit()


def in_transaction(
    spark: SparkSession,
    catalog: str,
    work: Callable[[Transaction], T],
    *,
    isolation: str = "snapshot",
    attempts: int = 5,
) -> Committed[T]:
    """Do the work in a transaction, and the whole of it again in a new one each time the commit is refused.

    A refusal means that somebody else's commit went through, so the next try begins on a newer version and
    there is nothing to wait for. After the last attempt the refusal is the caller's.
    """
    for attempt in range(1, attempts + 1):
        try:
            with transaction(spark, catalog, isolation=isolation) as current:
                result = work(current)
            return Committed(result, current, attempt)
        except TransactionRefused:
            if attempt == attempts:
                raise
    raise ValueError("At least one attempt is needed")


def namespace_properties(spark: SparkSession, namespace: str) -> dict[str, str]:
    """The properties of a namespace, by `DESCRIBE NAMESPACE EXTENDED`."""
    rows = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {namespace}").collect()
    return parse_properties(next((row[1] for row in rows if row[0] == "Properties"), ""))


def parse_properties(text: str) -> dict[str, str]:
    """Spark's way to show properties, `((a,1), (b,2))`, as a dictionary."""
    return dict(_PROPERTY.findall(text[1:])) if text.startswith("((") else {}


def one_line(error: Exception) -> str:
    """The line of a Spark or Java error that says what happened, without the stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        if line.startswith(": "):
            return re.sub(r"^: (?:[\w$]+\.)+[\w$]+: ", "", line)
    return lines[0] if lines else type(error).__name__
