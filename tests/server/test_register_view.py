"""Registering views from metadata files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.harness import ROOT, Client, Json, begin, commit, done, inside, make_table, make_view, names_in, path, refused

KEY = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}


def view_metadata(**changes: Any) -> Json:
    version = {
        "version-id": 1,
        "timestamp-ms": 1_700_000_000_000,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["ns"],
        "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
    }
    metadata = {
        "view-uuid": "0b1d1c6e-29c4-4f9f-8a5e-5d1a3d8b4a10",
        "format-version": 1,
        "location": "file:///elsewhere/v",
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}],
        "current-version-id": 1,
        "versions": [version],
        "version-log": [{"timestamp-ms": 1_700_000_000_000, "version-id": 1}],
        "properties": {"from": "file"},
        **changes,
    }
    return {key: value for key, value in metadata.items() if value is not None}


def written(folder: Path, content: Json | bytes) -> str:
    file = folder / "00000-x.metadata.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return f"file://{file}"


def register(location: str, name: str = "v") -> Json:
    return {"name": name, "metadata-location": location}


TARGET = f"{path('ns')}/register-view"


async def test_the_file_is_taken_as_it_is(folder_server: Client, tmp_path: Path) -> None:
    location = written(tmp_path, view_metadata())
    answer = await folder_server.post(TARGET, json=register(location))
    assert answer.headers["etag"]
    assert done(answer) == {"metadata-location": location, "metadata": view_metadata(), "config": {}}
    assert done(await folder_server.get(path("ns", view="v"))) == done(answer)
    refused(await folder_server.post(TARGET, json=register(location)), 409, "AlreadyExistsException", "View already exists: ns.v")


async def test_a_view_of_this_catalog_gets_a_file_of_its_own(folder_server: Client) -> None:
    made = await make_view(folder_server, ["ns"], "v")
    done(await folder_server.delete(path("ns", view="v")), 204)
    again = done(await folder_server.post(TARGET, json=register(made["metadata-location"], "again")))
    assert again["metadata"] == made["metadata"]
    assert again["metadata-location"] != made["metadata-location"]


async def test_taken_names_and_missing_namespaces_are_refused(folder_server: Client, tmp_path: Path) -> None:
    location = written(tmp_path, view_metadata())
    await make_table(folder_server, ["ns"], "t")
    taken = await folder_server.post(TARGET, json=register(location, "t"))
    refused(taken, 409, "AlreadyExistsException", "Table with same name already exists: ns.t")
    missing = await folder_server.post(f"{path('no')}/register-view", json=register(location))
    refused(missing, 404, "NoSuchNamespaceException", "Namespace does not exist: no")
    for namespace in ("sys", "sys\x1fdtxns"):
        refused(await folder_server.post(f"{path(namespace)}/register-view", json=register(location)), 400, "BadRequestException")


async def test_a_file_that_is_not_there_is_named(folder_server: Client, tmp_path: Path) -> None:
    answer = await folder_server.post(TARGET, json=register(f"file://{tmp_path}/no.metadata.json"))
    refused(answer, 404, "NotFoundException", "Failed to open input stream for file", "no.metadata.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nope",
        b"[]",
        b"{}",
        view_metadata(**{"view-uuid": None}),
        view_metadata(**{"view-uuid": 1}),
        view_metadata(**{"format-version": 9}),
        view_metadata(location=None),
        view_metadata(**{"current-version-id": 2}),
        view_metadata(versions=[1]),
        view_metadata(versions=[{"version-id": 1}]),
        view_metadata(versions=None),
        view_metadata(schemas=[{"type": "long"}]),
        view_metadata(schemas=[]),
        view_metadata(properties={"a": 1}),
        view_metadata(**{"version-log": [1]}),
    ],
)
async def test_a_file_that_holds_no_view_is_refused(folder_server: Client, tmp_path: Path, content: Json | bytes) -> None:
    refused(await folder_server.post(TARGET, json=register(written(tmp_path, content))), 400, "BadRequestException")
    assert await names_in(folder_server, "ns", what="views") == []


async def test_the_file_of_a_table_is_refused(folder_server: Client) -> None:
    made = await make_table(folder_server, ["ns"], "t")
    refused(await folder_server.post(TARGET, json=register(made["metadata-location"])), 400, "BadRequestException")


@pytest.mark.parametrize(("body", "field"), [({}, "name"), ({"name": "v"}, "metadata-location"), ({"name": 1}, "name")])
async def test_a_malformed_request_is_named(ns: Client, body: Json, field: str) -> None:
    refused(await ns.post(TARGET, json=body), 400, "BadRequestException", field)


async def test_a_repeated_request_is_answered_as_the_first_was(folder_server: Client, tmp_path: Path) -> None:
    body = register(written(tmp_path, view_metadata()))
    first = done(await folder_server.post(TARGET, json=body, headers=KEY))
    assert done(await folder_server.post(TARGET, json=body, headers=KEY)) == first


async def test_inside_a_transaction_and_in_the_past(folder_server: Client, tmp_path: Path) -> None:
    body = register(written(tmp_path, view_metadata()))
    await begin(folder_server, "x")
    answer = done(await folder_server.post(f"{path(*inside('x', 'ns'))}/register-view", json=body))
    # Read below the transaction's name, plain names in the SQL mean the transaction's tables.
    assert answer["metadata"]["versions"][0]["default-namespace"] == list(inside("x", "ns"))
    assert await names_in(folder_server, "ns", what="views") == []
    done(await commit(folder_server, "x"))
    assert done(await folder_server.get(path("ns", view="v")))["metadata"] == view_metadata()
    refused(await folder_server.post(f"{path('ns', prefix=f'{ROOT}@v1')}/register-view", json=body), 403, "ForbiddenException")
