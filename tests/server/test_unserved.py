"""Operations of the specification that are not offered."""

from __future__ import annotations

import pytest

from tests.server.harness import Client, done, make_table, refused

TABLE = "/v1/lake/namespaces/ns/tables/t"
NOT_OFFERED = [
    ("POST", f"{TABLE}/plan", 406, "client plan"),
    ("GET", f"{TABLE}/plan/some-id", 501, "client plan"),
    ("DELETE", f"{TABLE}/plan/some-id", 501, "client plan"),
    ("POST", f"{TABLE}/tasks", 501, "client plan"),
    ("GET", f"{TABLE}/credentials", 501, "own access"),
    ("POST", f"{TABLE}/sign", 501, "own access"),
]


@pytest.mark.parametrize(("method", "target", "status", "says"), NOT_OFFERED)
@pytest.mark.parametrize("body", [b"", b"{}", b"nope"])
async def test_they_say_so_and_what_to_do_instead(ns: Client, method: str, target: str, status: int, says: str, body: bytes) -> None:
    await make_table(ns, ["ns"], "t")
    for where in (target, target.replace("/lake", "")):
        refused(await ns.request(method, where, content=body), status, "UnsupportedOperationException", says)


@pytest.mark.parametrize(("method", "target", "status", "says"), NOT_OFFERED)
async def test_a_wrong_prefix_is_told_first(ns: Client, method: str, target: str, status: int, says: str) -> None:
    refused(await ns.request(method, target.replace("lake", "nope")), 404, "NoSuchWarehouseException", "prefix")


async def test_tokens_are_refused_in_the_shape_of_oauth(server: Client) -> None:
    answer = await server.post("/v1/oauth/tokens", data={"grant_type": "client_credentials"})
    assert answer.status_code == 501
    assert answer.headers["content-type"] == "application/json"
    said = answer.json()
    assert said.keys() == {"error", "error_description"}
    assert said["error"] == "unsupported_grant_type"
    assert "bearer token" in said["error_description"]


async def test_they_are_not_advertised(server: Client) -> None:
    endpoints = done(await server.get("/v1/config"))["endpoints"]
    assert not [
        endpoint for endpoint in endpoints if endpoint.rsplit("/", 1)[-1] in {"plan", "{plan-id}", "tasks", "credentials", "sign", "tokens"}
    ]
    assert "/v1/oauth/tokens" not in done(await server.get("/openapi.json"))["paths"]
