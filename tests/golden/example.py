"""The example catalog of FORMAT.md, content spelled out: five versions, a tree of two levels, a finished and an open transaction."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from catalog_format import paths
from catalog_format.changes import Committed
from catalog_format.definitions import EncodedValue, encode_value
from catalog_format.distributed.state_file import encode_state
from catalog_format.iceberg.namespace_kind import properties_request
from catalog_format.iceberg.requests import create_request
from catalog_format.keys import idempotency_key, namespace_key, outcome_key, purge_key, table_key, view_key
from catalog_format.node import Entry, RootHeader
from catalog_format.node_codec import NO_HASH, encode_node, encode_root
from catalog_format.objects import CatalogDefinition, NamespaceDefinition, TableDefinition, TreeLimits, ViewDefinition
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.pb import transaction_pb2 as tpb

STARTED_MS = 1_700_000_000_000
CATALOG = CatalogDefinition("0e9f1c52-6a7b-4d3e-8f21-5b4c3d2e1f00", STARTED_MS, {"owner": "ops"}, TreeLimits(inline_bytes=256))
ORDERS_UUID = "7d0f1f4e-52c1-4c7b-9a51-1f0a2b3c4d5e"
RECENT_UUID = "c2a4b6d8-0f1e-4d2c-8b3a-495867768594"
COMMITTED_ID = "etl-7"
OPEN_ID = "job-8"

SHOP, SHOP_EU = namespace_key(("shop",)), namespace_key(("shop", "eu"))
ORDERS, RECENT = table_key(("shop", "orders")), view_key(("shop", "recent"))


def attempt(number: int) -> str:
    return f"a{number:031x}"


def transaction(number: int) -> str:
    return f"b{number:031x}"


SHOP_DEFINITION = NamespaceDefinition({"owner": "sales"}).to_bytes()
EU_DEFINITION = NamespaceDefinition({"comment": "Orders of customers in the European Union. " * 6}).to_bytes()
ORDERS_DEFINITION = TableDefinition(
    ORDERS_UUID, f"./data/shop/orders-{ORDERS_UUID}/metadata/00000-{attempt(21)}-dtxn_{COMMITTED_ID}.metadata.json"
).to_bytes()
RECENT_DEFINITION = ViewDefinition(RECENT_UUID, f"./data/shop/recent-{RECENT_UUID}/metadata/00000-{attempt(3)}.metadata.json").to_bytes()
OUTCOME = pb.Outcome(transaction_id=COMMITTED_ID, committed=True, decided_at_ms=STARTED_MS + 2000, version=2)
ANSWER = pb.IdempotentAnswer(
    request_hash=hashlib.sha256(b"POST /v1/namespaces").digest(),
    answered_at_ms=STARTED_MS + 1000,
    answer=Committed(1, {SHOP: SHOP_DEFINITION}).to_bytes(),
)
WISH = pb.PurgeWish(
    metadata_location=TableDefinition.from_bytes(ORDERS_DEFINITION).metadata_location, requested_at_ms=STARTED_MS + 4000, key=ORDERS
)


def value(definition: bytes, type_id: str) -> EncodedValue:
    return encode_value(definition, type_id, CATALOG.limits.inline_bytes, attempt(3))


EU_VALUE = value(EU_DEFINITION, "B")
SHOP_ENTRY = Entry(SHOP, value(SHOP_DEFINITION, "B").value, 1)
ANSWER_ENTRY = Entry(idempotency_key("01890000-0000-7000-8000-000000000001"), value(ANSWER.SerializeToString(), "F").value, 1)
ORDERS_ENTRY = Entry(ORDERS, value(ORDERS_DEFINITION, "C").value, 2)
OUTCOME_ENTRY = Entry(outcome_key(1, COMMITTED_ID), value(OUTCOME.SerializeToString(), "E").value, 2)
EU_ENTRY = Entry(SHOP_EU, EU_VALUE.value, 3)
RECENT_ENTRY = Entry(RECENT, value(RECENT_DEFINITION, "D").value, 3)
DROPPED_ENTRY = Entry(ORDERS, None, 4)
WISH_ENTRY = Entry(purge_key(4, ORDERS_UUID, WISH.metadata_location), value(WISH.SerializeToString(), "G").value, 4)

LOW_LEAF = encode_node([SHOP_ENTRY, ORDERS_ENTRY], 0, attempt(3))
HIGH_LEAF = encode_node([OUTCOME_ENTRY, ANSWER_ENTRY], 0, attempt(3))
INNER = encode_node([Entry(b"", LOW_LEAF.name.encode(), 3), Entry(b"E", HIGH_LEAF.name.encode(), 3)], 1, attempt(3))
PIVOTS = [Entry(b"", INNER.name.encode(), 3)]


def record(transaction_id: str, version: int, base: int, actions: list[pb.Action], agent: str = "PyIceberg/0.12") -> Entry:
    message = pb.TransactionRecord(
        transaction_id=transaction_id, isolation=pb.ISOLATION_SNAPSHOT, base_version=base, actions=actions, agent=agent
    )
    return Entry(transaction_id.encode(), message.SerializeToString(deterministic=True), version)


# For each version: pivots, write buffer, actions.
VERSIONS: list[tuple[list[Entry], list[Entry], list[Entry]]] = [
    ([], [], []),
    ([], [SHOP_ENTRY, ANSWER_ENTRY], [record(transaction(1), 1, 0, [pb.Action(verb=pb.VERB_CREATE, key=SHOP)])]),
    (
        [],
        [SHOP_ENTRY, ORDERS_ENTRY, OUTCOME_ENTRY, ANSWER_ENTRY],
        [record(COMMITTED_ID, 2, 1, [pb.Action(verb=pb.VERB_CREATE, key=ORDERS)], "Spark/4.1")],
    ),
    (
        PIVOTS,
        [EU_ENTRY, RECENT_ENTRY],
        [
            record(transaction(2), 3, 2, [pb.Action(verb=pb.VERB_CREATE, key=SHOP_EU)]),
            record(transaction(3), 3, 2, [pb.Action(verb=pb.VERB_CREATE, key=RECENT)]),
        ],
    ),
    (
        PIVOTS,
        [EU_ENTRY, DROPPED_ENTRY, RECENT_ENTRY, WISH_ENTRY],
        [record(transaction(4), 4, 3, [pb.Action(verb=pb.VERB_DROP, key=ORDERS, summary="with purge")])],
    ),
]

COMMITTED_START = tpb.TransactionStart(
    isolation=pb.ISOLATION_SNAPSHOT, base_version=1, began_at_ms=STARTED_MS + 1100, ttl_ms=60 * 60 * 1000
)
COMMITTED_STATES = [
    # State 0 lay in the folder of open transactions and was deleted after the end.
    tpb.TransactionState(
        transaction_id=COMMITTED_ID,
        sequence=1,
        attempt_id=attempt(21),
        status=tpb.OPEN,
        written_at_ms=STARTED_MS + 1200,
        expires_at_ms=STARTED_MS + 3_601_200,
        changes=[
            tpb.Change(verb=pb.VERB_CREATE, key=ORDERS, request=create_request({"format-version": 2, "…": "…"}), result=ORDERS_DEFINITION)
        ],
        reads=pb.ReadSet(),
    ),
    tpb.TransactionState(
        transaction_id=COMMITTED_ID,
        sequence=2,
        attempt_id=attempt(22),
        status=tpb.SEALED,
        written_at_ms=STARTED_MS + 1900,
        expires_at_ms=STARTED_MS + 3_601_900,
        reads=pb.ReadSet(),
    ),
    tpb.TransactionState(
        transaction_id=COMMITTED_ID,
        sequence=3,
        attempt_id=attempt(23),
        status=tpb.COMMITTED,
        written_at_ms=STARTED_MS + 2100,
        expires_at_ms=STARTED_MS + 3_602_100,
        checkpoint=True,
        start=COMMITTED_START,
        reads=pb.ReadSet(),
        committed_version=2,
    ),
]
OPEN_STATES = [
    tpb.TransactionState(
        transaction_id=OPEN_ID,
        sequence=0,
        attempt_id=attempt(24),
        status=tpb.OPEN,
        written_at_ms=STARTED_MS + 5000,
        expires_at_ms=STARTED_MS + 3_605_000,
        checkpoint=True,
        start=tpb.TransactionStart(
            isolation=pb.ISOLATION_SERIALIZABLE, base_version=4, began_at_ms=STARTED_MS + 5000, ttl_ms=60 * 60 * 1000
        ),
        set_properties={"owner": "ana"},
    ),
    tpb.TransactionState(
        transaction_id=OPEN_ID,
        sequence=1,
        attempt_id=attempt(25),
        status=tpb.OPEN,
        written_at_ms=STARTED_MS + 5500,
        expires_at_ms=STARTED_MS + 3_605_500,
        changes=[
            tpb.Change(
                verb=pb.VERB_UPDATE,
                key=SHOP,
                request=properties_request({"tier": "1"}, ["owner"]),
                result=NamespaceDefinition({"tier": "1"}).to_bytes(),
                summary="set tier, remove owner",
            )
        ],
        reads=pb.ReadSet(points=[pb.PointRead(key=SHOP)], ranges=[pb.RangeRead(low=b"C===shop\x1e", high=b"C===shop\x1f")]),
        set_properties={"step": "2"},
    ),
]


def files() -> dict[str, bytes]:
    """Bytes of every file of the example catalog by path."""
    found: dict[str, bytes] = {}
    before = NO_HASH
    for version, (pivots, buffer, actions) in enumerate(VERSIONS):
        header = RootHeader(version, STARTED_MS + 1000 * version, CATALOG, before, attempt(version))
        ids = tuple(row.key.decode() for row in actions)
        header = replace(header, transaction_ids=ids, level=INNER.level + 1 if pivots else 0)
        found[paths.root_path(version)], before = encode_root(header, pivots, buffer, actions)
    # Stale on purpose: nothing may depend on it.
    found[paths.LATEST_HINT] = b"3"
    for node in (LOW_LEAF, HIGH_LEAF, INNER):
        found[paths.node_path(node.name)] = node.data
    assert EU_VALUE.file is not None, "the definition is larger than what is inlined"
    path, data = EU_VALUE.file
    found[path] = data
    for state in (*COMMITTED_STATES, *OPEN_STATES):
        found[paths.transaction_state_path(state.transaction_id, state.sequence)] = encode_state(state)
    return found
