"""Views: creation, every update, reuse of versions, history, dialects."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import ViewMetadataBuilder, new_view_metadata
from catalog_format.iceberg.metadata.view_updates import VIEW_UPDATES
from catalog_format.ids import SeededIds
from tests.unit.iceberg.examples import ID, LATER, NAME, NOW, Json, schema

SCHEMA = schema(ID, NAME)
SPECIFIED = (
    "assign-uuid upgrade-format-version add-schema set-location set-properties remove-properties add-view-version set-current-view-version"
)


def sql(text: str, dialect: str = "spark") -> Json:
    return {"type": "sql", "sql": text, "dialect": dialect}


def version(*representations: Json, version_id: int = 1, schema_id: int = 0, at: int = NOW, **members: Any) -> Json:
    return {
        "version-id": version_id,
        "schema-id": schema_id,
        "timestamp-ms": at,
        "summary": {"engine-name": "spark"},
        "default-namespace": ["a"],
        "representations": list(representations),
    } | members


def view(**members: Any) -> Json:
    return new_view_metadata(SCHEMA, version(sql("select 1")), "s3://b/v", {}, SeededIds(1)) | members


def add_version(value: Json) -> Json:
    return {"action": "add-view-version", "view-version": value}


def set_version(version_id: int) -> Json:
    return {"action": "set-current-view-version", "view-version-id": version_id}


def replace(text: str, at: int = LATER, **members: Any) -> list[Json]:
    return [add_version(version(sql(text), version_id=2, at=at, **members)), set_version(-1)]


def apply(base: Json, *updates: Json, now: int = LATER) -> Json:
    return ViewMetadataBuilder(base).apply_all(updates).build(now)


def many_versions(count: int, **properties: str) -> Json:
    result = view()
    result = apply(result, {"action": "set-properties", "updates": properties}) if properties else result
    for number in range(2, count + 1):
        result = apply(result, *replace(f"select {number}", NOW + number))
    return result


def ids(metadata: Json, member: str = "versions") -> list[int]:
    return [item["version-id"] for item in metadata[member]]


def test_every_specified_update_is_there() -> None:
    assert set(VIEW_UPDATES) == set(SPECIFIED.split())


def test_a_new_view_has_the_members_java_writes() -> None:
    request = version(sql("select 1"), version_id=9, schema_id=5, **{"default-catalog": None})
    metadata = new_view_metadata(SCHEMA | {"schema-id": 5}, request, "s3://b/v", {"k": "v"}, SeededIds(1))
    assert metadata.pop("view-uuid")
    assert metadata == {
        "format-version": 1,
        "location": "s3://b/v",
        "properties": {"k": "v"},
        "schemas": [SCHEMA],
        "current-version-id": 1,
        "versions": [version(sql("select 1"))],
        "version-log": [{"timestamp-ms": NOW, "version-id": 1}],
    }
    assert "properties" not in view()


@pytest.mark.parametrize(
    ("request_version", "message"),
    [
        (version(), "without specifying a query"),
        (version({"type": "plan"}), r"Found unsupported view representations: \[plan\]"),
        (version(sql("a"), sql("b", "SPARK")), "Cannot add multiple queries for dialect spark"),
        (version(sql("a"), summary=None), "summary"),
        (version(sql("a"), **{"default-namespace": "a"}), "default-namespace"),
        (version({"type": "sql", "sql": "a"}), "dialect"),
    ],
)
def test_new_views_that_are_refused(request_version: Json, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        new_view_metadata(SCHEMA, request_version, "s3://b/v", {}, SeededIds(1))


def test_replacing_adds_a_version_and_logs_it_with_its_own_time() -> None:
    result = apply(view(), *replace("select 2", at=NOW + 7))
    assert (result["current-version-id"], ids(result)) == (2, [1, 2])
    assert result["version-log"][-1] == {"timestamp-ms": NOW + 7, "version-id": 2}


def test_a_version_that_behaves_the_same_is_reused_whatever_its_id_and_time() -> None:
    base = apply(view(), *replace("select 2"))
    again = version(sql("select 1"), version_id=50, at=LATER + 5)
    builder = ViewMetadataBuilder(base).apply(add_version(again))
    assert not builder.has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot set last version id"):
        builder.apply(set_version(-1))
    back = apply(base, set_version(1), now=LATER + 9)
    assert back["version-log"][-1] == {"timestamp-ms": LATER + 9, "version-id": 1}


@pytest.mark.parametrize(
    "members",
    [
        {"summary": {}},
        {"default-namespace": ["b"]},
        {"default-catalog": "c"},
        {"representations": [sql("select 1"), sql("x", "trino")]},
    ],
)
def test_versions_that_differ_in_what_they_do_are_added(members: Json) -> None:
    assert ids(apply(view(), add_version(version(sql("select 1")) | members))) == [1, 2]


def test_a_version_may_use_the_schema_added_last() -> None:
    other = schema(ID)
    updates = [{"action": "add-schema", "schema": other}, add_version(version(sql("x"), schema_id=-1, version_id=2)), set_version(-1)]
    result = apply(view(), *updates)
    assert [item["schema-id"] for item in result["schemas"]] == [0, 1]
    assert result["versions"][-1]["schema-id"] == 1
    reused = [{"action": "add-schema", "schema": SCHEMA | {"schema-id": 8}}, add_version(version(sql("x"), schema_id=-1))]
    with pytest.raises(InvalidArgumentError, match="no schema has been added"):
        apply(view(), *reused)
    with pytest.raises(InvalidArgumentError, match="Cannot add version with unknown schema: 4"):
        apply(view(), add_version(version(sql("x"), schema_id=4)))


def test_a_current_version_must_exist_and_the_current_one_is_no_change() -> None:
    assert not ViewMetadataBuilder(view()).apply(set_version(1)).has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot set current version to unknown version: 4"):
        apply(view(), set_version(4))


def test_history_keeps_ten_versions_the_current_one_among_them() -> None:
    result = many_versions(12)
    assert ids(result) == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
    assert ids(result, "version-log") == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]


def test_the_size_of_the_history_is_a_property() -> None:
    result = many_versions(5, **{"version.history.num-entries": "2"})
    assert ids(result) == [5, 4]
    with pytest.raises(InvalidArgumentError, match="must be positive but was 0"):
        apply(view(), {"action": "set-properties", "updates": {"version.history.num-entries": "0"}})


def test_history_before_a_version_that_is_gone_goes_too() -> None:
    base = many_versions(3)
    base = apply(base, set_version(1), now=LATER)
    result = apply(base, {"action": "set-properties", "updates": {"version.history.num-entries": "2"}})
    assert ids(result) == [1, 3]
    assert ids(result, "version-log") == [3, 1]


def test_versions_added_by_one_commit_are_all_kept() -> None:
    base = apply(view(), {"action": "set-properties", "updates": {"version.history.num-entries": "1"}})
    updates = [add_version(version(sql(f"select {number}"), version_id=number)) for number in (2, 3)]
    assert ids(apply(base, *updates, set_version(-1))) == [3, 2]


def test_a_dialect_is_not_lost_unless_a_property_allows_it() -> None:
    replacement = [add_version(version(sql("x", "Trino"), version_id=2)), set_version(-1)]
    with pytest.raises(InvalidArgumentError) as lost:
        apply(view(), *replacement)
    assert str(lost.value) == (
        "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
        "Previous dialects: [spark]\nNew dialects: [trino]"
    )
    added = [add_version(version(sql("select 1"), sql("x", "trino"), version_id=2)), set_version(-1)]
    assert apply(view(), *added)["current-version-id"] == 2
    allowed = {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "TRUE"}}
    assert apply(view(), allowed, *replacement)["current-version-id"] == 2


def test_location_properties_and_uuid() -> None:
    result = apply(
        view(),
        {"action": "set-location", "location": "s3://b/w"},
        {"action": "set-properties", "updates": {"a": "1", "b": "2"}},
        {"action": "remove-properties", "removals": ["a", "z"]},
    )
    assert (result["location"], result["properties"]) == ("s3://b/w", {"b": "2"})
    assert "properties" not in apply(result, {"action": "remove-properties", "removals": ["b"]})
    base = view()
    assert not ViewMetadataBuilder(base).apply({"action": "assign-uuid", "uuid": base["view-uuid"]}).has_changes
    with pytest.raises(InvalidArgumentError, match="Cannot reassign uuid"):
        apply(base, {"action": "assign-uuid", "uuid": "other"})


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "upgrade-format-version", "format-version": 0}, "Cannot downgrade v1 view to v0"),
        ({"action": "upgrade-format-version", "format-version": 2}, "Unsupported format version: 2"),
        ({"action": "remove-snapshots", "snapshot-ids": []}, "Cannot apply update to a view: remove-snapshots"),
        ({"action": "add-view-version"}, "view-version"),
        ({"action": "set-current-view-version"}, "view-version-id"),
        ({"action": "add-schema", "schema": 1}, "schema"),
        ({}, "Missing field: action"),
    ],
)
def test_updates_of_views_that_are_refused(update: Json, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(view(), update)


def test_a_no_op_gives_the_base_and_a_change_leaves_it_alone() -> None:
    base = view(**{"new-in-v9": 1})
    before = copy.deepcopy(base)
    assert ViewMetadataBuilder(base).build(LATER) is base
    assert not ViewMetadataBuilder(base).apply({"action": "upgrade-format-version", "format-version": 1}).has_changes
    result = apply(base, *replace("select 2"), {"action": "set-properties", "updates": {"a": "b"}})
    assert base == before
    assert result["new-in-v9"] == 1


def test_a_view_can_be_built_from_updates_alone() -> None:
    updates = [
        {"action": "assign-uuid", "uuid": "u"},
        {"action": "set-location", "location": "s3://b/v"},
        {"action": "add-schema", "schema": SCHEMA},
        add_version(version(sql("select 1"), schema_id=-1)),
        set_version(-1),
    ]
    metadata = ViewMetadataBuilder(None, ids=SeededIds(1)).apply_all(updates).build(LATER)
    assert (metadata["view-uuid"], metadata["current-version-id"]) == ("u", 1)
    for missing, message in ((1, "Invalid location"), (3, "no current version id has been set")):
        with pytest.raises(InvalidArgumentError, match=message):
            ViewMetadataBuilder(None, ids=SeededIds(1)).apply_all(updates[:missing] + updates[missing + 1 :]).build(LATER)
    with pytest.raises(InvalidArgumentError, match="no versions were added"):
        ViewMetadataBuilder(None, ids=SeededIds(1)).apply_all(updates[:3]).build(LATER)


@pytest.mark.parametrize("broken", [{}, view() | {"current-version-id": 9}, view() | {"versions": {}}])
def test_a_base_that_is_no_view_metadata_is_refused(broken: Json) -> None:
    with pytest.raises(InvalidArgumentError):
        ViewMetadataBuilder(broken)
