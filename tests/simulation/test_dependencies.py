"""The graph of dependencies: known cycles are found, known histories without one are not accused."""

from __future__ import annotations

from tests.simulation.dependencies import Place, find_cycle

A, B, C = (1, 0), (2, 0), (2, 1)


def edges(*pairs: tuple[Place, Place]) -> dict[Place, dict[Place, str]]:
    found: dict[Place, dict[Place, str]] = {}
    for one, other in pairs:
        found.setdefault(one, {})[other] = "because"
    return found


def test_an_order_has_no_cycle() -> None:
    assert find_cycle(edges((A, B), (B, C), (A, C))) is None


def test_write_skew_is_a_cycle() -> None:
    assert set(find_cycle(edges((A, B), (B, A))) or []) == {A, B}


def test_a_cycle_behind_others_is_found() -> None:
    assert set(find_cycle(edges((A, B), (B, C), (C, B))) or []) == {B, C}
