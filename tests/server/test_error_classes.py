"""Every class of error has a status and a type that clients know."""

from __future__ import annotations

import inspect

import orjson
import pytest

from catalog_format import errors
from irc_server import error_map

CLASSES = sorted(
    {
        kind
        for module in (errors, error_map)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and kind is not errors.TreelineError
    },
    key=lambda kind: kind.__name__,
)
# What Java and PyIceberg take for "nobody knows whether the commit happened".
UNKNOWN_TO_CLIENTS = {500, 502, 503, 504}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_maps(kind: type[Exception]) -> None:
    error = kind("what went wrong")
    assert error_map.foreseen(error)
    response = error_map.error_response(error)
    status, name = error_map.status_and_type(error)
    assert 400 <= status <= 507
    assert orjson.loads(response.body) == {"error": {"message": "what went wrong", "type": name, "code": status}}
    assert response.status_code == status


@pytest.mark.parametrize(
    "kind", [kind for kind in CLASSES if issubclass(kind, errors.RetryLater | errors.BadRequest | errors.ConflictError)]
)
def test_what_surely_did_nothing_is_never_told_as_unknown(kind: type[Exception]) -> None:
    assert error_map.status_and_type(kind("no"))[0] not in UNKNOWN_TO_CLIENTS


def test_conflicts_are_409_and_nothing_but_proofs_are() -> None:
    proven = {kind for kind in CLASSES if error_map.status_and_type(kind("no"))[0] == 409}
    assert proven == {
        errors.AlreadyExistsError,
        errors.NamespaceNotEmptyError,
        errors.ConflictError,
        errors.RequirementFailedError,
        errors.TransactionRefusedError,
        errors.TransactionEndedError,
    }


def test_an_unknown_outcome_is_told_as_one() -> None:
    assert error_map.status_and_type(errors.UnknownOutcomeError("?")) == (500, "CommitStateUnknownException")


@pytest.mark.parametrize(("pause", "header"), [(0.2, "1"), (1.0, "1"), (7.4, "7")])
def test_a_pause_is_named_in_whole_seconds(pause: float, header: str) -> None:
    assert error_map.error_response(errors.StoreThrottledError("slow down", pause)).headers["retry-after"] == header


def test_a_defect_keeps_its_text_for_the_log() -> None:
    response = error_map.error_response(ValueError("a path of this machine"))
    assert response.status_code == 500
    assert b"a path of this machine" not in response.body


def test_without_a_body_there_is_none() -> None:
    response = error_map.error_response(errors.NoSuchTableError("no"), with_body=False)
    assert (response.status_code, response.body) == (404, b"")
