"""What of a table's change is decided by metadata alone, and what has to be looked up in manifests.

`commutation` knows families of aspects only; where two families meet whose members may or may not have to do with each other,
their values decide here. Two changes of snapshots are decided by files, so not here at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final

from catalog_format.iceberg.metadata import table_fields
from catalog_format.iceberg.metadata.aspects import difference, touched_by
from catalog_format.iceberg.metadata.commutation import Aspect, commute
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.schema_evolution import incompatibility
from catalog_format.iceberg.metadata.schemas import schema_id_of
from catalog_format.iceberg.metadata.snapshots import MAIN_BRANCH, same_ref

_STATISTICS: Final = ("statistics", "partition-statistics")


def metadata_conflict(base: JsonObject, winner: JsonObject, updates: Sequence[JsonObject]) -> str | None:
    """The rule that forbids updates made on `base` on top of `winner`, but for what is decided by files; None if none does.

    Raises `InvalidArgumentError` if an update is malformed.
    """
    meeting = _Meeting(base, winner, updates)
    own, rival = (sorted(aspects, key=str) for aspects in (touched_by(updates), difference(base, winner)))
    return next((reason for pair in product(own, rival) if (reason := meeting.reason(*pair)) is not None), None)


def needs_joining(base: JsonObject, winner: JsonObject, updates: Sequence[JsonObject]) -> bool:
    """Whether the updates' snapshots cannot be added as they are: the winner has passed their numbers, or moved their branches.

    Also if schemas or specs differ, which files have to fit.
    """
    if not any(update["action"] == "add-snapshot" for update in updates):
        return False
    before, after = table_fields.refs_of(base), table_fields.refs_of(winner)
    moved = {update["ref-name"] for update in updates if update["action"] == "set-snapshot-ref"}
    if any(_head(before, name) != _head(after, name) for name in moved):
        return True
    return any(read(base) != read(winner) for read in _NUMBERS_AND_LAYOUT)


_NUMBERS_AND_LAYOUT: Final[tuple[Callable[[JsonObject], object], ...]] = (
    table_fields.last_sequence_number_of,
    table_fields.next_row_id_of,
    table_fields.current_schema_id_of,
    table_fields.schemas_of,
    table_fields.specs_of,
)


@dataclass(frozen=True)
class _Meeting:
    """Own updates, and what others made of their base."""

    base: JsonObject
    winner: JsonObject
    updates: Sequence[JsonObject]

    def reason(self, own: Aspect, rival: Aspect) -> str | None:
        """Why a change of the one aspect cannot follow a change of the other."""
        match own[0], rival[0]:
            case "snapshots", "snapshots":
                return None
            case "ref", "ref":
                return self._both_moved(str(own[1])) if own == rival else None
            case "ref", "removed-snapshots":
                return self._own_ref_to_removed(str(own[1]))
            case "removed-snapshots", "ref":
                return self._rivals_ref_to_removed(str(rival[1]))
            case "snapshots", "removed-snapshots":
                return self._own_parent_removed()
            case "removed-snapshots", "snapshots":
                return self._rivals_parent_removed()
            case family, "removed-snapshots" if family in _STATISTICS:
                return self._statistics_of_removed(own[1], self._gone)
            case "removed-snapshots", family if family in _STATISTICS:
                return self._statistics_of_removed(rival[1], self._removed)
            case "snapshots", _ if not self._added:
                # They were only removed, as ("removed-snapshots",) tells.
                return None
            case _, "snapshots" if not self._new:
                return None
            case "schema", "snapshots":
                return self._own_schema()
            case "snapshots", "schema":
                return self._unfit(table_fields.current_schema_id_of(self.winner), _schemas(self.winner))
            case "spec", "snapshots":
                removes = any(update["action"] == "remove-partition-specs" for update in self.updates)
                return "files may have been written meanwhile with a partition spec that is removed" if removes else None
            case "snapshots", "spec":
                return self._replaced_partitions()
        return commute(frozenset({own}), frozenset({rival}))

    @cached_property
    def _added(self) -> dict[int, JsonObject]:
        snapshots = [update["snapshot"] for update in self.updates if update["action"] == "add-snapshot"]
        return {snapshot["snapshot-id"]: snapshot for snapshot in snapshots}

    @cached_property
    def _new(self) -> list[JsonObject]:
        """The snapshots that others added."""
        before = _snapshots(self.base)
        return [snapshot for snapshot_id, snapshot in _snapshots(self.winner).items() if snapshot_id not in before]

    @cached_property
    def _removed(self) -> frozenset[int]:
        """Ids of the snapshots that the own updates remove."""
        removals = (update["snapshot-ids"] for update in self.updates if update["action"] == "remove-snapshots")
        return frozenset(snapshot_id for ids in removals for snapshot_id in ids)

    @cached_property
    def _gone(self) -> frozenset[int]:
        """Ids of the snapshots that others removed."""
        return frozenset(_snapshots(self.base).keys() - _snapshots(self.winner).keys())

    def _both_moved(self, name: str) -> str | None:
        """Both may add snapshots to one branch; nothing else goes together on one name."""
        before, after = table_fields.refs_of(self.base).get(name), table_fields.refs_of(self.winner).get(name)
        own = [update for update in self.updates if update.get("ref-name") == name]
        if after is None:
            return f"branch or tag {name} was dropped meanwhile"
        if before is None and name != MAIN_BRANCH:
            return f"both created branch or tag {name}"
        unmoved = {"type": "branch"} if before is None else before
        if not same_ref({**unmoved, "snapshot-id": 0}, {**after, "snapshot-id": 0}):
            return f"the retention of branch or tag {name} was changed meanwhile"
        if any(update["action"] != "set-snapshot-ref" or update["snapshot-id"] not in self._added for update in own):
            return f"both moved branch or tag {name}"
        return None

    def _own_ref_to_removed(self, name: str) -> str | None:
        targets = {update.get("snapshot-id") for update in self.updates if update.get("ref-name") == name}
        found = _first(targets, self._gone)
        return None if found is None else f"snapshot {found}, to which {name} is to lead, was removed meanwhile"

    def _rivals_ref_to_removed(self, name: str) -> str | None:
        target = _head(table_fields.refs_of(self.winner), name)
        return f"branch or tag {name} leads meanwhile to snapshot {target}, which is removed" if target in self._removed else None

    def _own_parent_removed(self) -> str | None:
        found = _first((snapshot.get("parent-snapshot-id") for snapshot in self._added.values()), self._gone)
        return None if found is None else f"snapshot {found}, the parent of a new one, was removed meanwhile"

    def _rivals_parent_removed(self) -> str | None:
        found = _first((snapshot.get("parent-snapshot-id") for snapshot in self._new), self._removed)
        return None if found is None else f"snapshot {found}, which is removed, has become the parent of a new one meanwhile"

    def _statistics_of_removed(self, snapshot_id: str | int, removed: frozenset[int]) -> str | None:
        return f"there are statistics of snapshot {snapshot_id}, which was removed" if snapshot_id in removed else None

    def _own_schema(self) -> str | None:
        """Others wrote files with the base's schema."""
        if any(update["action"] == "remove-schemas" for update in self.updates):
            return "snapshots may have been added meanwhile with a schema that is removed"
        added = [update["schema"] for update in self.updates if update["action"] == "add-schema"]
        chosen = {update["schema-id"] for update in self.updates if update["action"] == "set-current-schema"}
        schemas = [*added, *(schema for schema_id, schema in _schemas(self.base).items() if schema_id in chosen)]
        written = _schemas(self.base).get(table_fields.current_schema_id_of(self.base))
        for schema in schemas:
            reason = None if written is None else incompatibility(written, schema)
            if reason is not None:
                return f"files were written meanwhile with the schema before: {reason}"
        return None

    def _unfit(self, schema_id: int, schemas: Mapping[int, JsonObject]) -> str | None:
        written = _schemas(self.base).get(table_fields.current_schema_id_of(self.base))
        reason = None if written is None else incompatibility(written, schemas[schema_id])
        return None if reason is None else f"the new files were written with the schema before: {reason}"

    def _replaced_partitions(self) -> str | None:
        if table_fields.default_spec_id_of(self.base) == table_fields.default_spec_id_of(self.winner):
            return None
        replaces = any((snapshot.get("summary") or {}).get("replace-partitions") == "true" for snapshot in self._added.values())
        return "which partitions are replaced hangs on the partition spec, and that was changed meanwhile" if replaces else None


def _first(snapshot_ids: Iterable[int | None], wanted: frozenset[int]) -> int | None:
    return next((snapshot_id for snapshot_id in snapshot_ids if snapshot_id in wanted), None)


def _head(refs: Mapping[str, JsonObject], name: str) -> int | None:
    return refs[name]["snapshot-id"] if name in refs else None


def _snapshots(metadata: JsonObject) -> dict[int, JsonObject]:
    return {snapshot["snapshot-id"]: snapshot for snapshot in table_fields.list_of(metadata, "snapshots")}


def _schemas(metadata: JsonObject) -> dict[int, JsonObject]:
    return {schema_id_of(schema): schema for schema in table_fields.schemas_of(metadata)}
