"""Where Treeline differs from Iceberg's Java builders on purpose: a closed list.

A difference that none of these explains is a failure. Each names the circumstances that it is limited to, and has an
example in `test_differences`, which shows that it still is one. `docs/conformance.md` tells them to users.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.integration.differential.outcome import Case, Json, Outcome, Verdict, differing, plain


@dataclass(frozen=True, slots=True)
class Difference:
    """`name` as in the documentation; `explains` whether a case differs because of this and nothing else."""

    name: str
    reason: str
    explains: Callable[[Case], bool]


def difference_in(case: Case) -> Difference | None:
    """The difference that explains why the two sides disagree; None if it is not on the list."""
    return next((difference for difference in DIFFERENCES if difference.explains(case)), None)


def without_nulls(value: Any) -> Any:
    """JSON without the null members of its objects."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _null_members(case: Case) -> bool:
    cleaned = case.without_nulls
    return (
        cleaned is not None
        and cleaned.treeline.verdict is case.treeline.verdict
        and (not cleaned.disagreement or difference_in(cleaned) is not None)
    )


def _unreadable_result(case: Case) -> bool:
    return case.java.accepted and case.reread is not None and not case.reread.accepted and case.treeline.verdict is Verdict.REFUSED


def _dangling_ids(case: Case) -> bool:
    message = r"Cannot find default (partition spec|sort order): |Cannot find current version |View version -?\d+ names an unknown schema: "
    return case.java.accepted and re.match(message, case.treeline.reason) is not None


def _format_versions(case: Case) -> bool:
    message = "Unsupported format version: v", "Cannot upgrade table to unsupported format version: v4 "
    return case.java.accepted and case.treeline.reason.startswith(message)


def _more_removals_than_snapshots(case: Case) -> bool:
    return (
        case.java.reason.startswith("IllegalArgumentException: arraySize cannot be negative")
        and case.treeline.verdict is not Verdict.REFUSED
    )


def _ids_that_the_catalog_assigns(case: Case) -> bool:
    missing = re.match(r"IllegalArgumentException: Cannot parse missing int: (spec-id|order-id)$", case.java.reason)
    return missing is not None and case.treeline.verdict is not Verdict.REFUSED


def _stale_first_snapshot(case: Case) -> bool:
    message = "Invalid snapshot with sequence number"
    return (
        case.java.reason.startswith(f"ValidationException: {message}")
        and case.treeline.verdict is Verdict.CONFLICT
        and case.treeline.reason.startswith(message)
    )


def _partition_field_ids(case: Case) -> bool:
    fields = [field for update in _updates(case, "add-spec") for field in update["spec"]["fields"]]
    return any("field-id" not in field for field in fields) and _differ_only_at(
        case, r"/partition-specs/\d+/fields/\d+/field-id|/last-partition-id"
    )


def _next_row_id(case: Case) -> bool:
    if not any("first-row-id" in update["snapshot"] for update in _updates(case, "add-snapshot")):
        return False
    if case.treeline.verdict is Verdict.REFUSED:
        return case.treeline.reason.startswith("Cannot add a snapshot: row ids end") and _member(case.java, "next-row-id") < 0
    if case.treeline.verdict is Verdict.CONFLICT:
        # A later snapshot of the same request that starts within the rows of the one before it.
        return case.java.accepted and "first-row-id is behind" in case.treeline.reason
    return _differ_only_at(case, "/next-row-id") and _member(case.treeline, "next-row-id") > _member(case.java, "next-row-id")


def _times_as_defaults(case: Case) -> bool:
    refused = re.match(r"Cannot parse default as a (date|time\w*) value: ", case.treeline.reason)
    return case.java.accepted and refused is not None


def _logs_that_are_no_lists(case: Case) -> bool:
    return case.java.accepted and re.match(r"Cannot parse (snapshot|metadata)-log from non-array value: ", case.treeline.reason) is not None


