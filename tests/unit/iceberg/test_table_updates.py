"""Updates of a table as a whole, encryption keys, and what is no update of a table."""

from __future__ import annotations

from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import TableMetadataBuilder
from catalog_format.iceberg.metadata.table_updates import TABLE_UPDATES
from tests.unit.iceberg.examples import Json, apply, table, table_with_snapshots

# REST specification, schema `TableUpdate`.
SPECIFIED = (
    "assign-uuid upgrade-format-version add-schema set-current-schema add-spec set-default-spec add-sort-order "
    "set-default-sort-order add-snapshot set-snapshot-ref remove-snapshots remove-snapshot-ref set-location set-properties "
    "remove-properties set-statistics remove-statistics set-partition-statistics remove-partition-statistics "
    "remove-partition-specs remove-schemas add-encryption-key remove-encryption-key"
)


def key(key_id: str, **members: Any) -> Json:
    return {"action": "add-encryption-key", "encryption-key": {"key-id": key_id, "encrypted-key-metadata": "aGk="} | members}


def test_every_specified_update_is_there() -> None:
    assert set(TABLE_UPDATES) == set(SPECIFIED.split())


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "fly"}, "Unknown metadata update: fly"),
        ({"action": "set-current-view-version", "view-version-id": 1}, "Cannot apply update to a table: set-current-view-version"),
        ({"updates": {}}, "Missing field: action"),
        ({"action": 7}, "Cannot parse to a string value: action: 7"),
        ("set-location", "Cannot parse metadata update from non-object value"),
    ],
)
def test_what_is_no_update_of_a_table(update: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(table(), update)


def test_the_case_of_an_action_does_not_matter() -> None:
    assert apply(table(), {"action": "Set-Location", "location": "s3://b/x"})["location"] == "s3://b/x"


def test_a_uuid_is_assigned_and_the_same_one_is_no_change() -> None:
    base = table()
    assert apply(base, {"action": "assign-uuid", "uuid": "u2"})["table-uuid"] == "u2"
    assert not TableMetadataBuilder(base).apply({"action": "assign-uuid", "uuid": base["table-uuid"]}).has_changes


@pytest.mark.parametrize(("version", "message"), [(4, "unsupported format version: v4"), (1, "Cannot downgrade v2 table to v1")])
def test_format_versions_that_are_refused(version: int, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        apply(table(), {"action": "upgrade-format-version", "format-version": version})


def test_upgrades_write_what_the_version_needs_and_drop_what_it_has_no_place_for() -> None:
    v1 = table_with_snapshots(1, 1)
    v2 = apply(v1, {"action": "upgrade-format-version", "format-version": 2})
    assert v2["last-sequence-number"] == 0
    assert not {"schema", "partition-spec", "next-row-id"} & v2.keys()
    v3 = apply(table(), {"action": "upgrade-format-version", "format-version": 3})
    assert (v3["next-row-id"], v3["current-snapshot-id"]) == (0, None)
    assert not TableMetadataBuilder(v3).apply({"action": "upgrade-format-version", "format-version": 3}).has_changes


def test_v2_needs_a_uuid() -> None:
    v1 = {name: value for name, value in table(1).items() if name != "table-uuid"}
    assert "table-uuid" not in apply(v1, {"action": "set-location", "location": "s3://b/y"})
    with pytest.raises(InvalidArgumentError, match="UUID is required in format v2"):
        apply(v1, {"action": "upgrade-format-version", "format-version": 2})


def test_locations_lose_trailing_slashes_and_are_never_empty() -> None:
    assert apply(table(), {"action": "set-location", "location": "s3://b/x//"})["location"] == "s3://b/x"
    assert not TableMetadataBuilder(table()).apply({"action": "set-location", "location": "s3://b/t"}).has_changes
    with pytest.raises(InvalidArgumentError, match="path must not be null or empty"):
        apply(table(), {"action": "set-location", "location": ""})


@pytest.mark.parametrize("member", ["updates", "updated"])
def test_properties_are_set(member: str) -> None:
    result = apply(table(), {"action": "set-properties", member: {"owner": "you", "k": "v"}})
    assert result["properties"] == {"write.parquet.compression-codec": "zstd", "owner": "you", "k": "v"}


@pytest.mark.parametrize("member", ["removals", "removed"])
def test_properties_are_removed_known_or_not(member: str) -> None:
    result = apply(table(), {"action": "remove-properties", member: ["owner", "never-set"]})
    assert result["properties"] == {"write.parquet.compression-codec": "zstd"}


def test_no_properties_are_no_change_but_the_same_value_is_one_as_in_java() -> None:
    builder = TableMetadataBuilder(table())
    builder.apply({"action": "set-properties", "updates": {}}).apply({"action": "remove-properties", "removals": []})
    assert not builder.has_changes
    assert builder.apply({"action": "set-properties", "updates": {"owner": "me"}}).has_changes


@pytest.mark.parametrize(
    "update",
    [
        {"action": "set-properties"},
        {"action": "set-properties", "updates": {"a": 1}},
        {"action": "set-properties", "updates": ["a"]},
        {"action": "remove-properties", "removals": {"a": "b"}},
        {"action": "remove-properties", "removals": [1]},
        {"action": "set-location"},
        {"action": "assign-uuid", "uuid": None},
        {"action": "upgrade-format-version", "format-version": "2"},
        {"action": "remove-encryption-key"},
        {"action": "add-encryption-key", "encryption-key": {"key-id": "a"}},
        key("a", **{"encrypted-key-metadata": "not base64!"}),
        key("a", properties={"x": 1}),
    ],
)
def test_malformed_updates_are_the_clients_mistake(update: Json) -> None:
    with pytest.raises(InvalidArgumentError):
        apply(table(3), update)


def test_encryption_keys_are_added_once_and_removed() -> None:
    one = apply(table(3), key("a", **{"encrypted-by-id": None, "properties": {"p": "q"}}), key("b"))
    assert [item["key-id"] for item in one["encryption-keys"]] == ["a", "b"]
    assert "encrypted-by-id" not in one["encryption-keys"][0]
    assert not TableMetadataBuilder(one).apply(key("a")).has_changes
    none = apply(one, {"action": "remove-encryption-key", "key-id": "a"}, {"action": "remove-encryption-key", "key-id": "b"})
    assert "encryption-keys" not in none
    assert not TableMetadataBuilder(none).apply({"action": "remove-encryption-key", "key-id": "a"}).has_changes
