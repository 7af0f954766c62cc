"""The log of requests: one line of JSON each, with what went wrong and nothing secret."""

from __future__ import annotations

import orjson
import pytest

from catalog_format.storage import MemoryStorage
from catalog_format.storage.faulty import FaultyStorage, Request, Rule, ScriptedPlan
from tests.server.harness import done, make_namespace, make_table, path, refused, serving, serving_over, setting
from tests.support.catalogs import ManualClock


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


async def test_ids_of_requests_do_not_pile_up_on_cached_answers() -> None:
    async with serving(request_log=True) as client:
        await make_namespace(client, "ns")
        await make_table(client, ["ns"], "t")
        answers = [await client.get(path("ns", table="t")) for _ in range(3)]
        assert [len(answer.headers.get_list("x-request-id")) for answer in answers] == [1, 1, 1]
        assert len({answer.headers["x-request-id"] for answer in answers}) == 3