def _removed_then_added(case: Case) -> bool:
    actions = [str(update.get("action")).lower() for update in case.request]
    for removal, addition, what in (("remove-schemas", "add-schema", "schema"), ("remove-partition-specs", "add-spec", "spec")):
        if removal in actions and addition in actions[actions.index(removal) :]:
            # The id that is taken for known is then neither added nor the one added last.
            unset = case.java.reason.startswith(f"ValidationException: Cannot set last added {what}") and case.treeline.accepted
            members = r"/(schemas?|partition-specs?)(/.*)?|/(current-schema|default-spec|last-partition|last-column)-id"
            return unset or _differ_only_at(case, members)
    return False


def _updates(case: Case, action: str) -> list[Json]:
    return [update for update in case.request if str(update.get("action")).lower() == action]


def _differ_only_at(case: Case, pattern: str) -> bool:
    if case.java.metadata is None or case.read is None:
        return False
    paths = [line.partition(":")[0] for line in differing(plain(case.java.metadata), plain(case.read.metadata))]
    return bool(paths) and all(re.fullmatch(pattern, path) for path in paths)


def _member(outcome: Outcome, name: str) -> int:
    return int((outcome.metadata or {}).get(name, 0))


DIFFERENCES = (
    Difference(
        "null-members",
        "Some clients write null for what they leave out. Treeline reads null as absence everywhere; Java refuses it in many places.",
        _null_members,
    ),
    Difference(
        "unreadable-result",
        "Java commits metadata that it refuses to read again, such as a location of nothing but slashes: the table is lost.",
        _unreadable_result,
    ),
    Difference(
        "dangling-ids",
        "Java lets a removed partition spec become the default one, and reads tables whose default sort order, and views whose current "
        "version or its schema, does not exist; whoever uses them fails. Treeline refuses.",
        _dangling_ids,
    ),
    Difference(
        "format-versions",
        "Treeline knows the format versions that are final, 1 to 3. Java 1.12 also writes drafts of version 4, and reads 0 and below.",
        _format_versions,
    ),
    Difference(
        "more-removals-than-snapshots",
        "Java fails if a client removes more ids than there are snapshots. Ids that are gone already do no harm.",
        _more_removals_than_snapshots,
    ),
    Difference(
        "assigned-ids",
        "spec-id and order-id are the catalog's to assign, so they may be absent; Java requires them and ignores their value.",
        _ids_that_the_catalog_assigns,
    ),
    Difference(
        "stale-first-snapshot",
        "A snapshot without a parent whose sequence number the table has passed is a conflict (409): a client that reads again succeeds. "
        "Java says 400.",
        _stale_first_snapshot,
    ),
    Difference(
        "partition-field-ids",
        "Partition fields that come without ids get one never used, or that of an equal field, as the specification wants it from format "
        "version 2 on. Java starts at 1000 again, which gives one id to two fields.",
        _partition_field_ids,
    ),
    Difference(
        "next-row-id",
        "next-row-id must lie above every row id that was given out, so it is counted from a snapshot's first-row-id. Java adds to the "
        "table's old next-row-id: after a gap it gives the same ids again, and beyond 64 bits it becomes negative.",
        _next_row_id,
    ),
    Difference(
        "times-as-defaults",
        "Defaults are stored as they are given, so that dates and times must be written as the specification writes them. Java reads more "
        "(Z for +00:00, a lower-case t, the name of a zone) and lets dates beyond 32 bits wrap around.",
        _times_as_defaults,
    ),
    Difference(
        "logs-that-are-no-lists",
        "Java takes a snapshot log or a metadata log that is no list for an empty one. Treeline refuses such metadata.",
        _logs_that_are_no_lists,
    ),
    Difference(
        "removed-then-added",
        "A schema or partition spec that is added after one was removed in the same request gets an id that Java still takes for known, "
        "and Java drops it. Treeline adds it.",
        _removed_then_added,
    ),
)
