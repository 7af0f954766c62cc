"""The server against its own document, with generated requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from schemathesis.schemas import BaseSchema

from irc_server.operations import SERVED, Operation
from tests.server.fuzzing import fuzz, fuzzed_server
from tests.support.servers import RunningServer

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with fuzzed_server(tmp_path_factory.mktemp("fuzzed")) as running:
        yield running


@pytest.fixture(scope="module")
def document(server: RunningServer) -> BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


@pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
def test_every_answer_is_as_described(server: RunningServer, document: BaseSchema, operation: Operation) -> None:
    fuzz(server, document, operation, max_examples=15)
