"""A snapshot's summary on top of another parent (Iceberg Java `SnapshotProducer.summary`, `SnapshotSummary`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Totals, with what a snapshot adds to each and takes from it.
_TOTALS: Final = (
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
)
_OF_DATA: Final = frozenset({"total-records", "total-data-files"})
_MANIFEST_COUNTS: Final = ("manifests-created", "manifests-kept", "manifests-replaced")


def summary_on(
    parent: Mapping[str, str] | None, own: Mapping[str, str], manifests: tuple[int, int, int], *, swept: bool = False
) -> dict[str, str]:
    """The own summary with the totals that follow from the parent's (None: there is no parent); unknown totals are left out.

    `manifests`: how many were created, kept and replaced; noted where the writer noted it. `swept`: some delete files that
    the own summary counts as removed had been removed already, so that the totals of those are not known.
    """
    totals = {total for total, _, _ in _TOTALS}
    found = {key: value for key, value in own.items() if key not in totals}
    for total, added, removed in _TOTALS:
        if swept and removed in own and total not in _OF_DATA:
            continue
        before = _number("0" if parent is None else parent.get(total))
        more, less = _number(own.get(added, "0")), _number(own.get(removed, "0"))
        if before is not None and more is not None and less is not None and before + more - less >= 0:
            found[total] = str(before + more - less)
    return found | {key: str(count) for key, count in zip(_MANIFEST_COUNTS, manifests, strict=True) if key in own}


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
