"""The token, bodies and their compression, ETags, the log of requests."""

from __future__ import annotations

import gzip
import zlib

import orjson
import pytest

from tests.server.harness import ROOT, Client, begin, done, inside, make_table, make_view, new_table, path, refused, serving, setting

WIDE = {"type": "struct", "fields": [{"id": n, "name": f"column_{n}", "type": "long", "required": False} for n in range(1, 80)]}
TOKEN = "correct horse"


@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer ", "Bearer None", "Bearer correct", f"Basic {TOKEN}", TOKEN, "Bearer ümlaut"])
async def test_a_wrong_token_is_refused(sent: str | None) -> None:
    async with serving(token=TOKEN) as client:
        headers = {} if sent is None else {"Authorization": sent.encode()}
        for target in ("/v1/config", "/v1/namespaces", "/nothing/here"):
            answer = await client.get(target, headers=headers)
            refused(answer, 401, "NotAuthorizedException")
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_right_token_is_admitted(scheme: str) -> None:
    async with serving(token=TOKEN) as client:
        done(await client.get("/v1/config", headers={"Authorization": f"{scheme} {TOKEN}"}))


async def test_health_needs_no_token() -> None:
    async with serving(token=TOKEN) as client:
        done(await client.get("/healthz"))
        done(await client.get("/readyz"))


async def test_without_a_token_any_authorization_is_fine(server: Client) -> None:
    done(await server.get("/v1/config", headers={"Authorization": "Bearer None"}))


async def test_ready_names_the_latest_versions(ns: Client) -> None:
    assert done(await ns.get("/readyz")) == {"status": "ready", "versions": {ROOT: 1}}


async def test_a_body_may_be_compressed(server: Client) -> None:
    body = gzip.compress(orjson.dumps({"namespace": ["a"]}))
    done(await server.post("/v1/namespaces", content=body, headers={"Content-Encoding": "GZIP"}))
    done(await server.get(path("a")))


@pytest.mark.parametrize("body", [b"", b"{}", gzip.compress(b'{"namespace":["a"]}')[:-9], b"\x1f\x8b\x08\x00garbage"])
async def test_bad_compression_is_refused(server: Client, body: bytes) -> None:
    answer = await server.post("/v1/namespaces", content=body, headers={"Content-Encoding": "gzip"})
    refused(answer, 400, "BadRequestException", "gzip")


async def test_an_unknown_encoding_is_refused(server: Client) -> None:
    answer = await server.post("/v1/namespaces", content=b"{}", headers={"Content-Encoding": "br"})
    refused(answer, 400, "BadRequestException", "Content-Encoding")


async def test_large_bodies_are_refused_however_they_come() -> None:
    async with serving(body_limit_mib=1) as client:
        large = orjson.dumps({"namespace": ["a"], "properties": {"k": "x" * (1 << 20)}})
        refused(await client.post("/v1/namespaces", content=large), 413, "BadRequestException", "larger than")
        packed = {"Content-Encoding": "gzip"}
        refused(
            await client.post("/v1/namespaces", content=gzip.compress(large), headers=packed), 413, "BadRequestException", "larger than"
        )
        answer = await client.raw("POST", b"/v1/namespaces", body=large)
        refused(answer, 413, "BadRequestException", "larger than")
        fits = orjson.dumps({"namespace": ["a"], "properties": {"k": "x" * ((1 << 20) - 60)}})
        done(await client.post("/v1/namespaces", content=fits))


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip", True), ("br;q=1, GZIP;q=0.5", True), ("*", True), ("gzip;q=0", False), ("br", False)]
)
async def test_answers_are_compressed_where_that_is_accepted(ns: Client, accepted: str, packed: bool) -> None:
    plain = await ns.post(f"{path('ns')}/tables", json={"name": "t", "schema": WIDE}, headers={"Accept-Encoding": "identity"})
    for target in (path("ns", table="t"), "/v1/config"):
        answer = await ns.raw("GET", target.encode(), headers={"accept-encoding": accepted})
        # httpx has decompressed it: what counts is what was announced.
        assert answer.headers.get("content-encoding") == ("gzip" if packed else None)
        assert ("vary" in answer.headers) == packed
        done(answer)
    assert (await ns.get(path("ns", table="t"))).json() == plain.json()


