"""Requests as no client should send them: one member somewhere is missing, null, or of the wrong type."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.integration.differential.outcome import FOREIGN, Json

_WRONG = [None, True, 0, -1, 1.5, 1.0, 1 << 31, 1 << 63, -(1 << 63) - 1, "", "x", "1", [], [None], ["x"], {}, {"x": 1}, {"x": None}]


@st.composite
def damaged(draw: st.DrawFn, sound: Json) -> Json:
    """A copy that differs in one member."""
    broken = copy.deepcopy(sound)
    place, key = draw(st.sampled_from(list(_places(broken))))
    how = draw(st.sampled_from(["drop", "null", "wrong", "wrong", "foreign"]))
    if how == "drop":
        del place[key]
    elif how == "null":
        place[key] = None
    elif how == "wrong":
        place[key] = draw(st.sampled_from(_WRONG))
    elif isinstance(place, dict):
        place[FOREIGN] = draw(st.sampled_from([None, 1, {"a": []}]))
    return broken


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys or indexes."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [(value, key) for key, _ in items] + [place for _, member in items for place in _places(member)]
