"""Runs a job and writes down what it came to."""

import time
from collections.abc import Callable
from typing import Any

from pipeline.history import COMMITTED, ROLLED_BACK, Step
from pipeline.jobs import CheckFailed
from pipeline.transactions import Committed, Transaction


def timed(name: str, job: Callable[[], Committed[Any]]) -> Step:
    """Run a job that is one transaction. A failed check is an outcome here; every other error is the caller's."""
    began = time.time()
    try:
        done = job()
    except CheckFailed as error:
        ended = time.time()
        base, _ = versions(error.transaction)
        return Step(name, ROLLED_BACK, began, ended, transaction=error.transaction.id, base_version=base, problems=error.problems)
    ended = time.time()
    base, version = versions(done.transaction)
    rows = done.result if isinstance(done.result, dict) else {}
    return Step(name, COMMITTED, began, ended, done.attempts, done.transaction.id, base, version, rows)


def versions(transaction: Transaction) -> tuple[int | None, int | None]:
    """The version that a transaction began on and the one it made, as far as the catalog shows them."""
    known = transaction.properties()
    base, version = known.get("base-version"), known.get("version")
    return (int(base) if base else None), (int(version) if version else None)
