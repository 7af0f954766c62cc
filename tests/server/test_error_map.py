"""The error map knows every error, and the log says what happened."""

from __future__ import annotations

import inspect

import orjson
import pytest

from catalog_format import errors
from catalog_format.storage import MemoryStorage
from catalog_format.storage.faulty import FaultyStorage, Request, Rule, ScriptedPlan
from irc_server import error_map
from irc_server.error_map import error_response, foreseen, status_and_type
from tests.server.harness import done, make_namespace, path, refused, serving, serving_over, setting
from tests.support.catalogs import ManualClock

CLASSES = [
    entry
    for module in (errors, error_map)
    for _, entry in inspect.getmembers(module, inspect.isclass)
    if issubclass(entry, Exception) and entry.__module__ == module.__name__
]

EXPECTED = {
    "RetryLater": (429, "TooManyRequestsException"),
    "StoreThrottledError": (429, "TooManyRequestsException"),
    "StoreUnavailableError": (429, "TooManyRequestsException"),
    "ContendedError": (429, "TooManyRequestsException"),
    "BadRequest": (400, "BadRequestException"),
    "InvalidArgumentError": (400, "BadRequestException"),
    "UnsupportedError": (406, "UnsupportedOperationException"),
    "ReadOnlyError": (403, "ForbiddenException"),
    "NotFoundError": (404, "NotFoundException"),
    "NoSuchNamespaceError": (404, "NoSuchNamespaceException"),
    "NoSuchTableError": (404, "NoSuchTableException"),
    "NoSuchViewError": (404, "NoSuchViewException"),
    "NoSuchVersionError": (404, "NoSuchWarehouseException"),
    "NoSuchTransactionError": (404, "NoSuchNamespaceException"),
    "NoSuchWarehouseError": (404, "NoSuchWarehouseException"),
    "MissingFileError": (404, "NotFoundException"),
    "AlreadyExistsError": (409, "AlreadyExistsException"),
    "NamespaceNotEmptyError": (409, "NamespaceNotEmptyException"),
    "ConflictError": (409, "CommitFailedException"),
    "RequirementFailedError": (409, "CommitFailedException"),
    "TransactionRefusedError": (409, "CommitFailedException"),
    "TransactionEndedError": (409, "CommitFailedException"),
    "GiveUp": (500, "ServiceFailureException"),
    "CorruptFileError": (500, "ServiceFailureException"),
    "NotACatalogError": (500, "ServiceFailureException"),
    "NewerFormatError": (500, "ServiceFailureException"),
    "StoreDeniedError": (403, "ForbiddenException"),
    "StoreFullError": (507, "ServiceFailureException"),
    "ClockSkewError": (421, "ServiceFailureException"),
    "UnknownOutcomeError": (500, "CommitStateUnknownException"),
    "TreelineError": (500, "InternalServerError"),
    "NotAuthorizedError": (401, "NotAuthorizedException"),
    "PayloadTooLargeError": (413, "BadRequestException"),
    "UnprocessableError": (422, "UnprocessableEntityException"),
    "RouteNotFoundError": (404, "NotFoundException"),
    "MethodNotAllowedError": (405, "UnsupportedOperationException"),
    "NotReadyError": (503, "ServiceUnavailableException"),
}


def test_every_error_has_its_status_and_type() -> None:
    assert {entry.__name__: status_and_type(entry("x")) for entry in CLASSES} == EXPECTED


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_body_has_message_type_and_code(kind: type[Exception]) -> None:
    response = error_response(kind("what happened"))
    status, name = EXPECTED[kind.__name__]
    assert response.status_code == status
    error = orjson.loads(response.body)["error"]
    assert (error["type"], error["code"]) == (name, status)
    assert error["message"] == "what happened" or not foreseen(kind("x"))
    bare = error_response(kind("what happened"), with_body=False)
    assert (bare.status_code, bare.body) == (status, b"")


def test_an_empty_message_is_replaced() -> None:
    assert orjson.loads(error_response(errors.ConflictError("")).body)["error"]["message"]


