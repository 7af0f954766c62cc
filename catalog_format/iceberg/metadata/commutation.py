"""Which commits commute: whether one may be applied again on top of another that came first.

Two commits from one base commute if applying the later one's updates to the earlier one's result surely gives what
both asked for. Where that is in doubt, the answer is no. Aspects alone decide here; what the values of two table changes
tell beyond that is decided in `joinable`, and what their files tell in `iceberg.joining`.

An aspect is a tuple whose first item is its family: ("property", key), ("ref", name), ("statistics", snapshot id),
("partition-statistics", snapshot id), ("encryption-key", key id), ("schema",), ("spec",), ("sort-order",),
("snapshots",), ("removed-snapshots",), ("view-version",), ("location",), ("format-version",), ("uuid",), and
("unknown", name) for what this code does not know.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from catalog_format.iceberg.metadata.properties import COLUMN_METRICS_PREFIX

Aspect = tuple[str | int, ...]
Aspects = frozenset[Aspect]

_FAMILY_NAMES: Final = {
    "ref": "a branch or tag",
    "property": "a property",
    "spec": "the partition specs",
    "schema": "the schemas",
    "sort-order": "the sort orders",
    "snapshots": "the snapshots",
    "removed-snapshots": "the removal of snapshots",
    "view-version": "the view's versions",
    "format-version": "the format version",
    "location": "the location",
    "uuid": "the uuid",
    "statistics": "statistics",
    "partition-statistics": "partition statistics",
    "encryption-key": "an encryption key",
    "unknown": "something this server does not know",
}
# Families that never commute with any other.
_EXCLUSIVE: Final = frozenset({"uuid", "unknown"})
# Pairs that do not commute, with the reason; each holds in both directions.
_FORBIDDEN: Final[dict[frozenset[str], str]] = {
    frozenset(pair): reason
    for pair, reason in {
        ("schema", "spec"): "partition fields are bound to the current schema",
        ("schema", "sort-order"): "sort fields are bound to the current schema",
        ("schema", "snapshots"): "a snapshot's files are written under one schema",
        ("spec", "snapshots"): "a snapshot's files are written under one partition spec",
        ("location", "snapshots"): "a snapshot's files are written to one location",
        ("encryption-key", "snapshots"): "a snapshot's manifest list is encrypted with one of the keys",
        ("removed-snapshots", "ref"): "removing a snapshot drops the branches and tags that lead to it",
        ("removed-snapshots", "statistics"): "removing a snapshot drops its statistics",
        ("removed-snapshots", "partition-statistics"): "removing a snapshot drops its statistics",
        ("format-version", "schema"): "the format version limits the types of columns",
        ("format-version", "spec"): "the format version limits partition specs",
        ("format-version", "sort-order"): "the format version may limit sort orders",
        ("format-version", "snapshots"): "the format version decides what a snapshot must carry",
        ("format-version", "ref"): "the format version decides what is kept of branches and tags",
        ("format-version", "encryption-key"): "the format version decides whether keys are kept",
        ("format-version", "view-version"): "the format version decides what a view's version must carry",
    }.items()
}
_NAME_MAPPING = "schema.name-mapping.default"
_COLUMN_PREFIXES = (
    COLUMN_METRICS_PREFIX,
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.stats-enabled.column.",
)
_VIEW_VERSION_PROPERTIES = frozenset({"version.history.num-entries", "replace.drop-dialect.allowed"})


def commute(touched: Aspects, changed: Aspects) -> str | None:
    """The rule that forbids to apply updates that touch the former on top of the latter; None if they commute."""
    if both := sorted(touched & changed, key=str):
        return f"both change {_name(both[0])}"
    if (rule := _forbidden_families(touched, changed)) is not None:
        return rule
    for properties, others in ((touched, changed), (changed, touched)):
        for key, family in product(_keys_of(properties, "property"), sorted({str(aspect[0]) for aspect in others})):
            if _property_bears_on(key, family):
                return f"property {key} bears on {_FAMILY_NAMES.get(family, family)}"
    return None


def _forbidden_families(touched: Aspects, changed: Aspects) -> str | None:
    ours, theirs = sorted({str(aspect[0]) for aspect in touched}), sorted({str(aspect[0]) for aspect in changed})
    for one, other in product(ours, theirs):
        if one in _EXCLUSIVE or other in _EXCLUSIVE:
            return f"{_FAMILY_NAMES[one if one in _EXCLUSIVE else other]} was changed, which goes with no other change"
        reason = _FORBIDDEN.get(frozenset((one, other)))
        if reason is not None:
            return f"{_FAMILY_NAMES[one]} and {_FAMILY_NAMES[other]} were changed: {reason}"
    return None


def _property_bears_on(key: str, family: str) -> bool:
    """Whether a property's meaning, or its validity, hangs on what else the family holds."""
    match family:
        case "schema":
            return key == _NAME_MAPPING or key.startswith(_COLUMN_PREFIXES)
        case "removed-snapshots":
            return key == "gc.enabled"
        case "format-version":
            return key.startswith("encryption.")
        case "view-version":
            return key in _VIEW_VERSION_PROPERTIES
        case _:
            return False


def _keys_of(aspects: Aspects, family: str) -> list[str]:
    return sorted(str(aspect[1]) for aspect in aspects if aspect[0] == family)


def _name(aspect: Aspect) -> str:
    family = str(aspect[0])
    if len(aspect) == 1:
        return _FAMILY_NAMES[family]
    return f"{family.replace('-', ' ')} {aspect[1]}"
