"""The server against Iceberg's own OpenAPI file, with generated requests.

The file is not part of this repository: `ICEBERG_OPENAPI` names it, or it lies in `../shared/spec/` beside the checkout.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from schemathesis.schemas import BaseSchema

from irc_server.operations import OPERATIONS, Operation
from tests.server.fuzzing import fuzz, fuzzed_server
from tests.server.harness import Json
from tests.support.servers import RunningServer

pytestmark = pytest.mark.long

VARIABLE = "ICEBERG_OPENAPI"
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "150"))
"""Requests for each operation."""
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "spec" / "rest-catalog-open-api.yaml"
OF_THE_SPECIFICATION = [operation for operation in OPERATIONS if operation.of_catalog or operation.name in {"getConfig", "getToken"}]

# What the file leaves out: statuses that it has for other operations of the same kind, and which clients understand.
MORE_STATUSES = {
    # The parent of a new namespace has to exist.
    "createNamespace": [404],
}


def file() -> Path:
    named = os.environ.get(VARIABLE)
    place = Path(named) if named else BESIDE
    if not place.is_file():
        pytest.fail(
            f"{place} is not there. It is open-api/rest-catalog-open-api.yaml of apache/iceberg: "
            f"put it there, or set {VARIABLE} to where it is",
            pytrace=False,
        )
    return place


@pytest.fixture(scope="module")
def written() -> Json:
    """The file as it stands."""
    read: Json = yaml.safe_load(file().read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def specification(written: Json) -> BaseSchema:
    """The file, with what is said in its prose or examples put where validators look."""
    document = deepcopy(written)
    _nullable(document)
    # From format 3 on, Java writes null for a table without snapshots, where it wrote -1 before.
    document["components"]["schemas"]["TableMetadata"]["properties"]["current-snapshot-id"]["type"] = ["integer", "null"]
    responses = document["components"]["responses"]
    wrapped = responses["IcebergErrorResponse"]
    # Declared as a bare ErrorModel in places, though every example there is wrapped in "error", as everywhere else.
    responses["UnsupportedOperationResponse"] = wrapped
    for item in document["paths"].values():
        for method, operation in item.items():
            if method == "parameters":
                continue
            for status in MORE_STATUSES.get(operation["operationId"], []):
                operation["responses"][status] = wrapped
            for response in operation["responses"].values():
                for content in response.get("content", {}).values():
                    if content.get("schema", {}).get("$ref") == "#/components/schemas/ErrorModel":
                        content["schema"]["$ref"] = "#/components/schemas/IcebergErrorResponse"
    return schemathesis.openapi.from_dict(document)


def _nullable(node: Any) -> None:
    """`nullable` of OpenAPI 3.0 means nothing in the 3.1 that the file claims to be."""
    if isinstance(node, dict):
        if node.get("nullable") is True and isinstance(node.get("type"), str):
            node["type"] = [node["type"], "null"]
        for value in node.values():
            _nullable(value)
    elif isinstance(node, list):
        for value in node:
            _nullable(value)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with fuzzed_server(tmp_path_factory.mktemp("fuzzed")) as running:
        yield running


def test_every_operation_of_the_specification_has_an_answer(written: Json) -> None:
    specified = {
        (operation["operationId"], method.upper(), template)
        for template, item in written["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }
    assert specified == {(operation.name, operation.method, operation.template) for operation in OF_THE_SPECIFICATION}


def test_parameters_and_statuses_are_those_of_the_specification(written: Json) -> None:
    """What is not understood of them is listed here, and why."""
    ignored = {
        # No credentials are given out, in no way that a client could ask for.
        "X-Iceberg-Access-Delegation",
        # Nobody is refused a table for the view through which it is read.
        "referenced-by",
    }
    for operation in OF_THE_SPECIFICATION:
        if operation.answer is None:
            continue
        item = written["paths"][operation.template]
        specified = item[operation.method.lower()]
        named = {_resolved(written, parameter)["name"] for parameter in specified.get("parameters", [])}
        ours = {parameter.name for parameter in operation.parameters} | ({"Idempotency-Key"} if operation.writes else set())
        assert named - ours <= ignored, operation.name
        assert operation.answer.status in specified["responses"], operation.name


def _resolved(document: Json, node: Json) -> Json:
    found: Any = node
    while "$ref" in found:
        path = found["$ref"].removeprefix("#/").split("/")
        found = document
        for step in path:
            found = found[step]
    resolved: Json = found
    return resolved


@pytest.mark.parametrize("operation", OF_THE_SPECIFICATION, ids=lambda operation: operation.name)
def test_every_answer_is_as_specified(server: RunningServer, specification: BaseSchema, operation: Operation) -> None:
    fuzz(server, specification, operation, max_examples=EXAMPLES)
