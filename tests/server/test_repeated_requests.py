"""Requests that come again under one idempotency key."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from tests.server.harness import (
    Client,
    begin,
    commit,
    done,
    inside,
    make_namespace,
    make_table,
    new_root,
    new_table,
    path,
    refused,
    serving,
    setting,
)
from tests.support.catalogs import ManualClock

KEY = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
OTHER = "017f22e2-79b0-7cc3-98c4-dc0c0c073990"


def under(key: str = KEY) -> dict[str, str]:
    return {"Idempotency-Key": key}


@pytest.mark.parametrize("key", ["", "x", KEY[:-1], KEY + "0", KEY.replace("-", ""), "{" + KEY[1:-1] + "}", "g" * 36])
async def test_a_key_must_be_a_uuid(ns: Client, key: str) -> None:
    refused(await ns.post("/v1/namespaces", json={"namespace": ["a"]}, headers=under(key)), 400, "BadRequestException", "Idempotency-Key")
    assert (await ns.head(path("a"))).status_code == 404


async def test_reads_take_no_notice_of_a_key(ns: Client) -> None:
    assert (await ns.head(path("a"), headers=under())).status_code == 404
    assert (await ns.get(path("a"), headers=under("not a uuid"))).status_code == 404
    await make_namespace(ns, "a")
    assert (await ns.head(path("a"), headers=under())).status_code == 204
    done(await ns.get(path("a"), headers=under()))


async def test_a_success_is_answered_again_by_another_server() -> None:
    root = new_root()
    async with serving(root) as one, serving(root) as two:
        body = {"namespace": ["a"], "properties": {"k": "v"}}
        first = done(await one.post("/v1/namespaces", json=body, headers=under()))
        assert done(await two.post("/v1/namespaces", json=body, headers=under())) == first
        made = done(await one.post(f"{path('a')}/tables", json=new_table("t"), headers=under(OTHER)))
        again = done(await two.post(f"{path('a')}/tables", json=new_table("t"), headers=under(OTHER)))
        assert made["metadata-location"] == again["metadata-location"]


async def test_the_case_of_a_key_does_not_matter(ns: Client) -> None:
    body = {"namespace": ["a"]}
    done(await ns.post("/v1/namespaces", json=body, headers=under()))
    done(await ns.post("/v1/namespaces", json=body, headers=under(KEY.upper())))


async def test_commits_and_drops_are_done_once(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    first = done(await ns.post(path("ns", table="t"), json=setting(a="1"), headers=under()))
    done(await ns.post(path("ns", table="t"), json=setting(a="2")))
    assert (
        done(await ns.post(path("ns", table="t"), json=setting(a="1"), headers=under()))["metadata-location"] == first["metadata-location"]
    )
    done(await ns.delete(path("ns", table="t"), headers=under(OTHER)), 204)
    await make_table(ns, ["ns"], "t")
    done(await ns.delete(path("ns", table="t"), headers=under(OTHER)), 204)
    assert (await ns.head(path("ns", table="t"))).status_code == 204


async def test_a_refusal_is_answered_again(ns: Client) -> None:
    body = {"namespace": ["a", "b"]}
    first = await ns.post("/v1/namespaces", json=body, headers=under())
    refused(first, 404, "NoSuchNamespaceException")
    await make_namespace(ns, "a")
    assert (await ns.post("/v1/namespaces", json=body, headers=under())).json() == first.json()
    done(await ns.post("/v1/namespaces", json=body, headers=under(OTHER)))


async def test_a_refusal_is_forgotten_after_the_lifetime() -> None:
    clock = ManualClock()
    async with serving(clock=clock) as client:
        body = {"namespace": ["a", "b"]}
        refused(await client.post("/v1/namespaces", json=body, headers=under()), 404, "NoSuchNamespaceException")
        await make_namespace(client, "a")
        clock.advance(29 * 60)
        refused(await client.post("/v1/namespaces", json=body, headers=under()), 404, "NoSuchNamespaceException")
        clock.advance(2 * 60)
        done(await client.post("/v1/namespaces", json=body, headers=under()))


@pytest.mark.parametrize("first", [["a"], ["missing", "b"]], ids=["after a success", "after a refusal"])
async def test_a_key_is_for_one_request(ns: Client, first: list[str]) -> None:
    await ns.post("/v1/namespaces", json={"namespace": first}, headers=under())
    refused(await ns.post("/v1/namespaces", json={"namespace": ["b"]}, headers=under()), 400, "BadRequestException", "another request")
    refused(await ns.delete(path("ns"), headers=under()), 400, "BadRequestException", "another request")


async def test_the_query_belongs_to_the_request(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.delete(path("ns", table="t"), headers=under()), 204)
    answer = await ns.delete(path("ns", table="t"), params={"purgeRequested": "true"}, headers=under())
    refused(answer, 400, "BadRequestException", "another request")


async def test_the_same_request_compressed_is_the_same(ns: Client) -> None:
    body = b'{"namespace":["a"]}'
    done(await ns.post("/v1/namespaces", content=body, headers=under()))
    done(await ns.post("/v1/namespaces", content=gzip.compress(body), headers={**under(), "Content-Encoding": "gzip"}))


async def test_a_transaction_begins_once(server: Client) -> None:
    body = {"namespace": list(inside("1")), "properties": {"owner": "me"}}
    answers = await asyncio.gather(*(server.post("/v1/namespaces", json=body, headers=under()) for _ in range(8)))
    assert {answer.text for answer in answers} == {answers[0].text}
    done(answers[0])
    refused(await server.post("/v1/namespaces", json=body, headers=under(OTHER)), 409, "AlreadyExistsException")


async def test_a_repeated_commit_is_answered_as_the_first(server: Client) -> None:
    await begin(server, "1")
    body = {"removals": [], "updates": {"comment": "nightly", "commit": "TRUE"}}
    target = f"{path(*inside('1'))}/properties"
    first = done(await server.post(target, json=body))
    assert done(await server.post(target, json=body)) == first
    done(await commit(server, "1"))
    assert done(await server.get(path(*inside("1"))))["properties"]["comment"] == "nightly"


async def test_many_at_once_make_one_change(ns: Client) -> None:
    body = new_table("t")
    answers = await asyncio.gather(*(ns.post(f"{path('ns')}/tables", json=body, headers=under()) for _ in range(8)))
    assert {done(answer)["metadata-location"] for answer in answers} == {done(answers[0])["metadata-location"]}
