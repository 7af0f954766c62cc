"""Idempotency keys: a repeated request is answered, not done again."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from catalog_format.storage import MemoryStorage
from tests.server.harness import (
    Client,
    Json,
    done,
    inside,
    make_namespace,
    make_table,
    new_root,
    new_table,
    new_view,
    path,
    properties_of,
    refused,
    serving,
    serving_over,
    setting,
)
from tests.support.catalogs import ManualClock

KEY = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
OTHER = "017f22e2-79b0-7cc3-98c4-dc0c0c073990"


def keyed(key: str = KEY) -> dict[str, str]:
    return {"idempotency-key": key}


async def version_of(client: Client) -> int:
    version: int = done(await client.get("/readyz"))["versions"]["lake"]
    return version


def equal(first: httpx.Response, second: httpx.Response) -> bool:
    return (first.status_code, first.content, first.headers.get("etag")) == (second.status_code, second.content, second.headers.get("etag"))


IDENTIFIER: Json = {"namespace": ["ns"], "name": "t"}
WRITES: list[tuple[str, str, Json | None]] = [
    ("POST", "/v1/namespaces", {"namespace": ["new"], "properties": {"a": "b"}}),
    ("POST", f"{path('ns')}/properties", {"removals": ["x"], "updates": {"a": "b"}}),
    ("DELETE", path("empty"), None),
    ("POST", f"{path('ns')}/tables", new_table("new")),
    ("POST", path("ns", table="t"), setting(a="1")),
    ("POST", "/v1/transactions/commit", {"table-changes": [{"identifier": IDENTIFIER, **setting(a="1")}]}),
    ("POST", "/v1/tables/rename", {"source": IDENTIFIER, "destination": {"namespace": ["ns"], "name": "u"}}),
    ("DELETE", path("ns", table="t"), None),
    ("POST", f"{path('ns')}/views", new_view("new")),
    ("POST", path("ns", view="v"), {"updates": [{"action": "set-properties", "updates": {"a": "b"}}]}),
    ("DELETE", path("ns", view="v"), None),
    ("POST", f"{path(*inside('open', 'ns'))}/tables", new_table("new")),
    ("DELETE", path(*inside("open", "ns"), table="t"), None),
    ("POST", f"{path(*inside('open'))}/properties", {"updates": {"commit": "true"}}),
]
NAMES = [f"{method} {target}" for method, target, _ in WRITES]


async def fill(client: Client) -> None:
    await make_namespace(client, "ns")
    await make_namespace(client, "empty")
    await make_table(client, ["ns"], "t")
    done(await client.post(f"{path('ns')}/views", json=new_view("v")))
    done(await client.post("/v1/namespaces", json={"namespace": list(inside("open"))}))


@pytest.mark.parametrize(("method", "target", "body"), WRITES, ids=NAMES)
async def test_a_success_is_replayed_after_a_restart(method: str, target: str, body: Json | None) -> None:
    root = new_root()
    async with serving(root) as client:
        await fill(client)
        first = await client.request(method, target, json=body, headers=keyed())
        assert first.status_code in {200, 204}, first.text
        version = await version_of(client)
        assert equal(first, await client.request(method, target, json=body, headers=keyed()))
    async with serving(root) as client:
        again = await client.request(method, target, json=body, headers=keyed())
        assert equal(first, again), again.text
        assert await version_of(client) == version


@pytest.mark.parametrize(("method", "target", "body"), WRITES, ids=NAMES)
async def test_a_success_is_replayed_by_another_server(method: str, target: str, body: Json | None) -> None:
    root = new_root()
    async with serving(root) as one, serving(root) as other:
        await fill(one)
        first = await one.request(method, target, json=body, headers=keyed())
        assert equal(first, await other.request(method, target, json=body, headers=keyed()))


async def test_a_replay_is_not_disturbed_by_what_happened_since(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    first = await ns.post(path("ns", table="t"), json=setting(a="1"), headers=keyed())
    done(await ns.post(path("ns", table="t"), json=setting(a="2")))
    done(await ns.post(path("ns", table="t"), json=setting(a="1"), headers=keyed()))
    assert done(first)["metadata"]["properties"]["a"] == "1"
    assert await properties_of(ns, ["ns"], "t") == {"a": "2"}


async def test_without_a_key_nothing_is_replayed(ns: Client) -> None:
    done(await ns.post("/v1/namespaces", json={"namespace": ["a"]}))
    refused(await ns.post("/v1/namespaces", json={"namespace": ["a"]}), 409, "AlreadyExistsException")


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/namespaces", {"namespace": ["b"]}),
        ("POST", "/v1/lake/namespaces", {"namespace": ["a"], "properties": {"x": "y"}}),
        ("POST", f"{path('ns')}/tables", new_table("t")),
        ("DELETE", path("ns"), None),
    ],
)
async def test_a_key_belongs_to_one_request(ns: Client, method: str, target: str, body: Json | None) -> None:
    done(await ns.post("/v1/namespaces", json={"namespace": ["a"]}, headers=keyed()))
    refused(await ns.request(method, target, json=body, headers=keyed()), 400, "BadRequestException", KEY, "another request")
    assert done(await ns.get("/v1/namespaces"))["namespaces"] == [["a"], ["ns"]]


async def test_a_key_belongs_to_its_query_too(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.delete(path("ns", table="t"), params={"purgeRequested": "true"}, headers=keyed()), 204)
    done(await ns.delete(path("ns", table="t"), params={"purgeRequested": "true"}, headers=keyed()), 204)
    refused(await ns.delete(path("ns", table="t"), headers=keyed()), 400, "BadRequestException", "another request")


async def test_a_key_is_the_same_in_both_cases(ns: Client) -> None:
    done(await ns.post("/v1/namespaces", json={"namespace": ["a"]}, headers=keyed(KEY.lower())))
    done(await ns.post("/v1/namespaces", json={"namespace": ["a"]}, headers=keyed(KEY.upper())))


@pytest.mark.parametrize("key", ["", " ", "x", KEY[:-1], KEY + "0", "x" * 36, "0" * 10_000, KEY.replace("-", ""), "\xff" * 36])
async def test_a_key_is_a_uuid(ns: Client, key: str) -> None:
    response = await ns.raw("POST", b"/v1/namespaces", headers={"host": "x", "idempotency-key": key}, body=b'{"namespace":["a"]}')
    refused(response, 400, "BadRequestException", "Idempotency-Key")


async def test_a_refusal_is_remembered_while_the_process_lives(ns: Client) -> None:
    missing = path("ns", table="t")
    first = await ns.post(missing, json=setting(a="1"), headers=keyed())
    refused(first, 404, "NoSuchTableException")
    await make_table(ns, ["ns"], "t")
    assert equal(first, await ns.post(missing, json=setting(a="1"), headers=keyed()))
    done(await ns.post(missing, json=setting(a="1"), headers=keyed(OTHER)))
    stale = setting([{"type": "assert-current-schema-id", "current-schema-id": 5}], a="2")
    conflict = await ns.post(missing, json=stale, headers=keyed(KEY.replace("7", "8")))
    refused(conflict, 409, "CommitFailedException")
    assert equal(conflict, await ns.post(missing, json=stale, headers=keyed(KEY.replace("7", "8"))))


async def test_a_refusal_is_forgotten_in_time() -> None:
    clock = ManualClock()
    async with serving_over(MemoryStorage(), clock=clock, idempotency_lifetime_minutes=30) as client:
        body = {"namespace": ["a", "b"]}
        refused(await client.post("/v1/namespaces", json=body, headers=keyed()), 404, "NoSuchNamespaceException")
        await make_namespace(client, "a")
        clock.advance(29 * 60)
        refused(await client.post("/v1/namespaces", json=body, headers=keyed()), 404, "NoSuchNamespaceException")
        clock.advance(2 * 60)
        done(await client.post("/v1/namespaces", json=body, headers=keyed()))


async def test_reads_have_no_use_for_a_key(ns: Client) -> None:
    refused(await ns.get(path("ns", table="t"), headers=keyed()), 404, "NoSuchTableException")
    await make_table(ns, ["ns"], "t")
    done(await ns.get(path("ns", table="t"), headers=keyed()))
    done(await ns.get("/v1/namespaces", headers=keyed("no uuid")))


async def test_a_refusal_for_want_of_the_token_is_not_remembered() -> None:
    async with serving(token="secret") as client:
        body = {"namespace": ["a"]}
        refused(await client.post("/v1/namespaces", json=body, headers=keyed()), 401, "NotAuthorizedException")
        done(await client.post("/v1/namespaces", json=body, headers={**keyed(), "authorization": "Bearer secret"}))


async def test_a_repetition_that_overtakes_waits_for_the_first(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    version = await version_of(ns)
    answers = await asyncio.gather(*(ns.post(path("ns", table="t"), json=setting(a="1"), headers=keyed()) for _ in range(8)))
    assert all(equal(answers[0], answer) for answer in answers)
    assert answers[0].status_code == 200
    assert await version_of(ns) == version + 1
    conflicting = [ns.post("/v1/namespaces", json={"namespace": [f"n{n}"]}, headers=keyed(OTHER)) for n in range(4)]
    statuses = sorted(answer.status_code for answer in await asyncio.gather(*conflicting))
    assert statuses == [200, 400, 400, 400]


async def test_begin_is_replayed_while_the_process_lives(ns: Client) -> None:
    body: dict[str, Any] = {"namespace": list(inside("t")), "properties": {"owner": "me"}}
    first = await ns.post("/v1/namespaces", json=body, headers=keyed())
    assert equal(first, await ns.post("/v1/namespaces", json=body, headers=keyed()))
    refused(await ns.post("/v1/namespaces", json=body), 409, "AlreadyExistsException")


async def test_a_key_used_outside_is_not_free_inside(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.post("/v1/namespaces", json={"namespace": ["a"]}, headers=keyed()))
    done(await ns.post("/v1/namespaces", json={"namespace": list(inside("x"))}))
    refused(
        await ns.post("/v1/namespaces", json={"namespace": list(inside("x", "b"))}, headers=keyed()), 400, "BadRequestException", "another"
    )
