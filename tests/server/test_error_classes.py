"""Every class of error: its status, type and message, and the exception that PyIceberg's client ends with."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import orjson
import pytest
from pyiceberg.catalog.rest import RestCatalog

from catalog_format import errors
from irc_server import error_map
from irc_server.error_map import error_response
from tests.support.refusals import CLASSES, COMMIT, EXPECTED, LOAD, MESSAGE, refusing_server

# What Java and PyIceberg take for "nobody knows whether the commit happened".
UNKNOWN_TO_CLIENTS = {500, 502, 503, 504}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with refusing_server(tmp_path_factory.mktemp("refusing")) as running:
        yield running


@pytest.fixture(scope="module")
def pyiceberg(url: str) -> Iterator[RestCatalog]:
    with RestCatalog("refusing", uri=url) as catalog:
        yield catalog


def test_every_class_is_expected_to_be_something() -> None:
    assert CLASSES.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", CLASSES)
def test_status_type_message_and_what_pyiceberg_makes_of_it(name: str, url: str, pyiceberg: RestCatalog) -> None:
    expected = EXPECTED[name]
    answer = httpx.get(f"{url}/v1/namespaces/ns/tables/{LOAD}{name}")
    assert answer.status_code == expected.status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"error": {"message": MESSAGE, "type": expected.kind, "code": expected.status}}
    assert ("retry-after" in answer.headers) == (expected.status == 429)
    assert ("www-authenticate" in answer.headers) == (expected.status == 401)
    with pytest.raises(Exception, match=MESSAGE) as loading:
        pyiceberg.load_table(f"ns.{LOAD}{name}")
    with pytest.raises(Exception, match=MESSAGE) as committing:
        pyiceberg.load_table(f"ns.{COMMIT}{name}").transaction().set_properties(a="1").commit_transaction()
    assert (loading.type.__name__, committing.type.__name__) == expected.pyiceberg


@pytest.mark.parametrize("name", CLASSES)
def test_without_a_body_the_status_stays(name: str) -> None:
    bare = error_response(CLASSES[name](MESSAGE), with_body=False)
    assert (bare.status_code, bare.body) == (EXPECTED[name].status, b"")


def test_what_surely_did_nothing_is_never_told_as_unknown() -> None:
    for name, kind in CLASSES.items():
        if issubclass(kind, errors.RetryLater | errors.BadRequest | errors.ConflictError):
            assert EXPECTED[name].status not in UNKNOWN_TO_CLIENTS, name


def test_conflicts_are_409_and_nothing_but_proofs_are() -> None:
    proofs = (errors.ConflictError, errors.AlreadyExistsError, errors.NamespaceNotEmptyError)
    assert {name for name, seen in EXPECTED.items() if seen.status == 409} == {
        name for name, kind in CLASSES.items() if issubclass(kind, proofs)
    }


@pytest.mark.parametrize(("pause", "header"), [(0.2, "1"), (1.0, "1"), (2.4, "2"), (7.4, "7")])
def test_a_pause_is_named_in_whole_seconds(pause: float, header: str) -> None:
    for kind in (errors.RetryLater, errors.StoreThrottledError, errors.StoreUnavailableError, errors.ContendedError):
        assert error_response(kind("slow down", pause)).headers["retry-after"] == header


@pytest.mark.parametrize("error", [ValueError("a path of this machine"), errors.TreelineError("a path of this machine")])
def test_a_defect_keeps_its_text_for_the_log(error: Exception) -> None:
    assert not error_map.foreseen(error)
    response = error_response(error)
    assert response.status_code == 500
    told = orjson.loads(response.body)["error"]
    assert (told["type"], told["code"]) == ("InternalServerError", 500)
    assert "x-request-id" in told["message"]
    assert "machine" not in told["message"]


def test_an_empty_message_is_replaced() -> None:
    assert orjson.loads(error_response(errors.ConflictError("")).body)["error"]["message"]
