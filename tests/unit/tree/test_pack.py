"""Splitting evenly, and the separators between leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from catalog_format.node import Entry
from catalog_format.objects import TreeLimits
from catalog_format.tree.pack import LEAST_CHILDREN, Measure, is_root_over, is_root_small, separator

sizes = st.lists(st.integers(0, 300), min_size=1, max_size=80)


def rows_of_sizes(value_sizes: list[int]) -> list[Entry]:
    return [Entry(b"%04d" % index, b"v" * size, 1) for index, size in enumerate(value_sizes)]


@given(sizes, st.integers(50, 2000), st.integers(2, 20), st.integers(0, 1))
def test_pieces_keep_the_rows_and_the_limits(value_sizes: list[int], node_bytes: int, node_rows: int, level: int) -> None:
    measure, rows = Measure(node_bytes, node_rows), rows_of_sizes(value_sizes)
    pieces = measure.split(rows, level)
    assert [row for piece in pieces for row in piece] == rows
    indivisible = 1 if level == 0 else 2 * LEAST_CHILDREN - 1
    for piece in pieces:
        assert len(piece) <= indivisible or not measure.is_over(piece)
        assert level == 0 or len(piece) >= min(LEAST_CHILDREN, len(rows))


@given(st.integers(1, 3000), st.integers(4, 100))
def test_equal_rows_are_spread_evenly(count: int, node_rows: int) -> None:
    pieces = Measure(1_000_000, node_rows).split(rows_of_sizes([0] * count), 0)
    lengths = [len(piece) for piece in pieces]
    assert max(lengths) - min(lengths) <= 1
    if len(pieces) > 8:
        assert sum(lengths) / len(lengths) / node_rows > 0.6


def test_a_huge_row_stands_alone() -> None:
    pieces = Measure(100, 10).split(rows_of_sizes([10, 5000, 10]), 0)
    assert [len(piece) for piece in pieces] == [1, 1, 1]


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_a_separator_is_above_one_key_and_not_above_the_other(one: bytes, other: bytes) -> None:
    if one == other:
        return
    before, after = sorted((one, other))
    cut = separator(before, after)
    assert before < cut <= after
    assert len(cut) == 1 or not before < cut[:-1] <= after


def test_a_root_does_not_swing_between_two_heights() -> None:
    limits = TreeLimits(node_bytes=4000, node_rows=80)
    for count in range(1, 100):
        pivots = rows_of_sizes([8] * count)
        assert not (is_root_over(pivots, limits) and is_root_small(pivots, limits))
