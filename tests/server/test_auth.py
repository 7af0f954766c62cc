"""One static token, or none."""

from __future__ import annotations

import pytest

from irc_server.auth import StaticToken
from tests.server.harness import Client, done, path, refused, serving

WRONG = [
    None, "", "Bearer", "Bearer ", "Bearer  ", "Bearer None", "Bearer wrong", "Bearer secre", "Bearer secrett", "Bearer SECRET", "secret",
    "Basic secret", "Basic Bearer secret",
    "Token secret", "BearerXsecret", "Bearer\tsecret", "Bearer secret secret", "Bearer \xff", "Bearer secret,Bearer secret",
    "Bearer s\u00e9cret",
]  # fmt: skip


@pytest.fixture
async def guarded() -> object:
    async with serving(token="secret") as client:
        yield client


@pytest.mark.parametrize("authorization", WRONG)
async def test_without_the_token_nothing_is_answered(guarded: Client, authorization: str | None) -> None:
    headers = {"host": "x"} if authorization is None else {"host": "x", "authorization": authorization}
    for method, target in (
        ("GET", b"/v1/config"),
        ("GET", b"/v1/namespaces"),
        ("POST", b"/v1/namespaces"),
        ("GET", b"/nope"),
        ("PUT", b"/v1/namespaces"),
    ):
        response = await guarded.raw(method, target, headers=headers, body=b'{"namespace":["x"]}')
        refused(response, 401, "NotAuthorizedException")
        assert response.headers["www-authenticate"] == "Bearer"
        assert "secret" not in response.text
    assert done(await guarded.get("/v1/namespaces", headers={"authorization": "Bearer secret"}))["namespaces"] == []


@pytest.mark.parametrize("authorization", ["Bearer secret", "bearer secret", "BEARER secret", "Bearer  secret", "Bearer secret "])
async def test_with_the_token_everything_is(guarded: Client, authorization: str) -> None:
    done(await guarded.get("/v1/config", headers={"authorization": authorization}))


async def test_health_needs_no_token(guarded: Client) -> None:
    done(await guarded.get("/healthz"))
    done(await guarded.get("/readyz"))
    assert (await guarded.head("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        b"/%68ealthz",
        b"//healthz",
        b"/healthz/",
        b"/healthz/../v1/config",
        b"/v1/../healthz",
        b"/healthz%2F..%2Fv1/config",
        b"/readyz;/v1/config",
    ],
)
async def test_nothing_else_passes_for_health(guarded: Client, target: bytes) -> None:
    refused(await guarded.raw("GET", target), 401, "NotAuthorizedException")


async def test_a_body_is_not_read_for_a_stranger(guarded: Client) -> None:
    async def never() -> object:
        raise AssertionError("the body was asked for")
        yield b""

    refused(await guarded.post("/v1/namespaces", content=never()), 401, "NotAuthorizedException")


@pytest.mark.parametrize("authorization", [None, "Bearer None", "Bearer anything", "Basic eDp5", "\xff"])
async def test_without_a_configured_token_anything_goes(server: Client, authorization: str | None) -> None:
    headers = {"host": "x"} if authorization is None else {"host": "x", "authorization": authorization}
    done(await server.raw("GET", b"/v1/namespaces", headers=headers))
    assert (await server.head(path("no"))).status_code == 404


@pytest.mark.parametrize("token", ["sécret", "密", "a b", "x" * 4000])
async def test_a_token_may_hold_any_characters(token: str) -> None:
    async with serving(token=token) as client:
        response = await client.raw(
            "GET", b"/v1/config", headers={"host": "x", "authorization": f"Bearer {token}".encode().decode("latin-1")}
        )
        done(response)


def test_the_comparison_looks_at_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is no good witness in a test; that the comparison is left to `hmac` is."""
    import hmac

    compared: list[tuple[bytes, bytes]] = []
    original = hmac.compare_digest

    def noting(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return original(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noting)
    token = StaticToken("secret")
    for sent in (b"", b"Bearer secret", b"Basic secret", b"Bearer wrong"):
        token.admits(sent)
    assert len(compared) == 4


async def test_the_scheme_of_clients_with_two_headers_is_the_first(guarded: Client) -> None:
    response = await guarded.get("/v1/config", headers=[("authorization", "Bearer wrong"), ("authorization", "Bearer secret")])
    refused(response, 401, "NotAuthorizedException")
