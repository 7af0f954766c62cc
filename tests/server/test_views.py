"""Views."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.harness import Client, Json, done, make_namespace, make_table, make_view, metadata_file, names_in, new_view, path, refused
from tests.support.catalogs import SCHEMA


def version(sql: str, number: int = 2) -> Json:
    return {**new_view("v", sql)["view-version"], "version-id": number}


def replacing(sql: str) -> Json:
    added = {"action": "add-view-version", "view-version": version(sql)}
    return {"requirements": [], "updates": [added, {"action": "set-current-view-version", "view-version-id": -1}]}


def sql_of(answer: Json) -> str:
    metadata = answer["metadata"]
    [current] = [entry for entry in metadata["versions"] if entry["version-id"] == metadata["current-version-id"]]
    text: str = current["representations"][0]["sql"]
    return text


async def test_create_answers_the_view_as_it_can_be_loaded(ns: Client) -> None:
    made = await make_view(ns, ["ns"], "v", properties={"comment": "x"})
    assert set(made) == {"metadata-location", "metadata", "config"}
    assert made["metadata"]["format-version"] == 1
    assert made["metadata"]["properties"] == {"comment": "x"}
    assert sql_of(made) == "select 1"
    assert done(await ns.get(path("ns", view="v"))) == made
    assert await names_in(ns, "ns", what="views") == ["v"]


async def test_a_taken_name_is_refused(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await make_view(ns, ["ns"], "view")
    create = f"{path('ns')}/views"
    refused(await ns.post(create, json=new_view("view")), 409, "AlreadyExistsException", "View already exists: ns.view")
    refused(await ns.post(create, json=new_view("t")), 409, "AlreadyExistsException", "Table with same name already exists: ns.t")
    refused(await ns.post(f"{path('no')}/views", json=new_view("v")), 404, "NoSuchNamespaceException", "Namespace does not exist: no")


async def test_two_queries_in_one_dialect_are_refused_as_java_refuses_them(ns: Client) -> None:
    twice = new_view("v")
    twice["view-version"]["representations"] *= 2
    answer = await ns.post(f"{path('ns')}/views", json=twice)
    refused(answer, 400, "IllegalArgumentException", "Invalid view version: Cannot add multiple queries for dialect spark")


async def test_a_missing_view_is_named(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    for name in ("no", "t"):
        where, message = path("ns", view=name), f"View does not exist: ns.{name}"
        refused(await ns.get(where), 404, "NoSuchViewException", message)
        refused(await ns.delete(where), 404, "NoSuchViewException", message)
        refused(await ns.post(where, json=replacing("select 2")), 404, "NoSuchViewException", message)


async def test_replace_adds_a_version(ns: Client) -> None:
    made = await make_view(ns, ["ns"], "v")
    answer = done(await ns.post(path("ns", view="v"), json=replacing("select 2")))
    assert sql_of(answer) == "select 2"
    assert len(answer["metadata"]["versions"]) == 2
    assert metadata_file(answer) != metadata_file(made)
    assert done(await ns.get(path("ns", view="v"))) == answer


async def test_replace_needs_no_requirements(ns: Client) -> None:
    await make_view(ns, ["ns"], "v")
    body = {"updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert done(await ns.post(path("ns", view="v"), json=body))["metadata"]["properties"]["a"] == "b"


async def test_a_requirement_that_fails_refuses_the_replacement(ns: Client) -> None:
    made = await make_view(ns, ["ns"], "v")
    body = {**replacing("select 2"), "requirements": [{"type": "assert-view-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}]}
    refused(await ns.post(path("ns", view="v"), json=body), 409, "CommitFailedException")
    assert done(await ns.get(path("ns", view="v"))) == made


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"updates": None},
        {"updates": [1]},
        {"updates": [{}]},
        {"updates": [{"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}}]},
        {"updates": [{"action": "add-view-version", "view-version": []}]},
        {"updates": [{"action": "set-current-view-version", "view-version-id": 77}]},
        {"updates": [], "requirements": "x"},
        {"updates": [], "requirements": [{"type": "assert-view"}]},
    ],
)
async def test_a_malformed_replacement_is_the_clients_mistake(ns: Client, body: Json) -> None:
    made = await make_view(ns, ["ns"], "v")
    refused(await ns.post(path("ns", view="v"), json=body), 400, "BadRequestException")
    assert done(await ns.get(path("ns", view="v"))) == made


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"),
        ({"schema": 1}, "schema"),
        ({"view-version": None}, "view-version"),
        ({"view-version": "x"}, "view-version"),
        ({"location": {}}, "location"),
        ({"properties": {"x": []}}, "properties.x"),
    ],
)
async def test_a_wrong_type_in_a_create_is_named(ns: Client, change: Json, field: str) -> None:
    refused(await ns.post(f"{path('ns')}/views", json={**new_view("v"), **change}), 400, "BadRequestException", field)


@pytest.mark.parametrize(
    "change",
    [
        {"representations": None},
        {"representations": [{}]},
        {"representations": [{"type": "sql", "sql": 1, "dialect": "spark"}]},
        {"default-namespace": "ns"},
        {"summary": []},
        {"version-id": "one"},
        {"schema-id": 9},
        {"timestamp-ms": "now"},
    ],
)
async def test_a_version_that_makes_no_sense_is_refused(ns: Client, change: Json) -> None:
    body = new_view("v")
    body["view-version"] = {**body["view-version"], **change}
    answer = await ns.post(f"{path('ns')}/views", json=body)
    assert answer.status_code in {200, 400}, answer.text
    if answer.status_code == 400:
        refused(answer, 400, "BadRequestException")
        assert await names_in(ns, "ns", what="views") == []
    else:
        done(await ns.get(path("ns", view="v")))


async def rename(client: Client, source: list[str], destination: list[str]) -> Any:
    named = {
        "source": {"namespace": source[:-1], "name": source[-1]},
        "destination": {"namespace": destination[:-1], "name": destination[-1]},
    }
    return await client.post("/v1/views/rename", json=named)


async def test_rename_moves_a_view(ns: Client) -> None:
    made = await make_view(ns, ["ns"], "v")
    await make_namespace(ns, "other")
    done(await rename(ns, ["ns", "v"], ["other", "w"]), 204)
    assert done(await ns.get(path("other", view="w"))) == made
    assert (await ns.head(path("ns", view="v"))).status_code == 404


async def test_rename_explains_why_it_cannot(ns: Client) -> None:
    await make_view(ns, ["ns"], "v")
    await make_view(ns, ["ns"], "taken")
    await make_table(ns, ["ns"], "t")
    refused(await rename(ns, ["ns", "no"], ["ns", "u"]), 404, "NoSuchViewException", "View does not exist: ns.no")
    refused(await rename(ns, ["ns", "v"], ["no", "u"]), 404, "NoSuchNamespaceException", "Namespace does not exist: no")
    refused(await rename(ns, ["ns", "v"], ["ns", "taken"]), 409, "AlreadyExistsException", "View already exists")
    refused(await rename(ns, ["ns", "v"], ["ns", "t"]), 409, "AlreadyExistsException", "ns.t", "already exists")


async def test_rename_says_what_clients_expect(ns: Client) -> None:
    for name in ("v", "taken"):
        await make_view(ns, ["ns"], name)
    await make_table(ns, ["ns"], "t")
    refused(
        await rename(ns, ["ns", "v"], ["ns", "taken"]), 409, "AlreadyExistsException", "Cannot rename ns.v to ns.taken. View already exists"
    )
    refused(await rename(ns, ["ns", "v"], ["ns", "t"]), 409, "AlreadyExistsException", "Cannot rename ns.v to ns.t. Table already exists")


async def test_drop_frees_the_name_for_a_table(ns: Client) -> None:
    await make_view(ns, ["ns"], "v")
    done(await ns.delete(path("ns", view="v")), 204)
    await make_table(ns, ["ns"], "v")
    assert await names_in(ns, "ns", what="views") == []


async def test_a_conditional_load_of_a_view(ns: Client) -> None:
    await make_view(ns, ["ns"], "v")
    loaded = await ns.get(path("ns", view="v"))
    done(loaded)
    if "etag" in loaded.headers:
        again = await ns.get(path("ns", view="v"), headers={"if-none-match": loaded.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_the_schema_is_kept(ns: Client) -> None:
    made = await make_view(ns, ["ns"], "v")
    assert made["metadata"]["schemas"] == [SCHEMA]
