"""Tables: creating, loading, dropping, renaming, registering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog_format.catalog import StoredCatalog
from catalog_format.keys import ObjectType, type_range
from catalog_format.reader import Reader
from tests.server.harness import (
    Client,
    done,
    make_namespace,
    make_table,
    make_view,
    metadata_file,
    names_in,
    new_table,
    path,
    refused,
    setting,
)
from tests.support.catalogs import SCHEMA


def file_at(location: str) -> Path:
    assert location.startswith("file://")
    return Path(location.removeprefix("file://"))


async def test_create_answers_the_table_as_it_can_be_loaded(ns: Client) -> None:
    made = await make_table(ns, ["ns"], "t", properties={"owner": "me"})
    assert set(made) == {"metadata-location", "metadata", "config"}
    metadata = made["metadata"]
    assert metadata["format-version"] == 2
    assert metadata["properties"]["owner"] == "me"
    assert metadata["current-schema-id"] == 0
    assert metadata["current-snapshot-id"] in {None, -1}
    assert metadata_file(made).startswith(metadata["location"] + "/metadata/00000-")
    assert done(await ns.get(path("ns", table="t"))) == made


async def test_create_takes_location_spec_and_order(ns: Client, tmp_path: Path) -> None:
    made = await make_table(
        ns,
        ["ns"],
        "t",
        location=f"file://{tmp_path}/elsewhere",
        **{
            "partition-spec": {"spec-id": 0, "fields": [{"source-id": 1, "transform": "bucket[4]", "name": "b"}]},
            "write-order": {
                "order-id": 1,
                "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
            },
            "stage-create": False,
        },
    )
    metadata = made["metadata"]
    assert metadata["location"] == f"file://{tmp_path}/elsewhere"
    assert file_at(metadata_file(made)).read_bytes() == orjson.dumps(metadata)
    assert metadata["partition-specs"][0]["fields"][0]["transform"] == "bucket[4]"
    assert metadata["sort-orders"][-1]["fields"][0]["source-id"] == 1


async def test_the_answer_is_the_file(folder_server: Client) -> None:
    made = await make_table(folder_server, ["ns"], "t")
    assert orjson.loads(file_at(metadata_file(made)).read_bytes()) == made["metadata"]


async def test_a_taken_name_is_refused(ns: Client) -> None:
    await make_table(ns, ["ns"], "t1")
    await make_view(ns, ["ns"], "v1")
    create = f"{path('ns')}/tables"
    for staged in ({}, {"stage-create": True}):
        refused(await ns.post(create, json=new_table("t1", **staged)), 409, "AlreadyExistsException", "Table already exists: ns.t1")
    refused(await ns.post(create, json=new_table("v1")), 409, "AlreadyExistsException", "View with same name already exists: ns.v1")


@pytest.mark.parametrize("staged", [{}, {"stage-create": True}])
async def test_a_table_needs_its_namespace(server: Client, staged: dict[str, Any]) -> None:
    answer = await server.post(f"{path('no')}/tables", json=new_table("t", **staged))
    refused(answer, 404, "NoSuchNamespaceException", "Namespace does not exist: no")


@pytest.mark.parametrize("body", [None, setting(a="b")])
async def test_a_missing_table_is_named(ns: Client, body: dict[str, Any] | None) -> None:
    where = path("ns", table="no")
    message = "Table does not exist: ns.no"
    refused(await ns.get(where), 404, "NoSuchTableException", message)
    refused(await ns.delete(where), 404, "NoSuchTableException", message)
    refused(await ns.post(where, json=setting(a="b")), 404, "NoSuchTableException", message)
    refused(await ns.get(path("no", table="no")), 404, "NoSuchTableException", "Table does not exist: no.no")


async def test_drop_forgets_the_table_and_keeps_its_files(folder_server: Client) -> None:
    made = await make_table(folder_server, ["ns"], "t")
    done(await folder_server.delete(path("ns", table="t")), 204)
    assert (await folder_server.head(path("ns", table="t"))).status_code == 404
    assert file_at(metadata_file(made)).exists()
    again = await make_table(folder_server, ["ns"], "t")
    assert again["metadata"]["table-uuid"] != made["metadata"]["table-uuid"]


async def purge_wishes(client: Client) -> int:
    """How many the catalog has recorded."""
    catalog = await next(iter(client.app.roots)).catalog()
    assert isinstance(catalog, StoredCatalog)
    reader = Reader(await catalog.versions.confirm(), catalog.nodes, catalog.storage)
    return len([key async for key in reader.scan(*type_range(ObjectType.PURGE))])


@pytest.mark.parametrize(("purge", "wishes"), [("true", 1), ("True", 1), ("false", 0)])
async def test_purge_is_recorded_and_deletes_nothing_at_once(folder_server: Client, purge: str, wishes: int) -> None:
    made = await make_table(folder_server, ["ns"], "t")
    done(await folder_server.delete(path("ns", table="t"), params={"purgeRequested": purge}), 204)
    assert await names_in(folder_server, "ns") == []
    assert file_at(metadata_file(made)).exists()
    assert await purge_wishes(folder_server) == wishes


@pytest.mark.parametrize("purge", ["yes", "1", " "])
async def test_an_unclear_purge_is_refused_and_nothing_dropped(ns: Client, purge: str) -> None:
    await make_table(ns, ["ns"], "t")
    refused(await ns.delete(path("ns", table="t"), params={"purgeRequested": purge}), 400, "BadRequestException", "purgeRequested")
    assert await names_in(ns, "ns") == ["t"]


async def rename(client: Client, source: list[str], destination: list[str], what: str = "tables") -> Any:
    named = {
        "source": {"namespace": source[:-1], "name": source[-1]},
        "destination": {"namespace": destination[:-1], "name": destination[-1]},
    }
    return await client.post(f"/v1/{what}/rename", json=named)


async def test_rename_moves_a_table(ns: Client) -> None:
    made = await make_table(ns, ["ns"], "t")
    await make_namespace(ns, "other")
    done(await rename(ns, ["ns", "t"], ["other", "u"]), 204)
    assert done(await ns.get(path("other", table="u"))) == made
    assert (await ns.head(path("ns", table="t"))).status_code == 404


async def test_rename_explains_why_it_cannot(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await make_table(ns, ["ns"], "taken")
    await make_view(ns, ["ns"], "v")
    refused(await rename(ns, ["ns", "no"], ["ns", "u"]), 404, "NoSuchTableException", "Table does not exist: ns.no")
    refused(await rename(ns, ["ns", "t"], ["no", "u"]), 404, "NoSuchNamespaceException", "Namespace does not exist: no")
    refused(await rename(ns, ["ns", "t"], ["ns", "taken"]), 409, "AlreadyExistsException", "ns.taken", "Table already exists")
    refused(await rename(ns, ["ns", "t"], ["ns", "v"]), 409, "AlreadyExistsException", "ns.v", "already exists")
    assert sorted(await names_in(ns, "ns")) == ["t", "taken"]


async def test_rename_to_a_views_name_says_what_clients_expect(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await make_view(ns, ["ns"], "v")
    refused(await rename(ns, ["ns", "t"], ["ns", "v"]), 409, "AlreadyExistsException", "Cannot rename ns.t to ns.v. View already exists")


@pytest.mark.parametrize("what", ["tables", "views"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "source"),
        ({"source": {}, "destination": {}}, "source.namespace"),
        ({"source": {"namespace": "ns", "name": "t"}}, "source.namespace"),
        ({"source": {"namespace": [], "name": "t"}}, "source.namespace"),
        ({"source": {"namespace": ["ns", 1], "name": "t"}}, "source.namespace[1]"),
        ({"source": {"namespace": ["ns"]}}, "source.name"),
        ({"source": {"namespace": ["ns"], "name": "t"}}, "destination"),
        ({"source": {"namespace": ["ns"], "name": "t"}, "destination": {"namespace": ["ns"], "name": None}}, "destination.name"),
    ],
)
async def test_a_malformed_rename_is_named(ns: Client, what: str, body: dict[str, Any], field: str) -> None:
    refused(await ns.post(f"/v1/{what}/rename", json=body), 400, "BadRequestException", field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"),
        ({"name": 5}, "name"),
        ({"schema": None}, "schema"),
        ({"schema": []}, "schema"),
        ({"schema": "struct"}, "schema"),
        ({"partition-spec": []}, "partition-spec"),
        ({"write-order": 1}, "write-order"),
        ({"location": 7}, "location"),
        ({"properties": []}, "properties"),
        ({"properties": {"a": 1}}, "properties.a"),
        ({"stage-create": "true"}, "stage-create"),
        ({"stage-create": 1}, "stage-create"),
    ],
)
async def test_a_wrong_type_in_a_create_is_named(ns: Client, change: dict[str, Any], field: str) -> None:
    refused(await ns.post(f"{path('ns')}/tables", json={**new_table("t"), **change}), 400, "BadRequestException", field)
    assert await names_in(ns, "ns") == []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "struct"},
        {"type": "list"},
        {"type": "struct", "fields": "x"},
        {"type": "struct", "fields": [None]},
        {"type": "struct", "fields": [{"id": 1}]},
        {"type": "struct", "fields": [{"id": "1", "name": "a", "type": "long", "required": True}]},
        {"type": "struct", "fields": [{"id": 1, "name": "a", "type": "longish", "required": True}]},
        {"type": "struct", "fields": [{"id": 1, "name": "a", "type": {"type": "map"}, "required": True}]},
        {"type": "struct", "fields": [{"id": 1.5, "name": "a", "type": "long", "required": True}]},
        {"type": "struct", "fields": [{"id": 2**70, "name": "a", "type": "long", "required": True}]},
        {"type": "struct", "fields": [], "identifier-field-ids": [9]},
    ],
)
async def test_a_schema_that_makes_no_sense_is_refused(ns: Client, schema: dict[str, Any]) -> None:
    refused(await ns.post(f"{path('ns')}/tables", json=new_table("t") | {"schema": schema}), 400, "BadRequestException")
    assert await names_in(ns, "ns") == []


async def test_register_takes_a_metadata_file_as_it_is(folder_server: Client) -> None:
    client = folder_server
    made = await make_table(client, ["ns"], "t", properties={"kept": "yes"})
    done(await client.delete(path("ns", table="t")), 204)
    body = {"name": "again", "metadata-location": metadata_file(made)}
    answer = done(await client.post(f"{path('ns')}/register", json=body))
    assert answer["metadata"] == made["metadata"]
    assert done(await client.get(path("ns", table="again"))) == answer
    refused(await client.post(f"{path('ns')}/register", json=body), 409, "AlreadyExistsException", "Table already exists: ns.again")


async def test_register_can_overwrite_when_told(folder_server: Client, tmp_path: Path) -> None:
    client = folder_server
    made = await make_table(client, ["ns"], "t")
    other = tmp_path / "other.metadata.json"
    other.write_bytes(orjson.dumps({**made["metadata"], "properties": {"from": "file"}}))
    body = {"name": "t", "metadata-location": f"file://{other}", "overwrite": True}
    assert done(await client.post(f"{path('ns')}/register", json=body))["metadata"]["properties"] == {"from": "file"}


async def test_registering_a_table_without_a_uuid_gives_it_one(folder_server: Client, tmp_path: Path) -> None:
    client = folder_server
    made = (await make_table(client, ["ns"], "t", properties={"format-version": "1"}))["metadata"]
    old = tmp_path / "old.metadata.json"
    old.write_bytes(orjson.dumps({key: value for key, value in made.items() if key != "table-uuid"}))
    body = {"name": "old", "metadata-location": f"file://{old}"}
    answer = done(await client.post(f"{path('ns')}/register", json=body))
    uuid = answer["metadata"]["table-uuid"]
    assert len(uuid) == 36
    assert uuid != made["table-uuid"]
    assert answer["metadata-location"] != f"file://{old}"
    assert {**answer["metadata"], "table-uuid": made["table-uuid"]} == made
    after = done(await client.post(path("ns", table="old"), json=setting([{"type": "assert-table-uuid", "uuid": uuid}], a="b")))
    assert after["metadata"]["table-uuid"] == uuid


async def test_register_refuses_metadata_that_java_could_not_read(folder_server: Client, tmp_path: Path) -> None:
    client = folder_server
    made = (await make_table(client, ["ns"], "t"))["metadata"]
    file = tmp_path / "bad.metadata.json"
    file.write_bytes(orjson.dumps(made | {"snapshots": [{"snapshot-id": 1}]}))
    answer = await client.post(f"{path('ns')}/register", json={"name": "bad", "metadata-location": f"file://{file}"})
    refused(answer, 400, "BadRequestException", "timestamp-ms")


async def test_register_explains_a_file_that_is_not_there(folder_server: Client, tmp_path: Path) -> None:
    body = {"name": "t", "metadata-location": f"file://{tmp_path}/no/v1.metadata.json"}
    answer = await folder_server.post(f"{path('ns')}/register", json=body)
    refused(answer, 404, "NotFoundException", f"Failed to open input stream for file: file://{tmp_path}/no/v1.metadata.json")


@pytest.mark.parametrize(
    "location", ["", "x", "/etc/passwd", "http://127.0.0.1/a.metadata.json", "s4://b/a.metadata.json", "file:///../a.metadata.json"]
)
async def test_register_refuses_what_names_no_metadata_file(folder_server: Client, location: str) -> None:
    answer = await folder_server.post(f"{path('ns')}/register", json={"name": "t", "metadata-location": location})
    assert answer.status_code in {400, 404}
    refused(answer, answer.status_code, "BadRequestException" if answer.status_code == 400 else "NotFoundException")


GARBAGE = [
    b"",
    b"\x00\xff",
    b"not json",
    b"[]",
    b"{}",
    b'{"table-uuid":1,"location":"file:///x"}',
    b'{"table-uuid":"x","location":[]}',
    b'{"table-uuid":"11111111-1111-1111-1111-111111111111","location":"file:///x"}',
]


@pytest.mark.parametrize("content", GARBAGE)
async def test_register_refuses_a_file_that_holds_no_table(folder_server: Client, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.metadata.json"
    file.write_bytes(content)
    answer = await folder_server.post(f"{path('ns')}/register", json={"name": "t", "metadata-location": f"file://{file}"})
    refused(answer, 400, "BadRequestException")
    assert await names_in(folder_server, "ns") == []


async def test_register_does_not_wait_for_a_folder_or_a_pipe(folder_server: Client, tmp_path: Path) -> None:
    folder = tmp_path / "folder.metadata.json"
    folder.mkdir()
    answer = await folder_server.post(f"{path('ns')}/register", json={"name": "t", "metadata-location": f"file://{folder}"})
    assert 400 <= answer.status_code < 500
    refused(answer, answer.status_code, answer.json()["error"]["type"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": 1}, "name"),
        ({"name": "t"}, "metadata-location"),
        ({"name": "t", "metadata-location": 1}, "metadata-location"),
        ({"name": "t", "metadata-location": "file:///x.metadata.json", "overwrite": "no"}, "overwrite"),
    ],
)
async def test_a_malformed_register_is_named(ns: Client, body: dict[str, Any], field: str) -> None:
    refused(await ns.post(f"{path('ns')}/register", json=body), 400, "BadRequestException", field)


async def test_a_load_notices_that_the_metadata_file_is_gone(folder_server: Client) -> None:
    client = folder_server
    made = await make_table(client, ["ns"], "t")
    location = metadata_file(made)
    etag = (await client.get(path("ns", table="t"))).headers["etag"]
    file_at(location).rename(file_at(location).with_name("moved"))
    for headers in ({}, {"if-none-match": etag}):
        message = refused(await client.get(path("ns", table="t"), headers=headers), 404, "NotFoundException")
        assert message == f"Failed to open input stream for file: {location}"
    file_at(location).with_name("moved").rename(file_at(location))
    assert done(await client.get(path("ns", table="t"))) == made


async def test_metrics_are_accepted(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    report = {"report-type": "scan-report", "table-name": "ns.t", "snapshot-id": 1, "filter": True, "schema-id": 0, "metrics": {}}
    done(await ns.post(f"{path('ns', table='t')}/metrics", json=report), 204)
    refused(await ns.post(f"{path('ns', table='t')}/metrics", content=b"nope"), 400, "BadRequestException", "JSON")


async def test_two_schemas_with_the_same_content_make_two_tables(ns: Client) -> None:
    first, second = await make_table(ns, ["ns"], "a"), await make_table(ns, ["ns"], "b")
    assert first["metadata"]["table-uuid"] != second["metadata"]["table-uuid"]
    assert first["metadata"]["location"] != second["metadata"]["location"]
    assert first["metadata"]["schemas"] == second["metadata"]["schemas"] == [SCHEMA]
