"""New tables: create requests, and the updates that commit a staged create."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.integration.differential.outcome import Json
from tests.integration.differential.strategies.damage import damaged
from tests.integration.differential.strategies.schemas import CORE, rarely, schemas
from tests.integration.differential.strategies.table_requests import Writer
from tests.integration.differential.strategies.tables import PROPERTIES, UUID, order_field, spec_field

NewTable = tuple[Json, Json, Json, str, dict[str, str]]
"""Schema, partition spec, sort order, location, properties."""


@st.composite
def new_tables(draw: st.DrawFn) -> NewTable:
    """A create request. Column ids are the client's, which the catalog does not keep."""
    version = draw(st.integers(1, 3))
    schema = draw(schemas(version, odd=rarely(draw, 3)))
    # Other ids than those that the catalog will assign; a spec refers to them.
    shift = draw(st.sampled_from([0, 100]))
    sources = [1, 2, 3] if not rarely(draw, 5) else [1, 4, 5, 99]
    fields = [
        spec_field(draw(st.sampled_from(sources)), draw(st.sampled_from(["identity", "void", "day", "bucket[4]", "unheard-of"])))
        for _ in range(draw(st.integers(0, 2)))
    ]
    if draw(st.booleans()):
        fields = [field | {"field-id": 1000 + index} for index, field in enumerate(fields)]
    orders = [
        order_field(draw(st.sampled_from(sources)), draw(st.sampled_from(["identity", "day", "unheard-of"])), "desc", "nulls-last")
        for _ in range(draw(st.integers(0, 1)))
    ]
    keys = draw(st.lists(st.sampled_from(list(PROPERTIES)), max_size=2, unique=True))
    properties = {key: draw(st.sampled_from(PROPERTIES[key])) for key in keys}
    if "format-version" not in properties:
        properties["format-version"] = str(version)
    for field in schema["fields"]:
        if field["id"] <= len(CORE):
            field["id"] += shift
    for part in (*fields, *orders):
        if part["source-id"] <= len(CORE):
            part["source-id"] += shift
    spec: Json = {"spec-id": draw(st.integers(0, 2)), "fields": fields}
    order: Json = {"order-id": 1 if orders else 0, "fields": orders}
    if rarely(draw, 8):
        spec = draw(damaged(spec))
    return schema, spec, order, draw(st.sampled_from(["s3://b/t", "s3://b/t/"])), properties


@st.composite
def staged_creations(draw: st.DrawFn) -> list[Json]:
    """What clients send to create a table with its first data; now and then with something missing, or in another order."""
    version = draw(st.integers(1, 3))
    schema = draw(schemas(version)) | {"schema-id": 0}
    columns = {field["id"] for field in schema["fields"]}
    spec_fields = [
        spec_field(source_id, "identity", 1000 + index) for index, source_id in enumerate(sorted(columns & {1, 2})) if draw(st.booleans())
    ]
    updates: list[Json] = [
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": version},
        {"action": "add-schema", "schema": schema, "last-column-id": max(columns, default=0)},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": spec_fields}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": "s3://b/t"},
        {"action": "set-properties", "updates": {"owner": "me"}},
    ]
    writer = Writer(draw, {"format-version": version, "snapshots": []})
    for _ in range(draw(st.integers(0, 2))):
        updates.extend(writer.append() if draw(st.booleans()) else writer.request())
    if rarely(draw, 4):
        del updates[draw(st.integers(0, len(updates) - 1))]
    if rarely(draw, 6):
        index = draw(st.integers(0, len(updates) - 1))
        updates.insert(draw(st.integers(0, len(updates))), updates.pop(index))
    return updates