async def test_the_sizes_of_compressed_answers_are_theirs(ns: Client) -> None:
    await make_table(ns, ["ns"], "t", schema=WIDE)
    parts: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        parts.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    for _ in range(2):
        parts.clear()
        target = path("ns", table="t")
        scope = {"type": "http", "method": "GET", "path": target, "raw_path": target.encode(), "query_string": b"", "root_path": ""}
        await ns.app({**scope, "headers": [(b"accept-encoding", b"gzip")]}, receive, send)  # type: ignore[arg-type]
        headers = dict(parts[0]["headers"])  # type: ignore[call-overload]
        body = parts[1]["body"]
        assert isinstance(body, bytes)
        assert int(headers[b"content-length"]) == len(body)
        assert orjson.loads(zlib.decompress(body, 31))["metadata"]["schemas"]


async def test_small_answers_are_left_alone(server: Client) -> None:
    answer = await server.get("/healthz", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in answer.headers


async def test_etags_tell_states_and_representations_apart(ns: Client) -> None:
    target = path("ns", table="t")
    made = await ns.post(f"{path('ns')}/tables", json=new_table("t"))
    whole, refs = await ns.get(target), await ns.get(target, params={"snapshots": "refs"})
    assert made.headers["etag"] == whole.headers["etag"] == (await ns.get(target, params={"snapshots": "all"})).headers["etag"]
    assert refs.headers["etag"] != whole.headers["etag"]
    committed = await ns.post(target, json=setting(a="1"))
    assert committed.headers["etag"] == (await ns.get(target)).headers["etag"] != whole.headers["etag"]


async def test_what_a_client_has_is_not_sent_again(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    target = path("ns", table="t")
    etag = (await ns.get(target)).headers["etag"]
    for known in (etag, etag.removeprefix("W/"), f'"x", {etag}', "*"):
        answer = await ns.get(target, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    for other in ('"x"', etag.strip('W/"'), etag[:-2]):
        done(await ns.get(target, headers={"If-None-Match": other}))
    done(await ns.get(target, params={"snapshots": "refs"}, headers={"If-None-Match": etag}))
    done(await ns.post(target, json=setting(a="1")))
    done(await ns.get(target, headers={"If-None-Match": etag}))


async def test_whether_it_exists_is_answered_with_the_etag_of_a_load(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await make_view(ns, ["ns"], "v")
    await begin(ns, "x")
    targets = [path(*where, **what) for where in (("ns",), inside("x", "ns")) for what in ({"table": "t"}, {"view": "v"})]
    for target in [*targets, f"{path('ns', table='t')}?snapshots=refs"]:
        etag = (await ns.get(target)).headers["etag"]
        there = await ns.head(target)
        assert (there.status_code, there.headers["etag"], there.content) == (204, etag, b"")
        known = await ns.head(target, headers={"If-None-Match": etag})
        assert (known.status_code, known.headers["etag"], known.content) == (304, etag, b"")
        assert (await ns.head(target, headers={"If-None-Match": '"x"'})).status_code == 204
    done(await ns.post(path("ns", table="t"), json=setting(a="1")))
    assert (await ns.head(path("ns", table="t"), headers={"If-None-Match": etag})).status_code == 204


async def test_a_dropped_table_is_gone_whatever_the_client_has(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    target = path("ns", table="t")
    etag = (await ns.get(target)).headers["etag"]
    done(await ns.delete(target), 204)
    refused(await ns.get(target, headers={"If-None-Match": etag}), 404, "NoSuchTableException")
