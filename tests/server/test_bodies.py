"""Bodies that are no good: refused with what is wrong, never more than a 400 or a 413."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from tests.server.harness import Client, Json, done, make_table, names_in, new_table, path, refused, serving, setting

POSTS = [
    "/v1/namespaces",
    "/v1/namespaces/ns/properties",
    "/v1/namespaces/ns/tables",
    "/v1/namespaces/ns/tables/t",
    "/v1/namespaces/ns/tables/t/metrics",
    "/v1/namespaces/ns/register",
    "/v1/namespaces/ns/views",
    "/v1/namespaces/ns/views/v",
    "/v1/tables/rename",
    "/v1/views/rename",
    "/v1/transactions/commit",
]

NO_JSON = [
    b"", b" ", b"{", b"}", b"nope", b"{'a': 1}", b'{"a": 1,}', b"\xff\xfe", b"\x00", b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": NaN}',
    b'{"a": Infinity}', b'{"a": 01}', b'{"a":1}{"b":2}',
]  # fmt: skip


@pytest.mark.parametrize("target", POSTS)
async def test_what_is_no_json_is_refused(ns: Client, target: str) -> None:
    await make_table(ns, ["ns"], "t")
    for body in NO_JSON:
        refused(await ns.post(target, content=body), 400, "BadRequestException", "JSON")
    for value in (b"[]", b"null", b'"text"', b"1", b"true"):
        refused(await ns.post(target, content=value), 400, "BadRequestException", "object")


@pytest.mark.parametrize("target", POSTS)
async def test_nesting_is_bounded(ns: Client, target: str) -> None:
    for body in (b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b'{"a":' + b"[" * 253 + b"]" * 253 + b"}"):
        refused(await ns.post(target, content=body), 400, "BadRequestException")


def nested(levels: int) -> Any:
    kind: Any = "long"
    for level in range(levels, 0, -1):
        kind = {"type": "struct", "fields": [{"id": level + 1, "name": "x", "type": kind, "required": False}]}
    return {"type": "struct", "fields": [{"id": 1, "name": "id", "type": kind, "required": True}]}


@pytest.mark.parametrize("levels", [10, 50, 70, 75, 80, 85, 100, 300])
async def test_deep_schemas_are_stored_or_refused(ns: Client, levels: int) -> None:
    body = json.dumps({"name": "t", "schema": nested(levels)})
    answer = await ns.post(f"{path('ns')}/tables", content=body)
    if levels <= 50:
        done(answer)
    if answer.status_code == 200:
        assert done(await ns.get(path("ns", table="t"))) == done(answer)
        done(await ns.post(path("ns", table="t"), json=setting(a="1")))
    else:
        refused(answer, 400, "BadRequestException", "nested")


@pytest.mark.parametrize("depth", [10, 100, 200, 220, 230, 235, 240, 245, 250, 255, 500])
async def test_deep_values_in_a_commit_are_stored_or_refused(ns: Client, depth: int) -> None:
    await make_table(ns, ["ns"], "t")
    value: Any = 1
    for _ in range(depth):
        value = [value]
    update = {"action": "set-properties", "updates": {"a": "1"}, "unknown": value}
    answer = await ns.post(path("ns", table="t"), content=json.dumps({"requirements": [], "updates": [update]}))
    assert answer.status_code in {200, 400}
    if answer.status_code == 400:
        refused(answer, 400, "BadRequestException", "nested")


HUGE_NUMBERS = ["9223372036854775808", "18446744073709551616", "-9223372036854775809", "1" + "0" * 400, "1e400", "-1e400", "1.5", "1e2"]


@pytest.mark.parametrize("number", HUGE_NUMBERS)
async def test_numbers_beyond_64_bits_are_refused_or_harmless(ns: Client, number: str) -> None:
    await make_table(ns, ["ns"], "t")

    def commit(*, requirements: str = "", updates: str = "") -> str:
        return f'{{"requirements":[{requirements}],"updates":[{updates}]}}'

    def snapshot(number: str, moment: str) -> str:
        rest = '"sequence-number":1,"manifest-list":"file:///x","summary":{"operation":"append"}'
        return f'{{"action":"add-snapshot","snapshot":{{"snapshot-id":{number},"timestamp-ms":{moment},{rest}}}}}'

    for update in (
        snapshot(number, "4000000000000"),
        snapshot("1", number),
        f'{{"action":"set-current-schema","schema-id":{number}}}',
        f'{{"action":"upgrade-format-version","format-version":{number}}}',
        f'{{"action":"remove-snapshots","snapshot-ids":[{number}]}}',
    ):
        answer = await ns.post(path("ns", table="t"), content=commit(updates=update))
        assert answer.status_code in {200, 400}, (update, answer.text)
    requirement = f'{{"type":"assert-current-schema-id","current-schema-id":{number}}}'
    answer = await ns.post(path("ns", table="t"), content=commit(requirements=requirement))
    assert answer.status_code in {400, 409}, answer.text


async def test_of_duplicate_keys_the_last_counts(ns: Client) -> None:
    body = b'{"namespace":["first"],"namespace":["second"],"properties":{"a":"1","a":"2"}}'
    assert done(await ns.post("/v1/namespaces", content=body)) == {"namespace": ["second"], "properties": {"a": "2"}}


async def test_the_content_type_does_not_matter(ns: Client) -> None:
    for number, kind in enumerate(("application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "")):
        body = json.dumps({"namespace": [f"n{number}"]})
        done(await ns.post("/v1/namespaces", content=body, headers={"content-type": kind}))


async def test_a_compressed_body_is_unpacked(ns: Client) -> None:
    body = gzip.compress(json.dumps(new_table("t", properties={"k": "v" * 100_000})).encode())
    for encoding in ("gzip", "GZIP"):
        done(await ns.post(f"{path('ns')}/tables", content=body, headers={"content-encoding": encoding}))
        done(await ns.delete(path("ns", table="t")), 204)


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "no"])
async def test_an_encoding_that_is_not_offered_is_refused(ns: Client, encoding: str) -> None:
    answer = await ns.post("/v1/namespaces", content=b"{}", headers={"content-encoding": encoding})
    assert answer.status_code in {400, 415}
    refused(answer, answer.status_code, "BadRequestException", encoding)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"\x1f\x8b",
        gzip.compress(b'{"namespace":["x"]}')[:-9],
        gzip.compress(b"{}")[:12],
        zlib.compress(b"{}"),
        gzip.compress(b'{"namespace":["x"]}') + b"more",
        gzip.compress(b'{"namespace":["x"]}') * 2,
        b"\x1f\x8b\x08" + b"\xff" * 50,
    ],
)
async def test_a_body_that_is_no_gzip_is_refused(ns: Client, body: bytes) -> None:
    refused(await ns.post("/v1/namespaces", content=body, headers={"content-encoding": "gzip"}), 400, "BadRequestException", "gzip")


async def test_a_body_has_a_limit_packed_or_not() -> None:
    mebibyte = 1 << 20
    async with serving(body_limit_mib=1) as client:
        fits = {"namespace": ["fits"], "properties": {"k": "v" * (mebibyte - 100)}}
        done(await client.post("/v1/namespaces", json=fits))
        too_large = json.dumps({"namespace": ["no"], "properties": {"k": "v" * mebibyte}}).encode()
        refused(await client.post("/v1/namespaces", content=too_large), 413, "BadRequestException", "larger")
        for bomb in (gzip.compress(too_large), gzip.compress(b" " * (200 * mebibyte), 9)):
            assert len(bomb) < mebibyte
            answer = await client.post("/v1/namespaces", content=bomb, headers={"content-encoding": "gzip"})
            refused(answer, 413, "BadRequestException", "larger")
        twice = gzip.compress(gzip.compress(b" " * (100 * mebibyte), 9), 9)
        refused(await client.post("/v1/namespaces", content=twice, headers={"content-encoding": "gzip"}), 400, "BadRequestException")

        async def endless() -> Any:
            while True:
                yield b" " * 65536

        refused(await client.post("/v1/namespaces", content=endless()), 413, "BadRequestException", "larger")
        assert done(await client.get("/v1/namespaces"))["namespaces"] == [["fits"]]


@pytest.mark.parametrize("length", ["-1", "1e9", "x", "", "٣", "9" * 5000, "99999999999"])
async def test_a_strange_content_length_harms_nobody(ns: Client, length: str) -> None:
    headers = {"host": "x", "content-length": length} if length.isascii() else {"host": "x", "content-length": "\xb2"}
    response = await ns.raw("POST", b"/v1/namespaces", headers=headers, body=b'{"namespace":["x"]}')
    assert response.status_code in {200, 400, 413}


async def test_a_body_where_none_belongs_is_ignored(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.request("GET", path("ns", table="t"), content=b"nope"))
    done(await ns.request("DELETE", path("ns", table="t"), content=b"nope"), 204)


async def test_messages_do_not_echo_whole_bodies(ns: Client) -> None:
    long = "x" * 1_000_000
    bodies: list[tuple[str, Json]] = [
        ("/v1/namespaces", {"namespace": ["sys", "dtxns", "dtxn_t"], "properties": {"isolation-level": long}}),
        ("/v1/namespaces", {"namespace": ["sys", "dtxns", "dtxn_t"], "properties": {"ttl-millis": long}}),
        ("/v1/namespaces", {"namespace": ["sys", "dtxns", f"dtxn_{long}"]}),
        ("/v1/namespaces", {"namespace": ["sys", long]}),
        ("/v1/namespaces", {"namespace": [long]}),
        ("/v1/namespaces", {"namespace": ["a", "b" * 500, long]}),
        ("/v1/namespaces", {"namespace": ["p"], "properties": {long: 1}}),
        (f"{path('ns')}/tables", {"name": "t", "schema": {"type": long}}),
        (f"{path('ns')}/tables", {**new_table("t"), "location": f"{long}://x"}),
        (f"{path('ns')}/register", {"name": "t", "metadata-location": f"file:///{long}.metadata.json"}),
        (path("ns", table="t"), {"requirements": [{"type": long}], "updates": []}),
        (path("ns", table="t"), {"requirements": [], "updates": [{"action": long}]}),
    ]
    await make_table(ns, ["ns"], "t")
    for target, body in bodies:
        answer = await ns.post(target, json=body)
        assert 400 <= answer.status_code < 500, (target, answer.text[:200])
        assert len(answer.content) < 20_000, (target, answer.text[:200])
    assert await names_in(ns, "ns") == ["t"]
