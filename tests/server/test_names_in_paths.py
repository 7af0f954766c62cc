"""Names as clients write them into paths."""

from __future__ import annotations

from urllib.parse import quote, quote_plus

import pytest

from tests.server.harness import Client, done, make_namespace, make_table, refused

NAMES = [
    "a/b",
    "a.b",
    "a b",
    "a+b",
    "a%2Fb",
    "a%b",
    "täble",
    "表",
    "😀",
    "a?b",
    "a#b",
    "a&b=c",
    "tables",
    "namespaces",
    "'\"",
    "a;b",
    "~",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encode", [quote_plus, lambda text: quote(text, safe="")], ids=["Java", "Python"])
async def test_every_name_comes_back_as_it_was(server: Client, name: str, encode: object) -> None:
    assert callable(encode)
    await make_namespace(server, name)
    await make_namespace(server, name, name)
    await make_table(server, [name, name], name)
    levels = "%1F".join([encode(name), encode(name)])
    one = encode(name)
    answer = await server.raw("GET", f"/v1/namespaces/{levels}/tables".encode())
    assert done(answer)["identifiers"] == [{"namespace": [name, name], "name": name}]
    done(await server.raw("GET", f"/v1/lake/namespaces/{levels}/tables/{one}".encode()))
    assert done(await server.raw("GET", f"/v1/namespaces/{levels}".encode()))["namespace"] == [name, name]
    listed = await server.raw("GET", b"/v1/namespaces", query=f"parent={one}".encode())
    assert done(listed)["namespaces"] == [[name, name]]
    assert (await server.raw("DELETE", f"/v1/namespaces/{levels}/tables/{one}".encode())).status_code == 204
    assert (await server.raw("DELETE", f"/v1/namespaces/{levels}".encode())).status_code == 204


async def test_bytes_of_utf_8_need_no_encoding(server: Client) -> None:
    await make_namespace(server, "täble")
    done(await server.raw("GET", "/v1/namespaces/täble".encode()))


@pytest.mark.parametrize(
    "target", [b"/v1/namespaces/%FF", b"/v1/namespaces/%C3", b"/v1/namespaces/a%1Fb/tables/%ED%A0%80", b"/v1/namespaces/\xff"]
)
async def test_what_is_not_utf_8_is_the_clients_mistake(server: Client, target: bytes) -> None:
    refused(await server.raw("GET", target), 400, "BadRequestException", "UTF-8")


@pytest.mark.parametrize("target", [b"/v1/namespaces//tables/t", b"/v1/lake/namespaces//tables/snapshots"])
async def test_no_table_lies_outside_of_namespaces(ns: Client, target: bytes) -> None:
    # So does Spark ask for the unqualified `t.snapshots`.
    refused(await ns.raw("GET", target), 404, "NoSuchTableException", "Table does not exist")
    assert (await ns.raw("HEAD", target)).status_code == 404
    refused(await ns.raw("GET", target.replace(b"tables", b"views")), 404, "NoSuchViewException", "View does not exist")


@pytest.mark.parametrize("levels", ["a%1F", "%1Fa", "a%1F%1Fb", "%1F"])
async def test_empty_levels_are_the_clients_mistake(server: Client, levels: str) -> None:
    refused(await server.raw("GET", f"/v1/namespaces/{levels}".encode()), 400, "BadRequestException", "empty level")


@pytest.mark.parametrize("name", ["%00", "a%0Ab", "%7F"])
async def test_control_characters_are_the_clients_mistake(ns: Client, name: str) -> None:
    refused(await ns.raw("GET", f"/v1/namespaces/ns/tables/{name}".encode()), 400, "BadRequestException", "control character")


async def test_a_size_alone_makes_no_pages(server: Client) -> None:
    for name in ("a", "b", "c"):
        await make_namespace(server, name)
    everything = done(await server.get("/v1/namespaces", params={"pageSize": "1"}))
    assert everything == {"namespaces": [["a"], ["b"], ["c"]], "next-page-token": None}
    page = done(await server.get("/v1/namespaces", params={"pageSize": "2", "pageToken": ""}))
    assert page["namespaces"] == [["a"], ["b"]]
    last = done(await server.get("/v1/namespaces", params={"pageSize": "2", "pageToken": page["next-page-token"]}))
    assert last == {"namespaces": [["c"]], "next-page-token": None}


@pytest.mark.parametrize("size", ["0", "-1", "x", "", "1.5", "٣", "9" * 40])
async def test_a_size_is_a_positive_number(server: Client, size: str) -> None:
    refused(await server.get("/v1/namespaces", params={"pageSize": size, "pageToken": ""}), 400, "BadRequestException", "pageSize")


async def test_setting_and_removing_one_property_is_unprocessable(ns: Client) -> None:
    answer = await ns.post("/v1/namespaces/ns/properties", json={"removals": ["a", "b"], "updates": {"b": "1"}})
    refused(answer, 422, "UnprocessableEntityException", "b")
