"""Namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.harness import Client, done, make_namespace, make_table, make_view, path, refused


async def listed(client: Client, **params: str) -> list[list[str]]:
    names: list[list[str]] = done(await client.get(path(), params=params))["namespaces"]
    return names


async def test_create_answers_the_name_and_the_properties(server: Client) -> None:
    body = {"namespace": ["db"], "properties": {"owner": "me", "": "empty key", "ключ": "значение"}}
    assert done(await server.post("/v1/namespaces", json=body)) == body
    assert done(await server.get(path("db"))) == body


@pytest.mark.parametrize("properties", [{}, None])
async def test_properties_may_be_left_out(server: Client, properties: object) -> None:
    assert done(await server.post("/v1/namespaces", json={"namespace": ["a"]})) == {"namespace": ["a"], "properties": {}}
    assert done(await server.post("/v1/namespaces", json={"namespace": ["b"], "properties": properties}))["properties"] == {}


async def test_a_taken_name_is_refused(ns: Client) -> None:
    refused(await ns.post("/v1/namespaces", json={"namespace": ["ns"]}), 409, "AlreadyExistsException", "Namespace already exists: ns")


async def test_a_child_needs_its_parent(server: Client) -> None:
    answer = await server.post("/v1/namespaces", json={"namespace": ["a", "b"]})
    refused(answer, 404, "NoSuchNamespaceException", "Namespace does not exist: a")
    await make_namespace(server, "a")
    await make_namespace(server, "a", "b")
    await make_namespace(server, "a", "b", "c")
    assert await listed(server) == [["a"]]
    assert await listed(server, parent="a") == [["a", "b"]]
    assert await listed(server, parent="a\x1fb") == [["a", "b", "c"]]
    assert await listed(server, parent="a\x1fb\x1fc") == []


async def test_an_empty_parent_is_none(ns: Client) -> None:
    assert await listed(ns, parent="") == await listed(ns) == [["ns"]]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_missing_namespace_is_named(server: Client, method: str) -> None:
    refused(await server.request(method, path("a", "b")), 404, "NoSuchNamespaceException", "Namespace does not exist: a.b")


@pytest.mark.parametrize("what", ["tables", "views"])
async def test_listings_in_a_missing_namespace_are_refused(server: Client, what: str) -> None:
    refused(await server.get(f"{path('no')}/{what}"), 404, "NoSuchNamespaceException", "Namespace does not exist: no")
    refused(await server.get(path(), params={"parent": "no"}), 404, "NoSuchNamespaceException", "Namespace does not exist: no")


async def test_listings_show_what_is_there_and_nothing_else(ns: Client) -> None:
    for name in ("b", "a"):
        await make_table(ns, ["ns"], name)
        await make_view(ns, ["ns"], f"view_{name}")
    await make_namespace(ns, "ns", "inner")
    await make_table(ns, ["ns", "inner"], "deep")
    tables = done(await ns.get(f"{path('ns')}/tables"))
    assert tables["identifiers"] == [{"namespace": ["ns"], "name": "a"}, {"namespace": ["ns"], "name": "b"}]
    assert tables.get("next-page-token") is None
    views = done(await ns.get(f"{path('ns')}/views"))
    assert [view["name"] for view in views["identifiers"]] == ["view_a", "view_b"]


async def test_drop_takes_an_empty_namespace_only(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    refused(await ns.delete(path("ns")), 409, "NamespaceNotEmptyException", "ns")
    done(await ns.delete(path("ns", table="t")), 204)
    await make_view(ns, ["ns"], "v")
    refused(await ns.delete(path("ns")), 409, "NamespaceNotEmptyException", "ns")
    done(await ns.delete(path("ns", view="v")), 204)
    await make_namespace(ns, "ns", "inner")
    refused(await ns.delete(path("ns")), 409, "NamespaceNotEmptyException", "ns")
    done(await ns.delete(path("ns", "inner")), 204)
    done(await ns.delete(path("ns")), 204)
    assert await listed(ns) == []


async def test_properties_are_set_removed_and_missed(server: Client) -> None:
    await make_namespace(server, "db", a="1", b="2")
    change = {"removals": ["b", "never"], "updates": {"a": "one", "c": "3"}}
    answer = done(await server.post(f"{path('db')}/properties", json=change))
    assert {key: sorted(value) for key, value in answer.items()} == {"updated": ["a", "c"], "removed": ["b"], "missing": ["never"]}
    assert done(await server.get(path("db")))["properties"] == {"a": "one", "c": "3"}


@pytest.mark.parametrize("change", [{}, {"removals": None, "updates": None}, {"removals": [], "updates": {}}])
async def test_a_change_of_nothing_is_no_error(server: Client, change: dict[str, Any]) -> None:
    await make_namespace(server, "db", a="1")
    answer = done(await server.post(f"{path('db')}/properties", json=change))
    assert {"updated": [], "removed": []}.items() <= answer.items()
    assert done(await server.get(path("db")))["properties"] == {"a": "1"}


async def test_the_same_key_cannot_be_set_and_removed(server: Client) -> None:
    await make_namespace(server, "db", a="1")
    answer = await server.post(f"{path('db')}/properties", json={"removals": ["a"], "updates": {"a": "2"}})
    refused(answer, 422, "UnprocessableEntityException", "a")
    assert done(await server.get(path("db")))["properties"] == {"a": "1"}


async def test_properties_of_a_missing_namespace_are_refused(server: Client) -> None:
    answer = await server.post(f"{path('db')}/properties", json={"updates": {"a": "1"}})
    refused(answer, 404, "NoSuchNamespaceException", "Namespace does not exist: db")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "namespace"),
        ({"namespace": None}, "namespace"),
        ({"namespace": "db"}, "namespace"),
        ({"namespace": []}, "namespace"),
        ({"namespace": [1]}, "namespace[0]"),
        ({"namespace": ["a", None]}, "namespace[1]"),
        ({"namespace": ["a"], "properties": []}, "properties"),
        ({"namespace": ["a"], "properties": {"k": 1}}, "properties.k"),
        ({"namespace": ["a"], "properties": {"k": None}}, "properties.k"),
        ({"namespace": ["a"], "properties": {"k": {"x": "y"}}}, "properties.k"),
    ],
)
async def test_a_wrong_type_is_named(server: Client, body: dict[str, Any], field: str) -> None:
    refused(await server.post("/v1/namespaces", json=body), 400, "BadRequestException", field)
    assert await listed(server) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"removals": "a"}, "removals"),
        ({"removals": [1]}, "removals[0]"),
        ({"updates": ["a"]}, "updates"),
        ({"updates": {"a": True}}, "updates.a"),
    ],
)
async def test_a_wrong_type_in_a_change_of_properties_is_named(ns: Client, body: dict[str, Any], field: str) -> None:
    refused(await ns.post(f"{path('ns')}/properties", json=body), 400, "BadRequestException", field)


@pytest.mark.parametrize(
    "levels", [[""], ["a", ""], ["", "a"], ["a\x1fb"], ["a\x1eb"], ["a\nb"], ["\x00"], ["x" * 1100], ["x" * 600, "y" * 600]]
)
async def test_impossible_names_are_the_clients_mistake(server: Client, levels: list[str]) -> None:
    refused(await server.post("/v1/namespaces", json={"namespace": levels}), 400, "BadRequestException")
    assert await listed(server) == []
