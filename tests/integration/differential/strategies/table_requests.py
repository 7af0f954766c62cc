"""Commits to tables: requirements and updates that fit the base, and such as do not."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.integration.differential.outcome import Json
from tests.integration.differential.strategies.damage import damaged
from tests.integration.differential.strategies.schemas import rarely, schemas
from tests.integration.differential.strategies.tables import (
    NOW,
    PROPERTIES,
    UUID,
    encryption_key,
    order_field,
    partition_statistics_file,
    reference,
    snapshot,
    spec_field,
    statistics_file,
)

_REFS = ["main", "branch", "tag", "audit", "new"]
_OTHER_UUID = "00000000-0000-4000-8000-000000000000"


class Writer:
    """A client in the middle of writing a request: what it takes the table to be."""

    def __init__(self, draw: st.DrawFn, base: Json) -> None:
        self.draw = draw
        self.version = base.get("format-version", 2)
        self.sequence = base.get("last-sequence-number", len(base.get("snapshots", [])))
        self.row = base.get("next-row-id", 0)
        self.snapshots = [item["snapshot-id"] for item in base.get("snapshots", [])]
        self.head = base.get("current-snapshot-id")

    def some_snapshot(self) -> int:
        """Nearly always one that exists."""
        known = self.snapshots if self.snapshots and not rarely(self.draw, 8) else [1, 2, 77, -1]
        return self.draw(st.sampled_from(known))

    def request(self) -> list[Json]:
        """One to six updates; an append is two."""
        updates: list[Json] = []
        for _ in range(self.draw(st.integers(1, 4))):
            made = self.draw(st.sampled_from(_WRITERS))(self)
            updates.extend([made] if isinstance(made, dict) else made)
        if rarely(self.draw, 5):
            index = self.draw(st.integers(0, len(updates) - 1))
            updates[index] = self.draw(damaged(updates[index]))
        return updates

    def append(self) -> list[Json]:
        return [self.add_snapshot(), self._to_main(self.snapshots[-1])]

    def add_snapshot(self) -> Json:
        draw = self.draw
        snapshot_id = len(self.snapshots) + 1 if not rarely(draw, 12) else draw(st.integers(1, 6))
        sequence = self.sequence + 1
        if rarely(draw, 8):
            sequence += draw(st.sampled_from([-2, -1, 3]))
        row = self.row
        if rarely(draw, 10):
            row += draw(st.sampled_from([-5, 5]))
        parent = self.snapshots[-1] if self.snapshots and not rarely(draw, 6) else None
        made = snapshot(draw, snapshot_id, sequence, parent, self.version, row)
        if rarely(draw, 12):
            made["timestamp-ms"] = draw(st.sampled_from([0, NOW - 1_000_000, NOW * 2]))
        if rarely(draw, 15):
            made["added-rows"] = draw(st.sampled_from([0, -1, 1 << 62, (1 << 63) - 1]))
        if rarely(draw, 15):
            made["summary"] = draw(st.sampled_from([{}, {"operation": "other"}, {"a": "b"}]))
        self.sequence, self.row = sequence, row + 10
        self.snapshots = [*self.snapshots, snapshot_id]
        return {"action": "add-snapshot", "snapshot": made}

    def set_ref(self) -> Json:
        name = self.draw(st.sampled_from(_REFS))
        kind = "tag" if name == "tag" else "branch"
        if rarely(self.draw, 10):
            kind = self.draw(st.sampled_from(["tag", "branch", "TAG", "Branch"]))
        update = {"action": "set-snapshot-ref", "ref-name": name, **reference(self.draw, self.some_snapshot(), kind)}
        if rarely(self.draw, 12):
            update[self.draw(st.sampled_from(["min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"]))] = self.draw(
                st.sampled_from([0, -1, 1, None])
            )
        return update

    def remove_ref(self) -> Json:
        return {"action": "remove-snapshot-ref", "ref-name": self.draw(st.sampled_from(_REFS))}

    def remove_snapshots(self) -> Json:
        removed = [self.some_snapshot() for _ in range(self.draw(st.integers(0, 2)))]
        return {"action": "remove-snapshots", "snapshot-ids": removed}

    def schema(self) -> Json | list[Json]:
        update = {"action": "add-schema", "schema": self.draw(schemas(self.version, odd=True)), "last-column-id": 50}
        return [update, self._last_added("set-current-schema", "schema-id")] if self.draw(st.booleans()) else update

    def set_schema(self) -> Json:
        return {"action": "set-current-schema", "schema-id": self.draw(st.integers(-1, 3))}

    def remove_schemas(self) -> Json:
        return {"action": "remove-schemas", "schema-ids": self.draw(st.lists(st.integers(0, 3), max_size=2))}

    def spec(self) -> Json | list[Json]:
        draw = self.draw
        transforms = ["identity", "void", "day", "bucket[4]", "BUCKET[4]", "truncate[2]", "truncate[0]", "hour", "year", "unheard-of"]
        numbered = not rarely(draw, 4)
        start = 1000 if rarely(draw, 2) else 1005
        fields = [
            spec_field(draw(st.integers(1, 5)), draw(st.sampled_from(transforms)), start + index if numbered else None)
            for index in range(draw(st.integers(0, 2)))
        ]
        if fields and rarely(draw, 8):
            fields[0]["name"] = draw(st.sampled_from(["id", "name", "at", ""]))
        update = {"action": "add-spec", "spec": {"spec-id": draw(st.integers(0, 3)), "fields": fields}}
        return [update, self._last_added("set-default-spec", "spec-id")] if draw(st.booleans()) else update

    def set_spec(self) -> Json:
        return {"action": "set-default-spec", "spec-id": self.draw(st.integers(-1, 3))}

    def remove_specs(self) -> Json:
        return {"action": "remove-partition-specs", "spec-ids": self.draw(st.lists(st.integers(0, 3), max_size=2))}

    def order(self) -> Json | list[Json]:
        draw = self.draw
        fields = [
            order_field(
                draw(st.integers(1, 5)),
                draw(st.sampled_from(["identity", "day", "bucket[4]", "void", "truncate[0]", "unheard-of"])),
                draw(st.sampled_from(["asc", "desc", "ASC"])),
                draw(st.sampled_from(["nulls-first", "nulls-last", "Nulls-Last"])),
            )
            for _ in range(draw(st.integers(0, 2)))
        ]
        order_id = draw(st.integers(0, 3)) if rarely(draw, 8) else 1 if fields else 0
        update = {"action": "add-sort-order", "sort-order": {"order-id": order_id, "fields": fields}}
        return [update, self._last_added("set-default-sort-order", "sort-order-id")] if draw(st.booleans()) else update

    def set_order(self) -> Json:
        return {"action": "set-default-sort-order", "sort-order-id": self.draw(st.integers(-1, 3))}

    def set_statistics(self) -> Json:
        file = statistics_file(self.draw, self.some_snapshot())
        return {"action": "set-statistics", "snapshot-id": file["snapshot-id"], "statistics": file}

    def remove_statistics(self) -> Json:
        return {"action": "remove-statistics", "snapshot-id": self.some_snapshot()}

    def set_partition_statistics(self) -> Json:
        return {"action": "set-partition-statistics", "partition-statistics": partition_statistics_file(self.draw, self.some_snapshot())}

    def remove_partition_statistics(self) -> Json:
        return {"action": "remove-partition-statistics", "snapshot-id": self.some_snapshot()}

    def add_key(self) -> Json:
        return {"action": "add-encryption-key", "encryption-key": encryption_key(self.draw, self.draw(st.sampled_from(["k1", "k9"])))}

    def remove_key(self) -> Json:
        return {"action": "remove-encryption-key", "key-id": self.draw(st.sampled_from(["k1", "k9"]))}

    def set_properties(self) -> Json:
        keys = self.draw(st.lists(st.sampled_from(list(PROPERTIES)), max_size=2, unique=True))
        updates = {key: self.draw(st.sampled_from(PROPERTIES[key])) for key in keys}
        return {"action": "set-properties", ("updated" if rarely(self.draw, 10) else "updates"): updates}

    def remove_properties(self) -> Json:
        keys = self.draw(st.lists(st.sampled_from(list(PROPERTIES)), max_size=2))
        return {"action": "remove-properties", ("removed" if rarely(self.draw, 10) else "removals"): keys}

    def set_location(self) -> Json:
        return {
            "action": "set-location",
            "location": self.draw(st.sampled_from(["s3://b/t", "s3://b/t/", "s3://b/u//", "s3://", "/", "", "file:/x"])),
        }

    def upgrade(self) -> Json:
        self.version = self.draw(st.integers(max(1, self.version - 1), 3)) if rarely(self.draw, 3) else self.version
        return {"action": "upgrade-format-version", "format-version": self.version}

    def assign_uuid(self) -> Json:
        return {"action": "assign-uuid", "uuid": self.draw(st.sampled_from([UUID, UUID.upper(), _OTHER_UUID, "x"]))}

    def unheard_of(self) -> Json:
        action = self.draw(st.sampled_from(["unheard-of", "add-view-version", "SET-LOCATION", "set-current-view-version"]))
        return {"action": action, "location": "s3://b/x", "view-version-id": 1}

    def _to_main(self, snapshot_id: int) -> Json:
        return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}

    def _last_added(self, action: str, member: str) -> Json:
        return {"action": action, member: -1}


_WRITERS: list[Callable[[Writer], Json | list[Json]]] = [
    Writer.append,
    Writer.append,
    Writer.append,
    Writer.add_snapshot,
    Writer.set_ref,
    Writer.set_ref,
    Writer.remove_ref,
    Writer.remove_snapshots,
    Writer.schema,
    Writer.schema,
    Writer.set_schema,
    Writer.remove_schemas,
    Writer.spec,
    Writer.spec,
    Writer.set_spec,
    Writer.remove_specs,
    Writer.order,
    Writer.set_order,
    Writer.set_statistics,
    Writer.remove_statistics,
    Writer.set_partition_statistics,
    Writer.remove_partition_statistics,
    Writer.add_key,
    Writer.remove_key,
    Writer.set_properties,
    Writer.remove_properties,
    Writer.set_location,
    Writer.upgrade,
    Writer.assign_uuid,
    Writer.unheard_of,
]


@st.composite
def table_updates(draw: st.DrawFn, base: Json) -> list[Json]:
    """The updates of one commit."""
    return Writer(draw, base).request()


@st.composite
def table_requirements(draw: st.DrawFn, base: Json) -> list[Json]:
    """The requirements of one commit: mostly such as hold, often none."""
    found: list[Json] = []
    for kind in draw(st.lists(st.sampled_from(_KINDS), max_size=2)):
        found.append({"type": kind, **_requirement(draw, kind, base)})
    if found and rarely(draw, 6):
        found[-1] = draw(damaged(found[-1]))
    return found


_REQUIREMENTS = {
    "assert-table-uuid": ("uuid", "table-uuid", [UUID, UUID.upper(), _OTHER_UUID]),
    "assert-last-assigned-field-id": ("last-assigned-field-id", "last-column-id", [39, 40, 90]),
    "assert-current-schema-id": ("current-schema-id", "current-schema-id", [0, 1]),
    "assert-last-assigned-partition-id": ("last-assigned-partition-id", "last-partition-id", [999, 1000]),
    "assert-default-spec-id": ("default-spec-id", "default-spec-id", [0, 1]),
    "assert-default-sort-order-id": ("default-sort-order-id", "default-sort-order-id", [0, 1]),
    "assert-ref-snapshot-id": ("snapshot-id", "current-snapshot-id", [1, 2, None]),
    "assert-create": ("x", "x", [0]),
    "assert-view-uuid": ("uuid", "table-uuid", [UUID]),
    "unheard-of": ("x", "x", [0]),
}
_SELDOM = ["assert-create", "assert-view-uuid", "unheard-of"]
_KINDS = [kind for kind in _REQUIREMENTS if kind not in _SELDOM] * 4 + _SELDOM


def _requirement(draw: st.DrawFn, kind: str, base: Json) -> Json:
    member, source, others = _REQUIREMENTS[kind]
    value = base.get(source) if base.get(source) is not None and not rarely(draw, 6) else draw(st.sampled_from(others))
    if kind == "assert-ref-snapshot-id":
        name = draw(st.sampled_from(["main", "main", "branch", "tag", "gone"]))
        return {"ref": name, member: base.get("refs", {}).get(name, {}).get("snapshot-id") if not rarely(draw, 4) else value}
    return {member: value}
