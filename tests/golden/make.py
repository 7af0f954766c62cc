"""Writes the golden files that do not exist yet. It never overwrites: a golden file that changes is a new format version.

    python -m tests.golden.make

To add one, add its content below, or in `example.py` if FORMAT.md shows it.
To replace one (never one that was released), remove the file by hand first.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from catalog_format.node import Entry, RootHeader
from catalog_format.node_codec import NO_HASH, decode_root, encode_node, encode_root, encode_stub
from catalog_format.objects import CatalogDefinition, TreeLimits
from tests.golden import example

FOLDER = Path(__file__).parent
EXAMPLE_CATALOG = "example_catalog"
ATTEMPT_ID = "0123456789abcdef0123456789abcdef"
LEAF = [
    Entry(b"B===\x1eorders", b"\x0a\x02\x0a\x00", 3),
    Entry(b"C===orders\x1elines", b"\x0a\x04\x0a\x02t1", 7),
    Entry("C===orders\x1ebéta".encode(), b"", 2**63),
]
LEAF.sort(key=lambda entry: entry.key)
LEAF_NAME = encode_node(LEAF, 0, ATTEMPT_ID).name
INNER = [Entry(b"", LEAF_NAME.encode(), 2**63), Entry(b"C===p", b"f" * 64, 9)]
INNER_NAME = encode_node(INNER, 1, ATTEMPT_ID).name
HEADER = RootHeader(
    version=12,
    created_at_ms=1_700_000_000_123,
    catalog=CatalogDefinition(
        catalog_id="fedcba9876543210fedcba9876543210",
        created_at_ms=1_600_000_000_000,
        properties={"a": "b", "owner": "é"},
        limits=TreeLimits(),
    ),
    previous_hash="ab" * 32,
    attempt_id=ATTEMPT_ID,
    transaction_ids=("11" * 16, "22" * 16),
    level=2,
    oldest=3,
    collect_epoch=4,
    rolled_back_from=10,
)
PIVOTS = [Entry(b"", INNER_NAME.encode(), 9)]
BUFFER = [Entry(b"B===\x1eorders", None, 12), Entry(b"C===orders\x1elines", b"\x12\x03def", 11)]
ACTIONS = [Entry(b"33" * 16, b"\x0a\x20", 12)]
FIRST_HEADER = RootHeader(version=0, created_at_ms=0, catalog=HEADER.catalog, previous_hash=NO_HASH, attempt_id=ATTEMPT_ID)

LATE_HEADER = replace(HEADER, version=13, stubbed_below=3, unstubbed=(0, 2))


def files() -> dict[str, bytes]:
    """Bytes of every golden file by its path below `FOLDER`: node files on their own, and the example catalog of FORMAT.md."""
    nodes = {
        "leaf.arrow": encode_node(LEAF, 0, ATTEMPT_ID).data,
        "inner.arrow": encode_node(INNER, 1, ATTEMPT_ID).data,
        "root.arrow": encode_root(HEADER, PIVOTS, BUFFER, ACTIONS)[0],
        "first_root.arrow": encode_root(FIRST_HEADER, [], [], [])[0],
        "late_root.arrow": encode_root(LATE_HEADER, PIVOTS, BUFFER, ACTIONS)[0],
        "stub.arrow": encode_stub(decode_root(13, encode_root(LATE_HEADER, PIVOTS, BUFFER, ACTIONS)[0])),
    }
    return nodes | {f"{EXAMPLE_CATALOG}/{path}": data for path, data in example.files().items()}


def main() -> int:
    status = 0
    for name, data in files().items():
        path = FOLDER / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(f"written: {name}, {len(data)} bytes")
        elif path.read_bytes() != data:
            print(f"refused: {name} holds other bytes than the code writes now", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
