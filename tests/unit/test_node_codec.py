"""Node files: what is written is read back, and nothing else is accepted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog_format import node_codec
from catalog_format.errors import CorruptFileError, NewerFormatError
from catalog_format.node import Entry, RootHeader, Rows, rows_of
from catalog_format.node_codec import NO_HASH, decode_node, decode_root, encode_node, encode_root
from catalog_format.objects import CatalogDefinition, TreeLimits
from tests.golden import make as golden

entries = st.builds(Entry, key=st.binary(max_size=12), value=st.one_of(st.none(), st.binary(max_size=30)), stamp=st.integers(0, 2**64 - 1))
sorted_entries = st.lists(entries, max_size=12, unique_by=lambda entry: entry.key).map(lambda rows: sorted(rows, key=lambda row: row.key))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
headers = st.builds(
    RootHeader,
    version=st.integers(0, 2**63),
    created_at_ms=st.integers(0, 2**50),
    catalog=st.builds(
        CatalogDefinition,
        catalog_id=texts,
        created_at_ms=st.integers(0, 2**50),
        properties=st.dictionaries(texts, texts, max_size=3),
        limits=st.builds(TreeLimits, node_bytes=st.integers(1, 2**31), buffer_rows=st.integers(1, 2**31)),
    ),
    previous_hash=st.just(NO_HASH),
    attempt_id=st.uuids().map(lambda uuid: uuid.hex),
    transaction_ids=st.lists(st.uuids().map(lambda uuid: uuid.hex), max_size=3).map(tuple),
    level=st.integers(0, 5),
    oldest=st.integers(0, 2**63),
    collect_epoch=st.integers(0, 2**63),
    rolled_back_from=st.one_of(st.none(), st.integers(0, 2**63)),
)


@given(sorted_entries, st.integers(0, 4))
def test_a_node_reads_as_it_was_written(rows: list[Entry], level: int) -> None:
    encoded = encode_node(rows, level, "attempt")
    node = decode_node(encoded.name, encoded.data)
    assert encoded.name == hashlib.sha256(encoded.data).hexdigest()
    assert (node.name, node.level, node.size_bytes) == (encoded.name, level, len(encoded.data))
    check_rows(node.rows, rows)


@given(headers, sorted_entries, sorted_entries, st.lists(entries, max_size=4))
def test_a_root_reads_as_it_was_written(header: RootHeader, pivots: list[Entry], buffer: list[Entry], actions: list[Entry]) -> None:
    data, own_hash = encode_root(header, pivots, buffer, actions)
    root = decode_root(header.version, data)
    assert root.header == header
    assert (root.hash, root.size_bytes, root.version) == (own_hash, len(data), header.version)
    check_rows(root.pivots, pivots)
    check_rows(root.buffer, buffer)
    assert list(root.actions) == actions


def check_rows(rows: Rows, expected: list[Entry]) -> None:
    assert list(rows) == rows.entries() == expected
    assert rows.bytes_held == sum(entry.size for entry in expected)
    for index, entry in enumerate(expected):
        assert rows.find(entry.key) == index
        assert (rows.bisect_left(entry.key), rows.bisect_right(entry.key)) == (index, index + 1)
        after = entry.key + b"\0"
        assert rows.bisect_left(after) == index + 1
        assert rows.entries(index, index + 1) == [entry]


def test_the_attempt_keeps_equal_nodes_apart() -> None:
    rows = [Entry(b"k", b"v", 1)]
    assert encode_node(rows, 0, "one").name != encode_node(rows, 0, "two").name


def test_empty_rows_hold_nothing() -> None:
    rows = rows_of([])
    assert (len(rows), rows.bytes_held, rows.find(b""), rows.bisect_right(b"x"), list(rows)) == (0, 0, None, 0, [])


def small_node() -> tuple[bytes, Callable[[bytes], object]]:
    encoded = encode_node(golden.LEAF, 0, "a" * 32)
    return encoded.data, lambda data: decode_node(encoded.name, data)


def small_root() -> tuple[bytes, Callable[[bytes], object]]:
    data, _ = encode_root(golden.HEADER, golden.PIVOTS, golden.BUFFER, golden.ACTIONS)
    return data, lambda changed: decode_root(golden.HEADER.version, changed)


@pytest.mark.parametrize("made", [small_node, small_root])
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_altered_byte_is_noticed(made: Callable[[], tuple[bytes, Callable[[bytes], object]]], flip: int) -> None:
    data, decode = made()
    decode(data)
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= flip
        with pytest.raises((CorruptFileError, NewerFormatError)):
            decode(bytes(altered))


@pytest.mark.parametrize("made", [small_node, small_root])
def test_every_truncation_is_noticed(made: Callable[[], tuple[bytes, Callable[[bytes], object]]]) -> None:
    data, decode = made()
    for length in range(len(data)):
        with pytest.raises(CorruptFileError):
            decode(data[:length])
    with pytest.raises(CorruptFileError):
        decode(data + b"\0")


def test_a_newer_format_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_codec, "FORMAT_VERSION", 2)
    encoded = encode_node(golden.LEAF, 0, "a" * 32)
    data, _ = encode_root(golden.HEADER, [], [], [])
    monkeypatch.undo()
    with pytest.raises(NewerFormatError, match="format version 2"):
        decode_node(encoded.name, encoded.data)
    with pytest.raises(NewerFormatError, match="format version 2"):
        decode_root(golden.HEADER.version, data)


def test_a_moved_root_is_noticed() -> None:
    data, _ = encode_root(golden.HEADER, [], [], [])
    with pytest.raises(CorruptFileError, match="moved"):
        decode_root(golden.HEADER.version + 1, data)


def test_kinds_are_told_apart() -> None:
    node = encode_node(golden.LEAF, 0, "a" * 32)
    root, _ = encode_root(golden.HEADER, [], [], [])
    with pytest.raises(CorruptFileError, match="not a root"):
        decode_root(12, node.data)
    with pytest.raises(CorruptFileError, match="not a node below the root"):
        decode_node(hashlib.sha256(root).hexdigest(), root)


def test_a_value_that_looks_like_the_own_hash_does_no_harm() -> None:
    first, own_hash = encode_root(golden.HEADER, [], golden.BUFFER, [])
    assert decode_root(12, first).hash == own_hash
    data, _ = encode_root(golden.HEADER, [], [Entry(b"k", own_hash.encode(), 1), Entry(b"l", NO_HASH.encode(), 1)], [])
    assert [entry.value for entry in decode_root(12, data).buffer] == [own_hash.encode(), NO_HASH.encode()]


def test_the_hash_covers_the_header() -> None:
    _, one = encode_root(golden.HEADER, [], [], [])
    _, other = encode_root(replace(golden.HEADER, oldest=golden.HEADER.oldest + 1), [], [], [])
    assert one != other


@pytest.mark.parametrize("name", golden.files())
def test_bytes_are_those_of_the_golden_file(name: str) -> None:
    assert golden.files()[name] == (golden.FOLDER / name).read_bytes(), f"{name}: the bytes of the format changed"


def test_golden_files_read_as_ever() -> None:
    leaf = decode_node(golden.LEAF_NAME, (golden.FOLDER / "leaf.arrow").read_bytes())
    assert (leaf.level, list(leaf.rows)) == (0, golden.LEAF)
    assert leaf.name == "bb7dea102acdca83cb38fdd8feb60924b03b6113d668f14d86cdbc19b7ad99ec"
    inner = decode_node(golden.INNER_NAME, (golden.FOLDER / "inner.arrow").read_bytes())
    assert (inner.level, list(inner.rows)) == (1, golden.INNER)
    root = decode_root(12, (golden.FOLDER / "root.arrow").read_bytes())
    assert root.header == golden.HEADER
    assert root.hash == "ed5275a16c337e338787d7a5475f12bed558a97c1f36c7131041d506da247ef2"
    assert (list(root.pivots), list(root.buffer), list(root.actions)) == (golden.PIVOTS, golden.BUFFER, golden.ACTIONS)
    late = decode_root(13, (golden.FOLDER / "late_root.arrow").read_bytes())
    stub = decode_root(13, (golden.FOLDER / "stub.arrow").read_bytes())
    assert late.header == stub.header == golden.LATE_HEADER
    assert (late.stub, stub.stub, stub.hash) == (False, True, late.hash)
    assert (list(stub.pivots), list(stub.buffer), list(stub.actions)) == ([], [], golden.ACTIONS)
    first = decode_root(0, (golden.FOLDER / "first_root.arrow").read_bytes())
    assert (first.header, list(first.buffer)) == (golden.FIRST_HEADER, [])


def test_golden_files_are_never_overwritten(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("golden")
    monkeypatch.setattr(golden, "FOLDER", folder)
    assert golden.main() == 0
    (folder / "leaf.arrow").write_bytes(b"older")
    assert golden.main() == 1
    assert (folder / "leaf.arrow").read_bytes() == b"older"
