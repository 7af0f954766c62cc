"""Every type with every default, and every transform of every type: few enough to try them all."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.integration.differential.comparison import Comparison
from tests.integration.differential.outcome import Json
from tests.integration.differential.strategies.schemas import DEFAULTS, ODD_DEFAULTS, ODD_TYPES, SPELLINGS
from tests.integration.differential.strategies.tables import order_field

pytestmark = pytest.mark.spark

_TRANSFORMS = [
    *["identity", "void", "year", "month", "day", "hour"],
    *["bucket[4]", "truncate[4]", "BUCKET[4]", "bucket", "bucket[0]", "unheard-of"],
]
_NESTED: list[Any] = [
    {"type": "struct", "fields": [{"id": 2, "name": "x", "required": True, "type": "int"}]},
    {"type": "list", "element-id": 2, "element": "int", "element-required": False},
    {"type": "map", "key-id": 2, "key": "int", "value-id": 3, "value": "unknown", "value-required": False},
]


def _create(comparison: Comparison, field: Json, *, spec: list[Json] = [], order: list[Json] = [], version: int = 3) -> None:  # noqa: B006
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "c", "required": False} | field]}
    partitions = {"spec-id": 0, "fields": spec}
    sorting = {"order-id": len(order), "fields": order}
    comparison.new_table(schema, partitions, sorting, "s3://b/t", {"format-version": str(version)})


def test_defaults(comparison: Comparison) -> None:
    values = [*ODD_DEFAULTS, *(value for good in DEFAULTS.values() for value in good)]
    for kind, value in product([*DEFAULTS, *_NESTED], values):
        _create(comparison, {"type": kind, "initial-default": value})
    for kind, good in DEFAULTS.items():
        for value in good:
            _create(comparison, {"type": kind, "write-default": value})


def test_types_of_each_format_version(comparison: Comparison) -> None:
    spellings = [spelling for others in SPELLINGS.values() for spelling in others]
    for kind, version, required in product([*DEFAULTS, *spellings, *ODD_TYPES, *_NESTED], (1, 2, 3), (True, False)):
        _create(comparison, {"type": kind, "required": required}, version=version)
        _create(comparison, {"type": {"type": "list", "element-id": 2, "element": kind, "element-required": required}}, version=version)


def test_transforms_of_types(comparison: Comparison) -> None:
    for kind, transform in product([*DEFAULTS, *_NESTED], _TRANSFORMS):
        _create(comparison, {"type": kind}, spec=[{"source-id": 1, "name": "p", "transform": transform}])
        _create(comparison, {"type": kind}, order=[order_field(1, transform, "asc", "nulls-first")])