def test_only_conflicts_and_taken_names_are_409() -> None:
    told = {name for name, (status, _) in EXPECTED.items() if status == 409}
    proven = {
        entry.__name__
        for entry in CLASSES
        if issubclass(entry, (errors.ConflictError, errors.AlreadyExistsError, errors.NamespaceNotEmptyError))
    }
    assert told == proven


def test_what_was_not_tried_is_never_told_as_unknown() -> None:
    for entry in CLASSES:
        if issubclass(entry, errors.RetryLater):
            response = error_response(entry("x", 2.4))
            assert response.status_code not in {500, 502, 503, 504}
            assert response.headers["retry-after"] == "2"


class Defect:
    """A store with a bug."""

    async def strike(self, request: Request) -> object:
        raise KeyError(f"a defect with /some/private/path at {request.call.path}")


Captured = pytest.CaptureFixture[str]


def lines(written: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in written.splitlines()]


async def test_each_request_is_one_line_of_json(capsys: Captured) -> None:
    async with serving(request_log=True) as client:
        agents = {"user-agent": "PyIceberg/0.12"}
        made = await client.post("/v1/namespaces", json={"namespace": ["a b"]}, headers=agents)
        missing = await client.get(path("ü/x"), headers=agents, params={"token": "x"})
        head = await client.head("/nope")
    first, second, third = lines(capsys.readouterr().err)
    assert {"at", "request", "method", "path", "status", "ms", "bytes", "agent"} <= first.keys()
    assert (first["method"], first["path"], first["status"], first["agent"]) == ("POST", "/v1/namespaces", 200, "PyIceberg/0.12")
    assert first["bytes"] == len(made.content)
    assert first["request"] == made.headers["x-request-id"] != missing.headers["x-request-id"]
    assert (second["path"], second["status"]) == ("/v1/namespaces/%C3%BC%2Fx", 404)
    assert "NoSuchNamespaceError" in str(second["error"])
    assert "ü/x" in str(second["error"])
    assert (third["method"], third["status"], third["bytes"]) == ("HEAD", 404, 0)
    assert head.headers["x-request-id"] == third["request"]
    assert "traceback" not in {**first, **second, **third}


async def test_lines_stay_lines_whatever_is_asked(capsys: Captured) -> None:
    async with serving(request_log=True) as client:
        headers = {"host": "x", "user-agent": "a\nb\x00\xff" + "z" * 9000}
        for target in (b"/v1/namespaces/%0A%22%7B", b"/\xff\xfe\n", b"/" + b"x" * 100_000):
            await client.raw("GET", target, headers=headers)
    written = capsys.readouterr().err
    assert len(lines(written)) == 3
    assert len(written) < 10_000


async def test_tokens_and_bodies_are_not_logged(capsys: Captured) -> None:
    async with serving(request_log=True, token="very-secret") as client:
        await client.get("/v1/config", headers={"authorization": "Bearer very-secret"})
        await client.get("/v1/config", headers={"authorization": "Bearer nearly-secret"})
        await client.post(
            "/v1/namespaces", json={"namespace": ["x"], "properties": {"k": "in-the-body"}}, headers={"authorization": "Bearer very-secret"}
        )
    written = capsys.readouterr().err
    assert [line["status"] for line in lines(written)] == [200, 401, 200]
    assert "secret" not in written
    assert "in-the-body" not in written


async def test_a_defect_is_for_the_log_and_not_for_the_client(capsys: Captured) -> None:
    store = FaultyStorage(MemoryStorage(), ScriptedPlan(), ManualClock())
    async with serving_over(store, request_log=True) as client:
        await make_namespace(client, "ns")
        store.plan = ScriptedPlan(Rule(Defect(), "get", times=None))
        answer = await client.get("/v1/namespaces")
        refused(answer, 500, "InternalServerError", "x-request-id")
        assert "private" not in answer.text
        store.plan = ScriptedPlan(Rule(Defect(), "put_if_absent", times=None))
        again = await client.post(path("ns", table="no"), json=setting(a="1"))
        assert again.status_code in {404, 500}
        store.plan = ScriptedPlan()
        done(await client.get("/v1/namespaces"))
    line = next(line for line in lines(capsys.readouterr().err) if line["request"] == answer.headers["x-request-id"])
    assert "KeyError" in str(line["error"])
    assert "a defect with /some/private/path" in str(line["traceback"])
