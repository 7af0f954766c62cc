"""Names as they come in paths: decoded once, after the path was split."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest

from tests.server.harness import ROOT, Client, done, inside, make_namespace, make_table, make_view, path, refused

NAMES = [
    "with space",
    "a.b",
    "a/b",
    "/",
    "a\\b",
    "100%",
    "%2F",
    "%252F",
    "a+b",
    "a?b=c",
    "a#b",
    "a&b",
    "ü",
    "u\u0308",
    "日本語",
    "🏔️",
    "'quoted'",
    '"',
    "`tick`",
    ";drop",
    "...",
    " ",
    " leading and trailing ",
    "\u200b",
    "\ufeff",
    "\u0085",
    "\ue000",
    "dtxn_1",
    "sys ",
    "tables",
    "namespaces",
    "~",
    "x" * 255,
    "é" * 150,
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_comes_back_as_it_was_given(server: Client, name: str) -> None:
    await make_namespace(server, name)
    await make_namespace(server, name, name)
    await make_table(server, [name, name], name)
    await make_view(server, [name, name], f"{name}v")
    for prefix in (None, ROOT):
        assert done(await server.get(path(name, name, prefix=prefix)))["namespace"] == [name, name]
        assert (await server.head(path(name, name, table=name, prefix=prefix))).status_code == 204
        assert (await server.head(path(name, name, view=f"{name}v", prefix=prefix))).status_code == 204
    assert done(await server.get(path()))["namespaces"] == [[name]]
    assert done(await server.get(path(), params={"parent": name}))["namespaces"] == [[name, name]]
    assert done(await server.get(f"{path(name, name)}/tables"))["identifiers"] == [{"namespace": [name, name], "name": name}]
    done(await server.delete(path(name, name, table=name)), 204)
    done(await server.delete(path(name, name, view=f"{name}v")), 204)
    done(await server.delete(path(name, name)), 204)
    done(await server.delete(path(name)), 204)
    assert done(await server.get(path()))["namespaces"] == []


@pytest.mark.parametrize("name", NAMES)
async def test_java_writes_names_as_in_forms(server: Client, name: str) -> None:
    await make_namespace(server, name)
    await make_namespace(server, name, name)
    await make_table(server, [name, name], name)
    one = quote_plus(name)
    levels = f"{one}%1F{one}"
    assert done(await server.raw("GET", f"/v1/namespaces/{levels}".encode()))["namespace"] == [name, name]
    assert done(await server.raw("GET", b"/v1/namespaces", query=f"parent={one}".encode()))["namespaces"] == [[name, name]]
    done(await server.raw("GET", f"/v1/lake/namespaces/{levels}/tables/{one}".encode()))
    done(await server.raw("DELETE", f"/v1/namespaces/{levels}/tables/{one}".encode()), 204)
    done(await server.raw("DELETE", f"/v1/namespaces/{levels}".encode()), 204)


@pytest.mark.parametrize("target", [b"/v1/namespaces//tables/t", b"/v1/lake/namespaces//tables/snapshots"])
async def test_no_table_lies_outside_of_namespaces(ns: Client, target: bytes) -> None:
    # So does Spark ask for the unqualified `t.snapshots`.
    refused(await ns.raw("GET", target), 404, "NoSuchTableException", "Table does not exist")
    assert (await ns.raw("HEAD", target)).status_code == 404
    refused(await ns.raw("GET", target.replace(b"tables", b"views")), 404, "NoSuchViewException", "View does not exist")


@pytest.mark.parametrize("name", ["a.b", "a/b", "ü 🏔️", "100%"])
async def test_a_name_comes_back_within_a_transaction(server: Client, name: str) -> None:
    done(await server.post("/v1/namespaces", json={"namespace": list(inside("t"))}))
    await make_namespace(server, *inside("t", name))
    await make_table(server, inside("t", name), name)
    assert (await server.head(path(*inside("t", name), table=name))).status_code == 204
    assert (await server.head(path(name, table=name))).status_code == 404


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_name_that_clients_take_for_a_folder_is_refused_or_kept_apart(ns: Client, name: str) -> None:
    """Many HTTP libraries resolve such a segment before they send it, whether its dots are encoded or not."""
    answer = await ns.post("/v1/namespaces", json={"namespace": [name]})
    if answer.status_code == 200:
        assert done(await ns.raw("GET", f"/v1/namespaces/{name}".encode()))["namespace"] == [name]
        await make_namespace(ns, "ns", name)
        body = {"name": name, "schema": {"type": "struct", "fields": []}}
        done(await ns.post(f"{path('ns', name)}/tables", json=body))
        done(await ns.raw("GET", f"{path('ns', name)}/tables/{name}".encode()))
    else:
        refused(answer, 400, "BadRequestException", "name")


async def test_both_ways_to_write_a_space_and_one_to_write_a_plus(server: Client) -> None:
    """Java's URLEncoder writes "+" for a space and "%2B" for a plus, in paths too."""
    await make_namespace(server, "a b")
    await make_namespace(server, "a+b")
    for target in (b"/v1/namespaces/a+b", b"/v1/namespaces/a%20b"):
        assert done(await server.raw("GET", target))["namespace"] == ["a b"]
    assert done(await server.raw("GET", b"/v1/namespaces/a%2Bb"))["namespace"] == ["a+b"]
    assert done(await server.raw("GET", b"/v1/namespaces/a%2bb"))["namespace"] == ["a+b"]


async def test_utf_8_that_was_not_encoded_is_understood(server: Client) -> None:
    await make_namespace(server, "ü")
    assert done(await server.raw("GET", "/v1/namespaces/ü".encode()))["namespace"] == ["ü"]
    assert done(await server.raw("GET", b"/v1/namespaces/%c3%BC"))["namespace"] == ["ü"]


