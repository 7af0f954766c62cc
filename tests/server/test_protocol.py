"""HTTP itself: paths, methods, HEAD, parameters and headers that nobody asked for, health."""

from __future__ import annotations

import pytest

from tests.server.harness import ROOT, Client, done, make_table, make_view, path, refused, serving

UNKNOWN_PATHS = [
    "/",
    "/v1",
    "/v1/",
    "/v2/config",
    "/v1/config/",
    "/v1/namespaces/",
    "/v1//namespaces",
    "/v1/namespaces//tables",
    "/v1/namespaces/ns/tables/",
    "/v1/namespaces/ns/tables/t/",
    "/v1/namespaces/ns/procedures",
    "/v1/lake/lake/namespaces",
    "/v1/oauth/token",
    "/favicon.ico",
    "/healthz/",
    "/%2e%2e/healthz",
    "/health%7A",
    "//healthz",
]


@pytest.mark.parametrize("target", UNKNOWN_PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_an_unknown_path_is_not_found(ns: Client, target: str, method: str) -> None:
    refused(await ns.raw(method, target.encode()), 404, "NotFoundException", "No such path")


async def test_an_unknown_path_has_no_body_for_head(server: Client) -> None:
    response = await server.head("/nope")
    assert (response.status_code, response.content) == (404, b"")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("PUT", "/v1/namespaces"),
        ("DELETE", "/v1/namespaces"),
        ("PATCH", "/v1/namespaces/ns"),
        ("POST", "/v1/namespaces/ns"),
        ("POST", "/v1/config"),
        ("DELETE", "/healthz"),
        ("GET", "/v1/tables/rename"),
        ("GET", "/v1/transactions/commit"),
        ("HEAD", "/v1/views/rename"),
        ("GET", "/v1/namespaces/ns/register"),
        ("GET", "/v1/namespaces/ns/properties"),
        ("PUT", "/v1/namespaces/ns/tables/t"),
        ("OPTIONS", "/v1/namespaces"),
        ("TRACE", "/v1/namespaces"),
        ("BREW", "/v1/namespaces"),
    ],
)
async def test_a_wrong_method_is_refused_and_the_right_ones_named(ns: Client, method: str, target: str) -> None:
    response = await ns.request(method, target)
    assert response.status_code == 405
    assert response.headers["allow"]
    assert method not in response.headers["allow"].split(", ")
    if method == "HEAD":
        assert response.content == b""
    else:
        refused(response, 405, "UnsupportedOperationException", method)


async def test_unknown_parameters_and_headers_are_ignored(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    headers = {
        "x-iceberg-access-delegation": "vended-credentials,remote-signing",
        "x-client-version": "0.0",
        "iceberg-referenced-by": "ns.v",
        "accept": "text/html",
        "cookie": "a=b",
    }
    for target in (path(), path("ns"), f"{path('ns')}/tables", path("ns", table="t"), "/v1/config"):
        plain = await ns.get(target)
        decorated = await ns.get(target, params={"unheard": "of", "pageTokens": "x", "": "y"}, headers=headers)
        assert done(decorated) == done(plain)


@pytest.mark.parametrize("target", ["/v1/namespaces/ns", "/v1/namespaces/ns/tables/t", "/v1/namespaces/ns/views/v"])
async def test_head_answers_204_or_404_without_a_body(ns: Client, target: str) -> None:
    await make_table(ns, ["ns"], "t")
    await make_view(ns, ["ns"], "v")
    found = await ns.raw("HEAD", target.encode())
    assert (found.status_code, found.content) == (204, b"")
    missing = await ns.raw("HEAD", f"{target}x".encode())
    assert (missing.status_code, missing.content) == (404, b"")
    elsewhere = await ns.raw("HEAD", target.replace("/v1/", "/v1/nope/").encode())
    assert (elsewhere.status_code, elsewhere.content) == (404, b"")


async def test_head_of_a_table_does_not_see_views_nor_the_other_way_round(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await make_view(ns, ["ns"], "v")
    assert (await ns.head(path("ns", table="v"))).status_code == 404
    assert (await ns.head(path("ns", view="t"))).status_code == 404


@pytest.mark.parametrize("target", ["/v1/namespaces/%FF", "/v1/namespaces/a%1F%1Fb", "/v1/namespaces/%00", "/v1/namespaces/ns/tables/%1F"])
async def test_a_bad_name_has_no_body_for_head(ns: Client, target: str) -> None:
    response = await ns.raw("HEAD", target.encode())
    assert (response.status_code, response.content) == (400, b"")


async def test_get_works_with_and_without_the_prefix(ns: Client) -> None:
    assert done(await ns.get(path("ns"))) == done(await ns.get(path("ns", prefix=ROOT)))


@pytest.mark.parametrize("host", ["", "[", "[::1", "a b", "ev il\x7f", "http://x/", "ﬀ".encode().decode("latin-1")])
async def test_a_strange_host_header_harms_nobody(ns: Client, host: str) -> None:
    for method, target in (("GET", "/v1/namespaces"), ("GET", "/nope"), ("PUT", "/v1/namespaces")):
        response = await ns.raw(method, target.encode(), headers={"host": host})
        assert response.status_code in {200, 404, 405}
    headers = {"host": host, "idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}
    response = await ns.raw("POST", b"/v1/namespaces", headers=headers, body=b'{"namespace":["x"]}')
    assert response.status_code == 200, response.text


async def test_names_that_look_like_parts_of_paths_are_names(server: Client) -> None:
    for name in ("namespaces", "tables", "views", "transactions", "config", "v1", "rename", "commit", ROOT):
        done(await server.post("/v1/namespaces", json={"namespace": [name]}))
        await make_table(server, [name], name)
        for prefix in (None, ROOT):
            assert done(await server.get(path(name, prefix=prefix)))["namespace"] == [name]
            assert done(await server.get(f"{path(name, prefix=prefix)}/tables"))["identifiers"] == [{"namespace": [name], "name": name}]
            assert (await server.head(path(name, table=name, prefix=prefix))).status_code == 204
        done(await server.delete(path(name, table=name)), 204)
        done(await server.delete(path(name)), 204)


async def test_health_and_readiness(server: Client) -> None:
    assert done(await server.get("/healthz"))["status"] == "ok"
    assert done(await server.get("/readyz"))["status"] == "ready"
    assert (await server.head("/healthz")).status_code == 200


async def test_answers_are_compressed_where_that_is_accepted(ns: Client) -> None:
    table = await make_table(ns, ["ns"], "t", properties={f"k{i}": "v" * 40 for i in range(50)})
    packed = await ns.get(path("ns", table="t"), headers={"accept-encoding": "gzip"})
    plain = await ns.get(path("ns", table="t"), headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert done(packed) == done(plain) == table
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    assert packed.headers["etag"] == plain.headers["etag"]


async def test_long_refusals_survive_compression_and_repetition(ns: Client) -> None:
    name = "n" * 900
    await make_table(ns, ["ns"], name)
    headers = {"accept-encoding": "gzip", "idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398e"}
    body = {"name": name, "schema": {"type": "struct", "fields": []}}
    answers = [await ns.post(f"{path('ns')}/tables", json=body, headers=headers) for _ in range(3)]
    messages = {refused(answer, 409, "AlreadyExistsException", name) for answer in answers}
    assert len(messages) == 1


async def test_no_request_log_is_needed() -> None:
    async with serving(request_log=False) as client:
        assert "x-request-id" not in (await client.get("/v1/config")).headers
