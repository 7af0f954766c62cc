"""Updates of schemas, partition specs and sort orders: ids, reuse, "last added", what must fit together."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import TableMetadataBuilder
from tests.unit.iceberg.examples import DAY, ID, NAME, Json, apply, field, order, schema, spec, table

WIDER = schema(ID, NAME, DAY, field(4, "extra", "int"))


def add_schema(value: Json) -> Json:
    return {"action": "add-schema", "schema": value}


def set_schema(schema_id: int) -> Json:
    return {"action": "set-current-schema", "schema-id": schema_id}


def add_spec(value: Json) -> Json:
    return {"action": "add-spec", "spec": value}


def set_spec(spec_id: int) -> Json:
    return {"action": "set-default-spec", "spec-id": spec_id}


def add_order(value: Json) -> Json:
    return {"action": "add-sort-order", "sort-order": value}


def set_order(order_id: int) -> Json:
    return {"action": "set-default-sort-order", "sort-order-id": order_id}


def test_a_new_schema_gets_the_next_id_and_raises_the_last_column_id() -> None:
    result = apply(table(), add_schema(WIDER | {"schema-id": 77}), set_schema(-1))
    assert [item["schema-id"] for item in result["schemas"]] == [0, 1]
    assert result["current-schema-id"] == 1
    assert result["last-column-id"] == 4


def test_the_last_column_id_never_falls() -> None:
    assert apply(table(), add_schema(schema(ID)))["last-column-id"] == 3


def test_an_equal_schema_is_reused_whatever_its_id_and_then_none_was_added() -> None:
    builder = TableMetadataBuilder(table()).apply(add_schema(schema(**{"schema-id": 9})))
    assert not builder.has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot set last added schema: no schema has been added"):
        builder.apply(set_schema(-1))


def test_a_schema_that_was_added_here_twice_is_still_the_last_added() -> None:
    result = apply(table(), add_schema(WIDER), add_schema(WIDER), set_schema(-1))
    assert result["current-schema-id"] == 1
    assert len(result["schemas"]) == 2


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (schema(ID, NAME | {"doc": "text"}, DAY), False),
        (schema(ID, NAME | {"required": True}, DAY), False),
        (schema(NAME, ID, DAY), False),
        (schema(ID, NAME | {"write-default": "x"}, DAY), False),
        (schema(**{"identifier-field-ids": [1]}), False),
        (schema(ID, NAME | {"doc": None}, DAY), True),
        (schema(**{"identifier-field-ids": []}), True),
    ],
)
def test_schemas_are_equal_in_all_but_their_id(changed: Json, same: bool) -> None:
    assert TableMetadataBuilder(table()).apply(add_schema(changed)).has_changes is not same


def test_types_are_equal_by_meaning_not_by_spelling() -> None:
    base = apply(table(3), add_schema(schema(ID, DAY, field(4, "d", "decimal(9,2)"), field(5, "g", "geometry"))))
    again = schema(ID, DAY, field(4, "d", "decimal( 9, 2 )"), field(5, "g", "geometry(ogc:crs84)"))
    assert not TableMetadataBuilder(base).apply(add_schema(again)).has_changes


def test_unknown_schemas_cannot_be_current_and_the_current_one_cannot_go() -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot set current schema to unknown schema: 5"):
        apply(table(), set_schema(5))
    with pytest.raises(InvalidArgumentError, match="Cannot remove the current schema"):
        apply(table(), {"action": "remove-schemas", "schema-ids": [0]})
    two = apply(table(), add_schema(WIDER))
    removed = apply(two, {"action": "remove-schemas", "schema-ids": [1, 8]})
    assert [item["schema-id"] for item in removed["schemas"]] == [0]
    assert not TableMetadataBuilder(two).apply({"action": "remove-schemas", "schema-ids": []}).has_changes


def test_a_schema_is_checked_against_the_format_version() -> None:
    with pytest.raises(InvalidArgumentError, match="not supported until v3"):
        apply(table(), add_schema(schema(ID, field(4, "v", "variant"))))
    assert apply(table(3), add_schema(schema(ID, DAY, field(4, "v", "variant"))))["last-column-id"] == 4


def test_null_members_of_fields_are_not_stored_since_java_cannot_read_them() -> None:
    inner = field(5, "inner", "int", **{"write-default": None})
    nested: list[Any] = [
        {"type": "struct", "fields": [inner]},
        {"type": "list", "element-id": 6, "element-required": True, "element": {"type": "struct", "fields": [inner]}},
        {"type": "map", "key-id": 6, "key": "int", "value-id": 7, "value-required": True, "value": {"type": "struct", "fields": [inner]}},
    ]
    for field_type in nested:
        result = apply(table(), add_schema(schema(ID, DAY, field(4, "s", field_type, doc=None, **{"initial-default": None}))))
        assert b"null" not in orjson.dumps(result["schemas"])


def test_a_void_field_outlives_its_column() -> None:
    base = apply(table(1), add_spec({"fields": [{"source-id": 3, "transform": "void", "name": "at_day"}]}), set_spec(-1))
    dropped = apply(base, add_schema(schema(ID, NAME)), set_schema(-1))
    assert dropped["current-schema-id"] == 1


def test_a_column_of_the_default_spec_cannot_be_dropped() -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot find source column for partition field: 1000: at_day: day"):
        apply(table(), add_schema(schema(ID, NAME)), set_schema(-1))


def test_a_column_of_the_default_sort_order_cannot_be_dropped() -> None:
    base = apply(table(), add_order(order((2, "identity"))), set_order(-1))
    with pytest.raises(InvalidArgumentError, match="Cannot find source column for sort field"):
        apply(base, add_schema(schema(ID, DAY)), set_schema(-1))


def test_a_new_spec_gets_the_next_id_and_keeps_its_field_ids() -> None:
    result = apply(table(), add_spec(spec((1, "bucket[8]", "b"), spec_id=40, first_id=1001)), set_spec(-1))
    assert [item["spec-id"] for item in result["partition-specs"]] == [0, 1]
    assert (result["default-spec-id"], result["last-partition-id"]) == (1, 1001)


def test_a_spec_with_the_same_fields_is_reused_whatever_its_field_ids() -> None:
    builder = TableMetadataBuilder(table()).apply(add_spec(spec((3, "DAY", "at_day"), first_id=1500)))
    assert not builder.has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot set last added spec: no spec has been added"):
        builder.apply(set_spec(-1))


def test_last_added_follows_java_when_a_known_spec_comes_after_a_new_one() -> None:
    known = add_spec(spec((3, "day", "at_day")))
    new = add_spec(spec((1, "bucket[8]", "b"), first_id=1001))
    assert apply(table(), new, known, set_spec(-1))["default-spec-id"] == 0
    with pytest.raises(InvalidArgumentError, match="no spec has been added"):
        apply(table(), new, known, known, set_spec(-1))


def test_fields_without_ids_reuse_an_equal_fields_id_or_get_the_next() -> None:
    fields = [
        {"source-id": 1, "transform": "bucket[8]", "name": "b"},
        {"source-id": 3, "transform": "day", "name": "another"},
        {"source-id": 2, "transform": "identity", "name": "name"},
    ]
    result = apply(table(), add_spec({"fields": fields}), set_spec(-1))
    assert [item["field-id"] for item in result["partition-specs"][1]["fields"]] == [1001, 1000, 1002]
    with pytest.raises(InvalidArgumentError, match="1 missing of 2 fields"):
        apply(table(), add_spec({"fields": [fields[0], fields[1] | {"field-id": 1000}]}))


def test_v1_needs_sequential_field_ids() -> None:
    with pytest.raises(InvalidArgumentError, match="sequential IDs"):
        apply(table(1), add_spec(spec((1, "bucket[8]", "b"), first_id=1001)))
    fields = [{"source-id": 3, "transform": "void", "name": "at_day"}, {"source-id": 1, "transform": "bucket[8]", "name": "b"}]
    result = apply(table(1), add_spec({"fields": fields}), set_spec(-1))
    assert [item["field-id"] for item in result["partition-spec"]] == [1000, 1001]


def test_the_default_spec_must_exist_in_the_end() -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot find default partition spec: 4"):
        apply(table(), set_spec(4))
    assert apply(table(), set_spec(1), add_spec(spec((1, "bucket[8]", "b"))))["default-spec-id"] == 1


def test_specs_are_removed_but_never_the_default_one() -> None:
    two = apply(table(), add_spec(spec((1, "bucket[8]", "b"), first_id=1001)))
    assert len(apply(two, {"action": "remove-partition-specs", "spec-ids": [1]})["partition-specs"]) == 1
    with pytest.raises(InvalidArgumentError, match="Cannot remove the default partition spec"):
        apply(two, {"action": "remove-partition-specs", "spec-ids": [0]})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([(5, "identity", "x")], "Cannot find source column"),
        ([(4, "identity", "x")], "Cannot partition by non-primitive source field"),
        ([(6, "identity", "x")], "Invalid partition field parent: list"),
        ([(1, "hour", "x")], "Invalid source type long for transform: hour"),
        ([(1, "truncate[0]", "x")], "Invalid truncate width"),
    ],
)
def test_specs_that_do_not_fit_the_schema(fields: list[tuple[int, str, str]], message: str) -> None:
    items = field(4, "items", {"type": "list", "element-id": 6, "element-required": True, "element": "int"})
    base = apply(table(), add_schema(schema(ID, NAME, DAY, items)), set_schema(-1))
    with pytest.raises(InvalidArgumentError, match=message):
        apply(base, add_spec(spec(*fields)))


def test_transforms_this_code_does_not_know_are_kept() -> None:
    result = apply(table(), add_spec(spec((1, "zOrder[x]", "z"), first_id=1001)))
    assert result["partition-specs"][1]["fields"][0]["transform"] == "zOrder[x]"


def test_sort_orders_get_ids_from_1_and_equal_ones_are_reused() -> None:
    first = apply(table(), add_order(order((1, "identity"), order_id=9)), set_order(-1))
    assert (first["sort-orders"][1]["order-id"], first["default-sort-order-id"]) == (1, 1)
    assert not TableMetadataBuilder(first).apply(add_order(order((1, "identity"), order_id=3))).has_changes
    second = apply(first, add_order(order((1, "bucket[4]"))), set_order(-1))
    assert second["default-sort-order-id"] == 2
    assert apply(second, set_order(0))["default-sort-order-id"] == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (order((1, "identity"), order_id=0), "Sort order ID 0 is reserved for unsorted order"),
        ({"order-id": 4, "fields": []}, "Unsorted order ID must be 0"),
        (order((8, "identity")), "Cannot find source column for sort field"),
        ({"fields": [{"source-id": 1, "transform": "identity", "direction": "up", "null-order": "nulls-first"}]}, "sort direction"),
        ({"fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "x"}]}, "Unexpected null order"),
    ],
)
def test_sort_orders_that_are_refused(value: Json, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(table(), add_order(value))


def test_the_unsorted_order_is_always_there_as_0() -> None:
    assert not TableMetadataBuilder(table()).apply(add_order(order())).has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot find default sort order: 3"):
        apply(table(), set_order(3))
    with pytest.raises(InvalidArgumentError, match="Cannot set last added sort order"):
        apply(table(), set_order(-1))


@pytest.mark.parametrize(
    "update",
    [
        {"action": "add-schema"},
        {"action": "add-schema", "schema": []},
        {"action": "add-schema", "schema": {"type": "list"}},
        {"action": "add-schema", "schema": schema(ID | {"id": "1"})},
        {"action": "add-schema", "schema": schema({"id": 1, "name": "a", "type": "int"})},
        {"action": "set-current-schema"},
        {"action": "set-current-schema", "schema-id": True},
        {"action": "set-current-schema", "schema-id": 1 << 40},
        {"action": "remove-schemas", "schema-ids": 3},
        {"action": "remove-schemas", "schema-ids": ["3"]},
        {"action": "add-spec", "spec": {"spec-id": 1}},
        {"action": "add-spec", "spec": {"fields": [{"name": "x"}]}},
        {"action": "set-default-spec", "spec-id": None},
        {"action": "remove-partition-specs"},
        {"action": "add-sort-order", "sort-order": {"order-id": 1}},
        {"action": "set-default-sort-order", "sort-order-id": 1.5},
    ],
)
def test_malformed_updates_are_the_clients_mistake(update: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        apply(table(), update)


@pytest.mark.parametrize(
    ("field_type", "default", "accepted"),
    [
        ("int", 3, True),
        ("int", 1 << 31, False),
        ("int", "3", False),
        ("int", True, False),
        ("long", 1 << 31, True),
        ("boolean", True, True),
        ("boolean", 1, False),
        ("double", 1.5, True),
        ("double", 1, False),
        ("string", "a\nb", True),
        ("decimal(4, 1)", "1.0", True),
        ("decimal(4, 1)", "1.00", False),
        ("decimal(4, 1)", "x", False),
        ("decimal(4, 1)", "NaN", False),
        ("date", "2020-02-29", True),
        ("date", 18_000, False),
        ("timestamp", "2020-01-01T10:00:00.000001", True),
        ("timestamptz", "2020-01-01T10:00:00+00:00", True),
        ("timestamptz", "2020-01-01T10:00:00+01:00", False),
        ("timestamptz", "2020-01-01T10:00:00", False),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", True),
        ("uuid", "f79c3e09", False),
        ("fixed[2]", "00fF", True),
        ("fixed[2]", "00", False),
        ("binary", "0a1b", True),
        ("binary", "0a1", False),
        ("unknown", 1, False),
        ({"type": "struct", "fields": []}, {}, False),
    ],
)
def test_defaults_must_suit_the_type(field_type: Any, default: Any, accepted: bool) -> None:
    update = add_schema(schema(ID, DAY, field(4, "d", field_type, **{"write-default": default})))
    if accepted:
        assert apply(table(3), update)["last-column-id"] == 4
    else:
        with pytest.raises(InvalidArgumentError, match="default"):
            apply(table(3), update)


def test_identifier_fields_must_be_reachable_through_required_structs() -> None:
    inner = {"type": "struct", "fields": [field(5, "key", "int", True)]}
    for required in (True, False):
        value = schema(ID, DAY, field(4, "s", inner, required), **{"identifier-field-ids": [5]})
        if required:
            assert apply(table(), add_schema(value))["last-column-id"] == 5
        else:
            with pytest.raises(InvalidArgumentError, match="must not be nested in an optional field s"):
                apply(table(), add_schema(value))
    listed = {"type": "list", "element-id": 5, "element-required": True, "element": "int"}
    with pytest.raises(InvalidArgumentError, match="must not be nested in s"):
        apply(table(), add_schema(schema(ID, DAY, field(4, "s", listed, True), **{"identifier-field-ids": [5]})))