async def test_a_name_is_decoded_once(server: Client) -> None:
    await make_namespace(server, "%41")
    assert (await server.head("/v1/namespaces/%41")).status_code == 404
    assert (await server.raw("HEAD", b"/v1/namespaces/%2541")).status_code == 204


async def test_levels_are_separated_by_the_unit_separator_only(server: Client) -> None:
    await make_namespace(server, "a")
    await make_namespace(server, "a", "b")
    await make_namespace(server, "a.b")
    assert done(await server.raw("GET", b"/v1/namespaces/a%1Fb"))["namespace"] == ["a", "b"]
    assert done(await server.raw("GET", b"/v1/namespaces/a%1fb"))["namespace"] == ["a", "b"]
    assert done(await server.raw("GET", b"/v1/namespaces/a\x1fb"))["namespace"] == ["a", "b"]
    assert done(await server.raw("GET", b"/v1/namespaces/a.b"))["namespace"] == ["a.b"]
    assert (await server.raw("HEAD", b"/v1/namespaces/a%2Fb")).status_code == 404


BAD_SEGMENTS = [
    b"%FF", b"%C3", b"%C3%28", b"%ED%A0%80", b"%F5%80%80%80", b"%C0%AF", b"\xff", b"a\xc3", b"%", b"%4", b"%zz", b"a%", b"100%25%",
    b"%u0041",
    b"%00", b"a%00b", b"%0A", b"%0D%0A", b"%7F", b"%1E", b"%01", b"\x00",
]  # fmt: skip


@pytest.mark.parametrize("segment", BAD_SEGMENTS)
async def test_what_is_no_name_is_the_clients_mistake(ns: Client, segment: bytes) -> None:
    for method, target in (
        ("GET", b"/v1/namespaces/" + segment),
        ("DELETE", b"/v1/namespaces/" + segment),
        ("GET", b"/v1/namespaces/" + segment + b"/tables"),
        ("GET", b"/v1/namespaces/ns/tables/" + segment),
        ("DELETE", b"/v1/namespaces/ns/views/" + segment),
        ("GET", b"/v1/namespaces/" + segment + b"/views/v"),
    ):
        refused(await ns.raw(method, target), 400, "BadRequestException")


@pytest.mark.parametrize("segment", [b"a%1F", b"%1Fa", b"a%1F%1Fb", b"%1F", b"%1F%1F"])
async def test_empty_levels_are_refused(ns: Client, segment: bytes) -> None:
    refused(await ns.raw("GET", b"/v1/namespaces/" + segment), 400, "BadRequestException", "empty")
    refused(await ns.raw("GET", b"/v1/namespaces", query=b"parent=" + segment), 400, "BadRequestException", "empty")
    refused(await ns.raw("GET", b"/v1/namespaces/" + segment + b"/tables/t"), 400, "BadRequestException", "empty")


@pytest.mark.parametrize("name", ["a\x1fb", "\x1f", "a\x1eb", "a\tb"])
async def test_a_table_has_one_level_without_control_characters(ns: Client, name: str) -> None:
    for what, body in (("tables", {"name": name, "schema": {"type": "struct", "fields": []}}),):
        refused(await ns.post(f"{path('ns')}/{what}", json=body), 400, "BadRequestException", "control character")
    refused(await ns.get(path("ns", table=name)), 400, "BadRequestException", "control character")
    refused(await ns.get(path("ns", view=name)), 400, "BadRequestException", "control character")


async def test_an_empty_name_is_refused(ns: Client) -> None:
    refused(
        await ns.post(f"{path('ns')}/tables", json={"name": "", "schema": {"type": "struct", "fields": []}}),
        400,
        "BadRequestException",
        "empty",
    )


async def test_a_key_has_room_for_a_kibibyte(server: Client) -> None:
    """4 bytes of type, the parents, a separator, the name: 1024 together."""
    longest = "n" * (1024 - 4 - 1)
    await make_namespace(server, longest)
    assert (await server.head(path(longest))).status_code == 204
    for answer in (
        await server.post("/v1/namespaces", json={"namespace": [longest + "n"]}),
        await server.get(path(longest + "n")),
        await server.get(path(longest, table="t")),
        await server.post(f"{path(longest)}/tables", json={"name": "t", "schema": {"type": "struct", "fields": []}}),
    ):
        message = refused(answer, 400, "BadRequestException", "1024", "shorten")
        assert len(message) < 300
    emoji = "🏔" * 254
    await make_namespace(server, emoji)
    refused(await server.post("/v1/namespaces", json={"namespace": [emoji + "🏔🏔"]}), 400, "BadRequestException", "1024")


async def test_many_levels_are_fine_as_long_as_they_fit(server: Client) -> None:
    levels = ["l"] * 60
    for depth in range(1, len(levels) + 1):
        await make_namespace(server, *levels[:depth])
    assert done(await server.get(path(*levels)))["namespace"] == levels
    await make_table(server, levels, "t")


async def test_names_differ_by_case_and_by_form(server: Client) -> None:
    for name in ("a", "A", "é", "e\u0301"):
        await make_namespace(server, name)
    listed = done(await server.get(path()))["namespaces"]
    assert len(listed) == 4
    assert listed == sorted(listed, key=lambda levels: levels[0].encode())


async def test_a_huge_path_is_not_found_and_not_echoed_whole(ns: Client) -> None:
    response = await ns.raw("GET", b"/v1/namespaces/" + b"x" * 100_000)
    assert response.status_code == 400
    assert len(response.content) < 2000
