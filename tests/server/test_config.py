"""`GET /v1/config`: what clients are told before they ask for anything."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.server.harness import ROOT, Client, begin, commit, done, make_namespace, names_in, new_root, path, refused, serving
from tests.support.catalogs import ManualClock


async def prefix_of(client: Client, warehouse: str | None) -> str:
    params = {} if warehouse is None else {"warehouse": warehouse}
    body = done(await client.get("/v1/config", params=params))
    prefix: str = body["overrides"]["prefix"]
    return prefix


async def namespaces_at(client: Client, prefix: str) -> list[list[str]]:
    listed: list[list[str]] = done(await client.get(f"/v1/{prefix}/namespaces"))["namespaces"]
    return listed


async def test_the_shape_is_that_of_the_specification(server: Client) -> None:
    body = done(await server.get("/v1/config"))
    assert set(body) == {"defaults", "overrides", "endpoints", "idempotency-key-lifetime"}
    assert body["overrides"] == {"prefix": ROOT}
    assert all(isinstance(value, str) for value in [*body["defaults"].values(), *body["overrides"].values()])


async def test_no_namespace_separator_is_advertised(server: Client) -> None:
    body = done(await server.get("/v1/config"))
    assert "namespace-separator" not in {**body["defaults"], **body["overrides"]}


@pytest.mark.parametrize("minutes", [1, 30, 1440])
async def test_the_idempotency_lifetime_is_an_iso_8601_duration(minutes: int) -> None:
    async with serving(idempotency_lifetime_minutes=minutes) as client:
        assert done(await client.get("/v1/config"))["idempotency-key-lifetime"] == f"PT{minutes}M"


async def test_every_advertised_endpoint_is_served(ns: Client) -> None:
    endpoints = done(await ns.get("/v1/config"))["endpoints"]
    assert len(endpoints) == len(set(endpoints)) > 20
    for endpoint in endpoints:
        method, template = endpoint.split(" ")
        for where in (template.replace("{prefix}", ROOT), template.replace("/{prefix}", "")):
            target = where.replace("{namespace}", "ns").replace("{table}", "t").replace("{view}", "v").replace("{function}", "f")
            assert "{" not in target
            response = await ns.request(method, target, json={} if method == "POST" else None)
            assert response.status_code != 405, endpoint
            assert "No such path" not in response.text, endpoint
            assert response.status_code < 500, endpoint


async def test_the_endpoints_are_written_as_the_specification_names_them(server: Client) -> None:
    endpoints = done(await server.get("/v1/config"))["endpoints"]
    for expected in (
        "GET /v1/{prefix}/namespaces",
        "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
        "HEAD /v1/{prefix}/namespaces/{namespace}",
        "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
        "POST /v1/{prefix}/namespaces/{namespace}/register",
        "POST /v1/{prefix}/transactions/commit",
        "POST /v1/{prefix}/views/rename",
    ):
        assert expected in endpoints
    assert all(re.fullmatch(r"(GET|HEAD|POST|DELETE) /v1/\{prefix\}/[a-z/{}-]+", endpoint) for endpoint in endpoints)


async def test_a_root_is_a_warehouse_by_name_and_by_url(tmp_path: Path) -> None:
    roots = [f"one={tmp_path / 'one'}", f"two={tmp_path / 'two'}", f"at={tmp_path / 'a@b'}"]
    async with serving(roots=roots) as client:
        assert await prefix_of(client, None) == "one"
        assert await prefix_of(client, "") == "one"
        assert await prefix_of(client, "two") == "two"
        assert await prefix_of(client, str(tmp_path / "two")) == "two"
        assert await prefix_of(client, str(tmp_path / "two") + "/") == "two"
        assert await prefix_of(client, f"file://{tmp_path / 'two'}") == "two"
        assert await prefix_of(client, str(tmp_path / "a@b")) == "at"
        assert await prefix_of(client, f"{tmp_path / 'two'}@v0") == "two@v0"


async def test_roots_do_not_see_each_other(tmp_path: Path) -> None:
    async with serving(roots=[f"one={tmp_path / 'one'}", f"two={tmp_path / 'two'}"]) as client:
        done(await client.post("/v1/one/namespaces", json={"namespace": ["only_in_one"]}))
        assert await namespaces_at(client, "one") == [["only_in_one"]]
        assert await namespaces_at(client, "two") == []
        assert done(await client.get("/v1/namespaces"))["namespaces"] == [["only_in_one"]]
        refused(await client.get("/v1/two/namespaces/only_in_one"), 404, "NoSuchNamespaceException")


async def test_a_version_is_a_warehouse_that_cannot_be_written(server: Client) -> None:
    await make_namespace(server, "a")
    await make_namespace(server, "b")
    prefix = await prefix_of(server, f"{ROOT}@v1")
    assert prefix == f"{ROOT}@v1"
    assert await namespaces_at(server, prefix) == [["a"]]
    answer = await server.post(f"/v1/{prefix}/namespaces", json={"namespace": ["c"]})
    refused(answer, 403, "ForbiddenException", "Version 1")
    assert await namespaces_at(server, ROOT) == [["a"], ["b"]]


async def test_latest_is_pinned_when_the_session_starts(server: Client) -> None:
    await make_namespace(server, "a")
    prefix = await prefix_of(server, f"{ROOT}@latest")
    await make_namespace(server, "b")
    assert prefix == f"{ROOT}@v1"
    assert await namespaces_at(server, prefix) == [["a"]]


async def test_a_moment_is_a_warehouse() -> None:
    clock = ManualClock()
    async with serving(new_root(), clock=clock) as client:
        clock.advance(100)
        await make_namespace(client, "a")
        after_a = clock.now_ms()
        clock.advance(100)
        await make_namespace(client, "b")
        moment = datetime.fromtimestamp(after_a / 1000 + 10, tz=UTC)
        for text in (str(after_a), moment.isoformat(), moment.replace(tzinfo=None).isoformat(), moment.strftime("%Y-%m-%dT%H:%M:%SZ")):
            assert await prefix_of(client, f"{ROOT}@{text}") == f"{ROOT}@v1", text
        early = await client.get("/v1/config", params={"warehouse": f"{ROOT}@2001-01-01"})
        assert early.status_code == 404


async def test_a_transaction_is_a_warehouse(server: Client) -> None:
    await make_namespace(server, "outside")
    await begin(server, "w1")
    prefix = await prefix_of(server, f"{ROOT}@dtxn_w1")
    assert prefix == f"{ROOT}@dtxn_w1"
    done(await server.post(f"/v1/{prefix}/namespaces", json={"namespace": ["inside"]}))
    assert await namespaces_at(server, prefix) == [["inside"], ["outside"]]
    assert await namespaces_at(server, ROOT) == [["outside"]]
    done(await commit(server, "w1"))
    assert await namespaces_at(server, ROOT) == [["inside"], ["outside"]]
    refused(await server.get(f"/v1/{prefix}/namespaces"), 404, "NoSuchNamespaceException", "w1", "committed")
    answer = await server.post(f"/v1/{prefix}/namespaces", json={"namespace": ["late"]})
    refused(answer, 404, "NoSuchNamespaceException", "w1", "committed")


@pytest.mark.parametrize(
    "name", ["nope", "memory://nope", "nope@v0", "nope@latest", "s3://bucket/x", "../lake", f"{ROOT}@v0@v0", f"{ROOT} "]
)
async def test_an_unknown_warehouse_is_not_found(server: Client, name: str) -> None:
    refused(await server.get("/v1/config", params={"warehouse": name}), 404, "NoSuchWarehouseException", "Warehouse does not exist")


@pytest.mark.parametrize("state", ["branch:main", "tag:x", "branch:", "v99", "v" + "9" * 30, "dtxn_nobody"])
async def test_an_unknown_state_of_a_root_is_not_found(server: Client, state: str) -> None:
    response = await server.get("/v1/config", params={"warehouse": f"{ROOT}@{state}"})
    assert response.status_code == 404
    assert response.json()["error"]["type"] in {"NoSuchWarehouseException", "NoSuchNamespaceException"}


@pytest.mark.parametrize(
    "state", ["", "v", "v-1", "v1x", "yesterday", "12", "2026-99-01", "9" * 5000, "v" + "9" * 5000, "dtxn_", "dtxn_..", "dtxn_\0"]
)
async def test_a_malformed_state_is_the_clients_mistake(server: Client, state: str) -> None:
    response = await server.get("/v1/config", params={"warehouse": f"{ROOT}@{state}"})
    assert response.status_code in {400, 404}, response.text
    refused(response, response.status_code, response.json()["error"]["type"])


@pytest.mark.parametrize(
    "prefix", ["nope", "nope@v1", f"{ROOT}@", f"{ROOT}@vx", f"{ROOT}@branch:x", f"{ROOT}@latest", "%FF", "@", f"{ROOT}@v{'9' * 5000}"]
)
async def test_a_wrong_prefix_is_not_found_whatever_is_asked(server: Client, prefix: str) -> None:
    for target in (f"/v1/{prefix}/namespaces", f"/v1/{prefix}/namespaces/ns/tables/t"):
        response = await server.raw("GET", target.encode())
        assert response.status_code in {400, 404}, (target, response.text)
        assert "prefix" in response.text or "Warehouse" in response.text or "ersion" in response.text, response.text


async def test_a_version_that_does_not_exist_yet_is_not_found_as_a_prefix(server: Client) -> None:
    response = await server.get(f"/v1/{ROOT}@v7/namespaces")
    assert response.status_code == 404
    assert "7" in response.json()["error"]["message"]


@pytest.mark.parametrize("bad", ["dtxn_nobody", "dtxn_..", "dtxn_", "dtxn_%2E%2E%2F%2E%2E%2Fvn", "dtxn_%00", "dtxn_" + "x" * 3000])
async def test_a_prefix_of_an_impossible_transaction_is_not_found(server: Client, bad: str) -> None:
    refused(await server.raw("GET", f"/v1/{ROOT}@{bad}/namespaces".encode()), 404, "NoSuchNamespaceException")


async def test_clients_on_s3_learn_how_to_reach_the_files() -> None:
    # Nothing is requested of the store by a server that does not create catalogs and whose root has no answer yet.
    async with serving(new_root(), s3_endpoint="http://127.0.0.1:1", s3_region="eu-central-1") as client:
        settings_of_memory = done(await client.get("/v1/config"))["defaults"]
    assert settings_of_memory == {}


async def test_names_of_tables_are_whole_in_a_past_version(ns: Client) -> None:
    done(await ns.post(f"{path('ns')}/tables", json={"name": "t", "schema": {"type": "struct", "fields": []}}))
    assert done(await ns.get(f"{path('ns', prefix=f'{ROOT}@v2')}/tables"))["identifiers"] == [{"namespace": ["ns"], "name": "t"}]
    assert done(await ns.get(f"{path('ns', prefix=f'{ROOT}@v1')}/tables"))["identifiers"] == []
    assert await names_in(ns, "ns") == ["t"]
