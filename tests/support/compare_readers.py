"""What the second reader and the code say of the same catalog, side by side."""

from __future__ import annotations

import itertools

from catalog_format.catalog import StoredCatalog
from catalog_format.distributed.log import TransactionLogs
from catalog_format.door import TransactionStatus
from catalog_format.ids import SeededIds
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.reader import Reader
from catalog_format.tree import scan
from tests.support.catalogs import ManualClock
from tests.support.second_reader import SecondReader

# Above every key.
END = b"\xff"


async def compare_version(real: StoredCatalog, second: SecondReader, version: int) -> dict[bytes, bytes]:
    """Everything that both say of one version is the same; the definitions."""
    root = await real.versions.read(version)
    reader = Reader(root, real.nodes, real.storage)
    entries = [entry async for entry in scan(root, b"", END, real.nodes)]
    assert [tuple(row) for row in second.scan(version)] == [tuple(entry) for entry in entries]
    found = second.definitions(version)
    assert found == {entry.key: await reader.definition(entry.key) for entry in entries}
    header, mirrored = root.header, second.root(version)
    assert (header.level, header.oldest, header.created_at_ms) == (
        mirrored.level,
        mirrored.number("oldest"),
        mirrored.number("created-at-ms"),
    )
    assert (root.hash, header.previous_hash, header.attempt_id) == tuple(
        mirrored.keys[key] for key in ("hash", "previous-hash", "attempt-id")
    )
    definition = second.catalog(version)
    assert (definition["catalog_id"], definition["properties"]) == (header.catalog.catalog_id, header.catalog.properties)
    assert definition["limits"]["inline_bytes"] == header.catalog.limits.inline_bytes
    records = second.actions(version)
    assert tuple(record["transaction_id"] for record in records) == header.transaction_ids
    for record, row in zip(records, root.actions, strict=True):
        message = pb.TransactionRecord.FromString(row.value or b"")
        assert pb.Isolation.Name(message.isolation) == record["isolation"]
        assert [(pb.Verb.Name(one.verb), one.key, one.target) for one in message.actions] == [
            (one["verb"], one["key"], one["target"]) for one in record["actions"]
        ]
    for key in itertools.islice(found, 0, None, 17):
        stamp = {entry.key: entry.stamp for entry in entries}[key]
        looked_up = second.lookup(version, key)
        assert looked_up is not None and (looked_up.stamp, second.definition(looked_up)) == (stamp, found[key])
        assert second.lookup(version, key + b"\0") is None
    return found


async def compare_transaction(real: StoredCatalog, second: SecondReader, transaction_id: str) -> str:
    """Both fold the log to the same image; the status."""
    folded = second.transaction(transaction_id)
    expected = await TransactionLogs(real.storage, ManualClock(), SeededIds(0)).load(transaction_id)
    assert (folded.sequence, folded.written_at_ms, folded.expires_at_ms) == (
        expected.sequence,
        expected.written_at_ms,
        expected.expires_at_ms,
    )
    assert (folded.base_version, folded.began_at_ms, folded.ttl_ms) == (expected.base_version, expected.began_at_ms, expected.ttl_ms)
    assert folded.isolation == f"ISOLATION_{expected.isolation.name}"
    assert folded.properties == expected.properties
    assert (folded.points, folded.ranges) == (set(expected.reads.points), set(expected.reads.ranges))
    assert [(one["key"], one["request"], one.get("result")) for one in folded.changes] == [
        (one.change.key, one.change.request, one.result) for one in expected.changes
    ]
    info = await real.transactions.load(transaction_id) if expected.status is not TransactionStatus.OPEN else None
    status = info.status if info else expected.status
    assert folded.status == status.name
    assert info is None or (folded.reason, folded.committed_version or None) == (info.reason, info.version)
    return folded.status
