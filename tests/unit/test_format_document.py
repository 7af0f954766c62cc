"""FORMAT.md says what the code does: examples, schemas and tables are compared."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from catalog_format import catalog, committer, concurrency, conflicts, definitions, keys, objects, paths, readback
from catalog_format.changes import Committed
from catalog_format.distributed import coordinator, image
from catalog_format.distributed.state_file import decode_state
from catalog_format.door import TransactionStatus
from catalog_format.iceberg.locations import Locations
from catalog_format.ids import SeededIds
from catalog_format.keys import ObjectType
from catalog_format.maintenance.check import check
from catalog_format.node import Entry, rows_schema
from catalog_format.node_codec import FORMAT_VERSION, decode_node, decode_root
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.pb import transaction_pb2 as tpb
from catalog_format.storage import MemoryStorage
from tests.golden import example, make
from tests.support.catalogs import ManualClock, TimelessFolder, opened
from tests.support.compare_readers import compare_version
from tests.support.second_reader import DOCUMENT, SecondReader, bits_of
from tests.support.second_reader_messages import schema_of

REPOSITORY = DOCUMENT.parent
EXAMPLE = make.FOLDER / make.EXAMPLE_CATALOG
TEXT = DOCUMENT.read_text()
PROTO = "\n".join((REPOSITORY / "proto/catalog_format/pb" / name).read_text() for name in ("catalog.proto", "transaction.proto"))
BLOCKS = re.findall(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", TEXT, re.S | re.M)
TABLES = dict(re.findall(r"^<!-- check: ([\w-]+) -->\n((?:\|[^\n]*\n)+)", TEXT, re.M))


def rows(table: str) -> list[list[str]]:
    """Cells of a checked table, without its head; code marks removed."""
    lines = TABLES[table].splitlines()[2:]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]


def hex_blocks() -> Iterator[tuple[dict[str, str], bytes]]:
    for language, info, body in BLOCKS:
        if language == "hex":
            marks = dict(part.partition("=")[::2] for part in info.split())
            yield marks, bytes.fromhex(re.sub(r"#[^\n]*", "", body))


# Bytes that lie in no file of their own: how they are encoded, and what the code makes of them.
NAMED: dict[str, tuple[bytes, Callable[[bytes], Any], Any]] = {
    "namespace-value": (
        example.value(example.SHOP_DEFINITION, "B").value,
        lambda data: pb.Value.FromString(data).inline,
        example.SHOP_DEFINITION,
    ),
    "file-value": (example.EU_ENTRY.value or b"", definitions.file_of, (example.EU_VALUE.file or ("",))[0]),
    "catalog-definition": (example.CATALOG.to_bytes(), objects.CatalogDefinition.from_bytes, example.CATALOG),
    "table-definition": (
        example.ORDERS_DEFINITION,
        lambda data: objects.TableDefinition.from_bytes(data).table_uuid,
        example.ORDERS_UUID,
    ),
    "view-definition": (example.RECENT_DEFINITION, lambda data: objects.ViewDefinition.from_bytes(data).view_uuid, example.RECENT_UUID),
    "record": (
        example.VERSIONS[2][2][0].value or b"",
        lambda data: [action.key for action in pb.TransactionRecord.FromString(data).actions],
        [example.ORDERS],
    ),
    "outcome": (example.OUTCOME.SerializeToString(), pb.Outcome.FromString, example.OUTCOME),
    "answer": (
        example.ANSWER.SerializeToString(),
        lambda data: Committed.from_bytes(pb.IdempotentAnswer.FromString(data).answer),
        Committed(1, {example.SHOP: example.SHOP_DEFINITION}),
    ),
    "wish": (example.WISH.SerializeToString(), pb.PurgeWish.FromString, example.WISH),
}


def test_hex_examples_are_the_bytes_of_the_code_and_of_the_golden_files() -> None:
    encoded = example.files()
    named: set[str] = set()
    shown: set[str] = set()
    for marks, data in hex_blocks():
        if "name" in marks:
            written, decode, content = NAMED[marks["name"]]
            assert data == written, marks
            assert decode(data) == content
            named.add(marks["name"])
            continue
        path, start = marks["file"], int(marks["from"], 16)
        for source in (encoded[path], (EXAMPLE / path).read_bytes()):
            assert data == source[start : start + len(data)], marks
            assert "whole" not in marks or data == source
        shown.add(path)
    assert named == NAMED.keys()
    kinds = {path.split("/")[0] for path in shown} | {
        f"level {node.level}" for node in example_nodes() if paths.node_path(node.name) in shown
    }
    assert kinds >= {"vn", "node", "def", "dtxn", "dtxn-open", "level 0", "level 1"}
    assert paths.LATEST_HINT in shown
    states = [decode_state(encoded[path]) for path in shown if path.startswith("dtxn")]
    assert {(state.sequence == 0, state.checkpoint) for state in states} == {(True, True), (False, False), (False, True)}


def example_nodes() -> list[Any]:
    return [decode_node(node.name, node.data) for node in (example.LOW_LEAF, example.HIGH_LEAF, example.INNER)]


def test_the_two_places_of_the_own_hash_are_where_the_document_says() -> None:
    data = example.files()[paths.root_path(0)]
    own_hash = decode_root(0, data).hash.encode()
    found = re.search(r"root of version 0 of the example catalog \((\d+) bytes\) the two places are at offset\s+(\w+) and\s+(\w+)", TEXT)
    assert found is not None
    assert (int(found[1]), int(found[2], 16), int(found[3], 16)) == (len(data), data.find(own_hash), data.rfind(own_hash))


def test_schemas_are_those_of_the_sources() -> None:
    snippets = [body for language, _, body in BLOCKS if language == "proto"]
    for snippet in snippets:
        for part in snippet.strip().split("\n\n"):
            assert part in PROTO, part
    declared = re.findall(r"^(?:message|enum) (\w+)", PROTO, re.M)
    assert sorted(re.findall(r"^(?:message|enum) (\w+)", "\n".join(snippets), re.M)) == sorted(declared)
    schema = schema_of(TEXT)
    for name, fields in schema.messages.items():
        descriptor = getattr(pb, name, None) or getattr(tpb, name)
        assert {number: one.name for number, one in fields.items()} == {one.number: one.name for one in descriptor.DESCRIPTOR.fields}


def test_paths() -> None:
    written = {
        "vn/<bits of version>": paths.root_path(5).replace(bits_of(5), "<bits of version>"),
        "vn/latest": paths.LATEST_HINT,
        "vn/oldest": paths.OLDEST_HINT,
        "node/<hash>.arrow": paths.node_path("<hash>"),
        "def/<type>/<hash>.binpb": paths.definition_path("<type>", "<hash>"),
        "dtxn-open/<id>": paths.transaction_state_path("<id>", 0),
        "dtxn/<id>/<bits of sequence>": paths.transaction_state_path("<id>", 5).replace(bits_of(5), "<bits of sequence>"),
        "data/…": Locations("s3://b").default_location(("…",), "").removeprefix("s3://b/").replace("_-", "…"),
    }
    assert [row[0] for row in rows("paths")] == list(written)
    assert all(template == path for template, path in written.items())
    for number, name in rows("reversed-bits"):
        assert (paths.reversed_bits(int(number)), paths.number_of(name)) == (name, int(number))


def test_node_tables() -> None:
    columns = [(name, kind, nullable == "yes") for name, kind, nullable, _ in rows("columns")]
    assert columns == [(one.name, str(one.type), one.nullable) for one in rows_schema()]

    def system_keys(path: Path) -> dict[str, str]:
        metadata = pa.ipc.open_file(pa.py_buffer(path.read_bytes())).schema.metadata
        assert all(key.startswith(b"treeline.") for key in metadata)
        return {key.decode().removeprefix("treeline."): value.decode() for key, value in metadata.items()}

    table = {key: (where, shown) for key, where, _, _, shown in rows("system-keys")}
    latest = system_keys(EXAMPLE / paths.root_path(4))
    known = [system_keys(make.FOLDER / name).keys() for name in ("root.arrow", "late_root.arrow", "stub.arrow")]
    assert table.keys() == set().union(*known)
    assert {key for key, (where, _) in table.items() if where == "stubs"} == known[2] - known[1]
    assert {key for key, (where, _) in table.items() if where == "all"} == system_keys(make.FOLDER / "leaf.arrow").keys()
    assert {key for key, (where, _) in table.items() if where not in {"roots, optional", "stubs"}} == latest.keys()
    assert {key: shown for key, (_, shown) in table.items() if key in latest} == latest
    assert table["format-version"][1] == str(FORMAT_VERSION)
    assert "catalog format, version 1\n" in TEXT
    assert base64.b64decode(latest["catalog"], validate=True) == example.CATALOG.to_bytes()


def test_key_tables() -> None:
    assert {row[0]: row[1].upper() for row in rows("types")} == {kind.value: kind.name for kind in ObjectType}
    made: dict[str, Callable[..., bytes]] = {
        "namespace": lambda name: keys.namespace_key(tuple(name.split("."))),
        "table": lambda name: keys.table_key(tuple(name.split("."))),
        "view": lambda name: keys.view_key(tuple(name.split("."))),
        "outcome": lambda base, name: keys.outcome_key(int(base), name),
        "idempotency": keys.idempotency_key,
        "purge": lambda version, uuid, location: keys.purge_key(int(version), uuid, location),
    }
    for described, shown in rows("keys"):
        kind, *words = described.split()
        key = made[kind](*words)
        assert key.hex() == shown
        assert key.startswith(ObjectType[kind.upper()].prefix)
        name = keys.identifier_of(key)[-1]
        assert name.partition(".")[0] == words[1] if kind == "purge" else name == words[-1].split(".")[-1]
    assert {kind for kind, *_ in (row[0].split() for row in rows("keys"))} == made.keys()
    for type_id, message in rows("definitions"):
        assert getattr(pb, message)
        assert ObjectType(type_id).name in {"NAMESPACE", "TABLE", "VIEW", "OUTCOME", "IDEMPOTENCY", "PURGE"}


def test_location_table() -> None:
    for root, location, stored in rows("locations"):
        locations = Locations(root)
        assert locations.to_relative(location) == stored
        if stored.startswith("./"):
            assert locations.to_absolute(stored) == f"{root}/{stored[2:]}"


def test_tables_of_closed_lists() -> None:
    fates = {fate: readback.classify("mine", found).name.lower() for fate, found in (("won", "mine"), ("lost", "other"), ("unknown", None))}
    assert [row[1] for row in rows("fates")] == list(fates) == list(fates.values())
    statuses = {row[0]: row[1] == "yes" for row in rows("statuses")}
    assert statuses == {status.name: status.final for status in TransactionStatus}
    assert statuses.keys() == set(tpb.TransactionStatus.keys()) - {"TRANSACTION_STATUS_UNSPECIFIED"}
    verdicts = [row[2] for row in rows("rules")]
    assert {verdict.removeprefix("refused: ") for verdict in verdicts if verdict.startswith("refused")} == set(conflicts.Rule.__members__)


def test_limits() -> None:
    limits = objects.TreeLimits()
    numbers = [[int(number) for number in re.findall(r"\d+", row[1])] for row in rows("limits")]
    assert numbers == [
        [keys.MAX_KEY_BYTES],
        [limits.node_bytes, limits.node_rows],
        [limits.buffer_bytes, limits.buffer_rows],
        [limits.inline_bytes],
        [image.CHECKPOINT_EVERY],
        [coordinator.DEFAULT_TTL_MS],
        [coordinator.MAX_TTL_MS],
        [int(committer.DEADLINE_S)],
        [committer.GROUP_MEMBERS],
        [concurrency.MOST_VERSIONS],
    ]


def test_every_mark_is_checked_and_every_link_leads_somewhere() -> None:
    source = Path(__file__).read_text()
    assert TEXT.count("<!-- check: ") == len(TABLES)
    assert all(f'rows("{name}")' in source for name in TABLES)
    headings = re.findall(r"^#+ (.*)$", TEXT, re.M)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", TEXT)) <= anchors


async def test_the_example_catalog_is_sound_and_is_what_the_document_says(tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(EXAMPLE, folder)
    async with opened(TimelessFolder(folder)) as real:
        report = await check(real.storage, real.versions, real.nodes, real.logs)
        assert (report.latest_version, report.problems, report.unreachable) == (4, [], [])
        for version, (number, holds, _) in enumerate(rows("example-catalog")):
            root = await real.versions.read(version)
            told = dict(part.split(": ", 1) for part in holds.split("; ") if ": " in part)
            assert int(number) == version
            assert told.get("buffer", "") == ", ".join(shown(entry) for entry in root.buffer)
            if root.pivots:
                leaves = [*decode_node(example.LOW_LEAF.name, example.LOW_LEAF.data).rows]
                leaves += decode_node(example.HIGH_LEAF.name, example.HIGH_LEAF.data).rows
                assert told["leaves"] in {"as before", ", ".join(shown(entry) for entry in leaves)}
            await compare_version(real, SecondReader(folder), version)


def shown(entry: Entry) -> str:
    return f"{keys.describe(entry.key)} [{entry.stamp}{', tombstone' if entry.value is None else ''}]"


async def test_a_catalog_that_was_just_made_has_the_root_that_the_document_describes() -> None:
    store = MemoryStorage()
    assert await catalog.create_catalog(store, ManualClock(), SeededIds(1))
    root = decode_root(0, await store.get(paths.root_path(0)))
    assert (root.header.level, len(root.pivots), len(root.buffer), len(root.actions)) == (0, 0, 0, 0)
    assert (root.header.previous_hash, root.header.transaction_ids) == ("0" * 64, ())
