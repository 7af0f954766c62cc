"""What the two fuzzed documents share: a server with something in it, inputs that often lead there, and what must hold of every answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.schemas import BaseSchema

from irc_server.operations import Operation
from tests.server.harness import Json, new_table, new_view, path, setting
from tests.support.servers import WAREHOUSE, Place, RunningServer, running_server

# HEAD has no body to describe.
_OF_EVERY_ANSWER = [checks.status_code_conformance, checks.response_headers_conformance]
_OF_BODIES = [checks.content_type_conformance, checks.response_schema_conformance]
# What a path leads to when the generated name is not kept.
_NAMES = {
    "namespace": ("ns", "ns", "ns", "ns\x1fbelow", "sys\x1fdtxns\x1fdtxn_x\x1fns", "sys"),
    "table": ("t", "t", "t", "t", "t", "v"),
    "view": ("v", "v", "v", "v", "v", "t"),
}
_T, _V, _GONE = ({"namespace": ["ns"], "name": name} for name in ("t", "v", "gone"))
# Bodies that may well succeed, for operations where a generated one hardly does.
_BODIES: dict[str, tuple[Json, ...]] = {
    "updateTable": (
        setting(a="1"),
        {"requirements": [{"type": "assert-create"}], "updates": []},
        {"requirements": [], "updates": [{"action": "upgrade-format-version", "format-version": 3}]},
    ),
    "commitTransaction": (
        {"table-changes": [{"identifier": _T, **setting(a="2")}]},
        {"table-changes": [{"identifier": _T, **setting(a="3")}, {"identifier": _GONE, **setting(a="3")}]},
    ),
    "createTable": (new_table("t"), new_table("new"), new_table("new", **{"stage-create": True}), new_table("v")),
    "createView": (new_view("v"), new_view("new"), new_view("t")),
    "replaceView": ({"updates": [{"action": "set-properties", "updates": {"a": "1"}}]},),
    "renameTable": ({"source": _T, "destination": _GONE}, {"source": _T, "destination": _V}),
    "renameView": ({"source": _V, "destination": _GONE}, {"source": _V, "destination": _T}),
    "updateProperties": ({"removals": ["a"], "updates": {"b": "1"}},),
}

_EIGHTS = st.integers(0, 7)


@contextmanager
def fuzzed_server(folder: Path) -> Iterator[RunningServer]:
    """A server whose catalog has something in it."""
    with running_server(Place(str(folder / "catalog")), folder / "server.log") as server:
        furnish(server)
        yield server


def furnish(server: RunningServer) -> None:
    """Make what the paths lead to, as far as it is not there."""
    with httpx.Client(base_url=server.url) as client:
        for namespace in (["ns"], ["ns", "below"], ["sys", "dtxns", "dtxn_x"]):
            client.post("/v1/namespaces", json={"namespace": namespace})
        client.post(f"{path('ns')}/tables", json=new_table("t"))
        client.post(f"{path('ns')}/views", json=new_view("v"))


def fuzz(server: RunningServer, schema: BaseSchema, operation: Operation, max_examples: int) -> None:
    """Well-formed and malformed requests for one operation, the same in every run."""
    described = schema[operation.template][operation.method]
    malformed = described.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    cases = st.one_of(described.as_strategy(), described.as_strategy(), malformed)

    @settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.tuples(_EIGHTS, _EIGHTS, _EIGHTS))
    def attempt(case: schemathesis.Case, choices: tuple[int, int, int]) -> None:
        aim(case, operation, *choices)
        response = case.call(base_url=server.url)
        with_body = operation.method != "HEAD"
        case.validate_response(response, checks=_OF_EVERY_ANSWER + (_OF_BODIES if with_body else []))
        if operation.answer is None:
            assert response.status_code in {400, 406, 501}
        else:
            assert response.status_code < 500
        if with_body and operation.name != "getToken":
            check_error(response)
        if response.status_code < 300 and operation.writes:
            furnish(server)

    attempt()


def aim(case: schemathesis.Case, operation: Operation, namespace: int, name: int, body: int) -> None:
    """Let the path often name what is there (the prefix always does), and the body sometimes ask what can be done."""
    for level in case.path_parameters:
        choices = _NAMES.get(level, ())
        choice = namespace if level == "namespace" else name
        if level == "prefix":
            case.path_parameters[level] = WAREHOUSE
        elif choice < len(choices):
            case.path_parameters[level] = choices[choice]
    bodies = _BODIES.get(operation.name, ())
    if body < len(bodies):
        case.body = bodies[body]


def check_error(response: schemathesis.Response) -> None:
    """Every error has message, type and code."""
    if response.status_code < 400:
        return
    body = response.json()
    assert set(body) == {"error"}, body
    error = body["error"]
    assert set(error) == {"message", "type", "code"}, error
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    assert error["code"] == response.status_code
