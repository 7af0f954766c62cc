"""After the fight: what became of the unknown, what the versions say, and whether the catalog is sound."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from catalog_format.catalog import open_catalog
from catalog_format.maintenance.check import check as check_catalog
from catalog_format.pb import catalog_pb2 as pb
from tests.histories import lists
from tests.histories.history import Outcome, Read, Transaction
from tests.histories.rest import Rest, status_of
from tests.support.servers import Place


def resolve(rest: Rest, history: Iterable[Transaction], is_transaction: str) -> list[Transaction]:
    """Ask the catalog about transactions whose outcome is unknown, and hold it to what it says. `is_transaction`: how their names end."""
    outcomes = {"committed": Outcome.COMMITTED, "refused": Outcome.REFUSED}
    resolved = []
    for transaction in history:
        if transaction.name.endswith(is_transaction) and transaction.outcome is Outcome.UNKNOWN:
            outcome = outcomes.get(status_of(rest, transaction.name), Outcome.FAILED)
            transaction = replace(transaction, outcome=outcome, ended=time.monotonic_ns())
        resolved.append(transaction)
    return resolved


def final_reads(rest: Rest, keys: Iterable[str]) -> list[Transaction]:
    """Every list, each in a read of its own."""
    reads = []
    for key in keys:
        began = time.monotonic_ns()
        table = rest.insist("GET", lists.table_path(key)).body
        reads.append(Transaction(f"final read of {key}", (Read(key, lists.values_in(table)),), began=began, ended=time.monotonic_ns()))
    return reads


async def audit_versions(place: Place, history: Iterable[Transaction]) -> int:
    """Each transaction that writes is in one version, in at most one, or in none, by its outcome; and `treeline check` finds nothing.

    How many of those that write were ordered backwards.
    """
    catalog = await open_catalog(place.root, init=False, options={} if place.s3 is None else dict(place.s3.options))
    try:
        versions: Counter[str] = Counter()
        backwards = 0
        for version in range(1, await catalog.latest_version() + 1):
            for row in (await catalog.versions.read(version)).actions:
                record = pb.TransactionRecord.FromString(row.value or b"")
                if record.actions:
                    # Transactions bear the client's own id, plain commits its name as their agent.
                    versions.update({record.transaction_id, record.agent})
                    backwards += record.ordered_backwards
        for transaction in history:
            if transaction.appends:
                allowed = {Outcome.COMMITTED: {1}, Outcome.UNKNOWN: {0, 1}}.get(transaction.outcome, {0})
                assert versions[transaction.name] in allowed, f"{transaction} took effect {versions[transaction.name]} times"
        report = await check_catalog(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)
        assert report.problems == []
        return backwards
    finally:
        await catalog.close()
