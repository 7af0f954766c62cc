"""Metadata of views that Java accepts, and commits to them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.integration.differential.outcome import Json
from tests.integration.differential.strategies.damage import damaged
from tests.integration.differential.strategies.schemas import rarely, schemas
from tests.integration.differential.strategies.tables import NOW, UUID

_PROPERTIES = {
    "comment": ["a view", ""],
    "version.history.num-entries": ["1", "2", "3", "0", "-1", "x"],
    "replace.drop-dialect.allowed": ["true", "TRUE", "false"],
    "write.metadata.compression-codec": ["gzip", "none"],
}
_DIALECTS = ["spark", "trino", "Spark", "flink"]


def _representations(draw: st.DrawFn, odd: bool) -> list[Json]:
    dialects = draw(st.lists(st.sampled_from(_DIALECTS), min_size=0 if odd and rarely(draw, 8) else 1, max_size=3, unique=True))
    if not odd or not rarely(draw, 8):
        dialects = list({dialect.lower(): dialect for dialect in dialects}.values())
    found: list[Json] = [
        {"type": "sql", "sql": draw(st.sampled_from(["select 1", "select 2"])), "dialect": dialect} for dialect in dialects
    ]
    if odd and rarely(draw, 10):
        found.append({"type": draw(st.sampled_from(["SQL", "plan"])), "sql": "select 3", "dialect": "presto"})
    return found


def _version(draw: st.DrawFn, version_id: int, schema_id: int, *, odd: bool = False) -> Json:
    version: Json = {
        "version-id": version_id,
        "timestamp-ms": NOW + draw(st.integers(0, 3)),
        "schema-id": schema_id,
        "summary": draw(st.sampled_from([{}, {"engine-name": "spark"}])),
        "default-namespace": draw(st.sampled_from([["ns"], [], ["a", "b.c"]])),
        "representations": _representations(draw, odd),
    }
    if rarely(draw, 3):
        version["default-catalog"] = "lake"
    return version


@st.composite
def views(draw: st.DrawFn) -> Json:
    """Metadata of a view with some history."""
    listed = [{**draw(schemas(3)), "schema-id": schema_id} for schema_id in range(draw(st.integers(1, 2)))]
    many = draw(st.integers(1, 5))
    versions = [_version(draw, number, draw(st.integers(0, len(listed) - 1))) for number in range(1, many + 1)]
    current = draw(st.sampled_from([many, many, 1]))
    metadata: Json = {
        "view-uuid": UUID,
        "format-version": 1,
        "location": "s3://b/v",
        "schemas": listed,
        "current-version-id": current,
        "versions": versions,
        "version-log": [{"version-id": number, "timestamp-ms": NOW + number} for number in [*range(1, many), current]],
    }
    properties = {key: draw(st.sampled_from(values[:2])) for key, values in _PROPERTIES.items() if rarely(draw, 3)}
    if draw(st.booleans()):
        # Otherwise a version that leaves out a dialect is refused, which is most of them.
        properties["replace.drop-dialect.allowed"] = "true"
    return metadata | ({"properties": properties} if properties else {})


class _Author:
    """A client in the middle of writing a request."""

    def __init__(self, draw: st.DrawFn, base: Json) -> None:
        self.draw = draw
        self.base = base

    def request(self) -> list[Json]:
        updates: list[Json] = []
        for _ in range(self.draw(st.integers(1, 4))):
            made = self.draw(st.sampled_from(_AUTHORS))(self)
            updates.extend([made] if isinstance(made, dict) else made)
        if rarely(self.draw, 6):
            index = self.draw(st.integers(0, len(updates) - 1))
            updates[index] = self.draw(damaged(updates[index]))
        return updates

    def replace(self) -> list[Json]:
        """What clients send to replace a view."""
        added: list[Json] = [self.schema()] if self.draw(st.booleans()) else []
        return [*added, self.version(), {"action": "set-current-view-version", "view-version-id": -1}]

    def schema(self) -> Json:
        known = [schema | {"schema-id": 7} for schema in self.base["schemas"]]
        chosen = self.draw(st.sampled_from(known)) if rarely(self.draw, 3) else self.draw(schemas(3, odd=True))
        return {"action": "add-schema", "schema": chosen}

    def version(self) -> Json:
        draw = self.draw
        if rarely(draw, 4):
            again = draw(st.sampled_from(self.base["versions"]))
            return {"action": "add-view-version", "view-version": again | {"version-id": draw(st.integers(1, 9)), "timestamp-ms": NOW}}
        schema_id = draw(st.sampled_from([-1, 0, 0, 0, 1]))
        return {"action": "add-view-version", "view-version": _version(draw, draw(st.integers(1, 9)), schema_id, odd=True)}

    def set_version(self) -> Json:
        return {"action": "set-current-view-version", "view-version-id": self.draw(st.integers(-1, 6))}

    def set_properties(self) -> Json:
        keys = self.draw(st.lists(st.sampled_from(list(_PROPERTIES)), max_size=2, unique=True))
        return {"action": "set-properties", "updates": {key: self.draw(st.sampled_from(_PROPERTIES[key])) for key in keys}}

    def remove_properties(self) -> Json:
        return {"action": "remove-properties", "removals": self.draw(st.lists(st.sampled_from(list(_PROPERTIES)), max_size=2))}

    def set_location(self) -> Json:
        return {"action": "set-location", "location": self.draw(st.sampled_from(["s3://b/v", "s3://b/v/", "s3://b/w//", ""]))}

    def upgrade(self) -> Json:
        return {"action": "upgrade-format-version", "format-version": self.draw(st.sampled_from([1, 1, 1, 0, 2]))}

    def assign_uuid(self) -> Json:
        return {"action": "assign-uuid", "uuid": self.draw(st.sampled_from([UUID, UUID, UUID.upper(), "x"]))}

    def unheard_of(self) -> Json:
        return {"action": self.draw(st.sampled_from(["unheard-of", "remove-snapshots", "ASSIGN-UUID"])), "snapshot-ids": [], "uuid": UUID}


_AUTHORS: list[Callable[[_Author], Json | list[Json]]] = [
    _Author.replace,
    _Author.replace,
    _Author.replace,
    _Author.schema,
    _Author.version,
    _Author.set_version,
    _Author.set_properties,
    _Author.remove_properties,
    _Author.set_location,
    _Author.upgrade,
    _Author.assign_uuid,
    _Author.unheard_of,
]


@st.composite
def view_updates(draw: st.DrawFn, base: Json) -> list[Json]:
    """The updates of one commit."""
    return _Author(draw, base).request()


@st.composite
def view_requirements(draw: st.DrawFn, base: Json) -> list[Json]:
    """The requirements of one commit: mostly none, or one that holds."""
    if not rarely(draw, 3):
        return []
    uuid = draw(st.sampled_from([base["view-uuid"], base["view-uuid"].upper(), "x"]))
    kind = "assert-view-uuid" if not rarely(draw, 6) else draw(st.sampled_from(["assert-table-uuid", "Assert-View-UUID", "unheard-of"]))
    requirement = {"type": kind, "uuid": uuid}
    return [draw(damaged(requirement)) if rarely(draw, 6) else requirement]
