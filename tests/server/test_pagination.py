"""Listings in pages: one consistent listing, whatever happens meanwhile."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.server.harness import Client, Json, begin, done, inside, make_namespace, make_table, make_view, path, refused

NAMES = [f"n{number:02}" for number in range(7)]


@pytest.fixture
async def full(ns: Client) -> Client:
    """Seven namespaces, tables and views in `ns`."""
    for name in NAMES:
        await make_namespace(ns, "ns", name)
        await make_table(ns, ["ns"], f"t{name}")
        await make_view(ns, ["ns"], f"v{name}")
    return ns


LISTINGS = [
    (path(), {"parent": "ns"}, "namespaces"),
    (f"{path('ns')}/tables", {}, "identifiers"),
    (f"{path('ns')}/views", {}, "identifiers"),
]
KINDS = pytest.mark.parametrize(("target", "params", "key"), LISTINGS, ids=["namespaces", "tables", "views"])


async def pages(client: Client, target: str, params: dict[str, str], key: str, size: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    token: str | None = ""
    while token is not None:
        answer = done(await client.get(target, params={**params, "pageToken": token, "pageSize": str(size)}))
        found.append(answer[key])
        token = answer.get("next-page-token")
        assert len(found) < 20
    return found


@KINDS
async def test_without_a_token_everything_comes_at_once(full: Client, target: str, params: dict[str, str], key: str) -> None:
    for size in ({}, {"pageSize": "1"}):
        answer = done(await full.get(target, params={**params, **size}))
        assert len(answer[key]) == 7
        assert answer["next-page-token"] is None


@KINDS
@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8, 1000, 2**31])
async def test_pages_put_together_are_the_listing(full: Client, target: str, params: dict[str, str], key: str, size: int) -> None:
    every = done(await full.get(target, params=params))[key]
    found = await pages(full, target, params, key, size)
    assert [item for page in found for item in page] == every
    assert all(len(page) == size for page in found[:-1])
    assert 0 < len(found[-1]) <= size


@KINDS
async def test_an_empty_token_alone_begins_with_a_page(full: Client, target: str, params: dict[str, str], key: str) -> None:
    answer = done(await full.get(target, params={**params, "pageToken": ""}))
    assert len(answer[key]) == 7
    assert answer.get("next-page-token") is None


@KINDS
@pytest.mark.parametrize("size", ["0", "000", "-1", "x", "", "1.5", "1e3", " 1", "٣", "²"])
async def test_a_page_size_is_a_positive_number(full: Client, target: str, params: dict[str, str], key: str, size: str) -> None:
    answer = await full.get(target, params={**params, "pageToken": "", "pageSize": size})
    refused(answer, 400, "BadRequestException", "pageSize")


@KINDS
@pytest.mark.parametrize("size", ["9" * 11, "9" * 5000])
async def test_a_page_may_be_as_large_as_anybody_likes(full: Client, target: str, params: dict[str, str], key: str, size: str) -> None:
    answer = done(await full.get(target, params={**params, "pageToken": "", "pageSize": size}))
    assert len(answer[key]) == 7


def token_of(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


BAD_TOKENS = [
    "x", "=", "====", "🏔", "W10=", "null", "%", "a" * 5000, token_of([]), token_of({}), token_of([1]), token_of([1, 2]),
    token_of([1, "xyz"]), token_of(["1", ""]), token_of([1.5, ""]),
    token_of([-1, ""]), token_of([None, None]), token_of([1, "", ""]), token_of([1 << 70, "00"]), token_of([1 << 62, "00"]),
    token_of([10**6, "00"]), token_of([True, "00"]),
]  # fmt: skip


@KINDS
@pytest.mark.parametrize("token", BAD_TOKENS)
async def test_a_token_that_nobody_gave_is_refused(full: Client, target: str, params: dict[str, str], key: str, token: str) -> None:
    answer = await full.get(target, params={**params, "pageToken": token, "pageSize": "2"})
    assert answer.status_code in {200, 400, 404}, answer.text
    if answer.status_code == 200:
        every = done(await full.get(target, params=params))[key]
        assert all(item in every for item in answer.json()[key])
    else:
        refused(answer, answer.status_code, answer.json()["error"]["type"])


@pytest.mark.parametrize(
    "after", ["", "00", "41", "413d3d3d", "423d3d3d1e", "463d3d3d1e", "433d3d3d6e731e", "ff", "ff" * 2000, "433d3d3d61"]
)
async def test_a_forged_token_shows_nothing_but_the_listing(full: Client, after: str) -> None:
    """The token names the key to go on from: keys of other types and other namespaces must stay out of sight."""
    headers = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}
    done(await full.post("/v1/namespaces", json={"namespace": ["a"]}, headers=headers))
    await make_table(full, ["a"], "secret")
    for target, params, key in LISTINGS:
        every = done(await full.get(target, params=params))[key]
        answer = await full.get(target, params={**params, "pageToken": token_of([24, after]), "pageSize": "1000"})
        if answer.status_code == 200:
            assert all(item in every for item in answer.json()[key]), answer.text
        else:
            refused(answer, 400, "BadRequestException", "oken")


@KINDS
async def test_a_token_of_another_listing_shows_nothing_of_it(full: Client, target: str, params: dict[str, str], key: str) -> None:
    every = done(await full.get(target, params=params))[key]
    for other, other_params, _ in LISTINGS:
        token = done(await full.get(other, params={**other_params, "pageToken": "", "pageSize": "3"}))["next-page-token"]
        answer = await full.get(target, params={**params, "pageToken": token, "pageSize": "100"})
        if answer.status_code == 200:
            assert all(item in every for item in answer.json()[key])
        else:
            refused(answer, 400, "BadRequestException", "oken")


async def test_pages_are_of_the_version_that_they_began_on(full: Client) -> None:
    target = f"{path('ns')}/tables"
    first = done(await full.get(target, params={"pageToken": "", "pageSize": "3"}))
    done(await full.delete(path("ns", table="tn05")), 204)
    done(await full.delete(path("ns", table="tn00")), 204)
    await make_table(full, ["ns"], "tn03b")
    await make_table(full, ["ns"], "a")
    rest: list[Json] = []
    token = first["next-page-token"]
    while token is not None:
        answer = done(await full.get(target, params={"pageToken": token, "pageSize": "3"}))
        rest += answer["identifiers"]
        token = answer.get("next-page-token")
    assert [item["name"] for item in first["identifiers"] + rest] == [f"t{name}" for name in NAMES]
    now = [item["name"] for item in done(await full.get(target))["identifiers"]]
    assert now == ["a", "tn01", "tn02", "tn03", "tn03b", "tn04", "tn06"]


async def test_a_namespace_that_was_dropped_can_still_be_listed_to_the_end(full: Client) -> None:
    params = {"parent": "ns", "pageToken": "", "pageSize": "4"}
    first = done(await full.get(path(), params=params))
    for name in NAMES:
        done(await full.delete(path("ns", name)), 204)
    second = done(await full.get(path(), params={**params, "pageToken": first["next-page-token"]}))
    assert len(first["namespaces"] + second["namespaces"]) == 7


async def test_pages_inside_a_transaction_and_of_a_past_version(full: Client) -> None:
    await begin(full, "t")
    await make_table(full, inside("t", "ns"), "zz")
    found = await pages(full, f"{path(*inside('t', 'ns'))}/tables", {}, "identifiers", 3)
    assert [item["name"] for page in found for item in page] == [*(f"t{name}" for name in NAMES), "zz"]
    assert all(item["namespace"] == list(inside("t", "ns")) for page in found for item in page)
    past = await pages(full, f"{path('ns', prefix='lake@v4')}/tables", {}, "identifiers", 1)
    assert [item["name"] for page in past for item in page] == ["tn00"]
    await make_namespace(full, "top")
    top = await pages(full, path(), {"parent": "\x1f".join(inside("t"))}, "namespaces", 1)
    assert top == [[[*inside("t"), "ns"]]]


async def test_a_past_version_is_listed_as_it_was_even_with_a_token_from_now(full: Client) -> None:
    token = done(await full.get(f"{path('ns')}/tables", params={"pageToken": "", "pageSize": "1"}))["next-page-token"]
    answer = await full.get(f"{path('ns', prefix='lake@v4')}/tables", params={"pageToken": token, "pageSize": "100"})
    if answer.status_code == 200:
        assert [item["name"] for item in answer.json()["identifiers"]] in ([], ["tn00"])
