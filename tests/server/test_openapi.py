"""`/openapi.json`: it says what is served, neither more nor less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irc_server.operations import OPERATIONS, SERVED, Taking
from tests.server.harness import Client, Json, done, serving


@pytest.fixture
async def document(server: Client) -> Json:
    read: Json = done(await server.get("/openapi.json"))
    return read


def operations_in(document: Json) -> dict[str, Json]:
    return {f"{method.upper()} {template}": found for template, item in document["paths"].items() for method, found in item.items()}


def references_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for entry in value.values():
            yield from references_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from references_in(entry)


async def test_it_describes_what_is_advertised(server: Client, document: Json) -> None:
    endpoints = set(done(await server.get("/v1/config"))["endpoints"])
    own = {"GET /v1/config", "GET /openapi.json", "GET /healthz", "GET /readyz"}
    assert set(operations_in(document)) == endpoints | own
    assert {operation.name for operation in SERVED} == {found["operationId"] for found in operations_in(document).values()}


def test_names_and_paths_are_there_once() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({(operation.method, operation.template) for operation in OPERATIONS}) == len(OPERATIONS)


def test_every_reference_leads_somewhere(document: Json) -> None:
    references = set(references_in(document))
    assert references
    for reference in references:
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found["type"] == "object"


def test_every_level_of_a_path_is_a_parameter(document: Json) -> None:
    for name, operation in operations_in(document).items():
        named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        assert named == {part[1:-1] for part in name.split(" ")[1].split("/") if part.startswith("{")}, name


def test_bodies_keys_and_errors_are_described(document: Json) -> None:
    described = operations_in(document)
    for operation in SERVED:
        found = described[f"{operation.method} {operation.template}"]
        assert ("requestBody" in found) == isinstance(operation.handler, Taking)
        headers = {parameter["name"] for parameter in found["parameters"] if parameter["in"] == "header"}
        assert ("Idempotency-Key" in headers) == (operation.method in {"POST", "DELETE"})
        assert "304" in found["responses"] if "If-None-Match" in headers else "304" not in found["responses"]
        assert "401" in found["responses"]
        if operation.of_catalog:
            assert {"400", "403", "404", "429", "500"} <= found["responses"].keys()
            assert "Retry-After" in found["responses"]["429"]["headers"]
        for status, response in found["responses"].items():
            assert response["description"]
            if int(status) >= 400:
                assert ("content" in response) == (operation.method != "HEAD")


async def test_without_a_token_it_is_as_closed_as_everything() -> None:
    async with serving(token="secret") as client:
        assert (await client.get("/openapi.json")).status_code == 401
        done(await client.get("/openapi.json", headers={"authorization": "Bearer secret"}))


def test_the_page_on_conformance_names_every_operation_and_what_comes_of_it() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
    table = page.partition("## The specification's operations")[2].partition("### ")[0]
    rows = re.findall(r"^\| (`.+?) \| (.+?) \|$", table, re.MULTILINE)
    said = {name: answer.startswith("served") for names, answer in rows for name in re.findall(r"`(\w+)`", names)}
    own = {"getDocument", "getHealth", "getReadiness"}
    assert said == {operation.name: operation.answer is not None for operation in OPERATIONS if operation.name not in own}
