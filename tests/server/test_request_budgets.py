"""How many requests to the store each operation makes, once the server is warm."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from catalog_format import paths
from catalog_format.clock import SystemClock
from catalog_format.storage import CountingStorage, MemoryStorage
from irc_server.operations import OPERATIONS
from tests.server.harness import Client, Json, make_namespace, make_table, make_view, new_table, new_view, path, serving_over, setting

PROBE, FILE_THERE, FILE, ROOT = ("get", "vn"), ("exists", "data"), ("put_if_absent", "data"), ("put_if_absent", "vn")
NS_TABLES, T, V, R = f"{path('ns')}/tables", path("ns", table="t"), path("ns", view="v"), path("ns", table="r")
METRICS = {"report-type": "commit-report", "table-name": "t", "snapshot-id": 1, "sequence-number": 1, "operation": "append", "metrics": {}}
BOTH = {"table-changes": [{"identifier": {"namespace": ["ns"], "name": name}, **setting(a="2")} for name in ("r", "t")]}


def rename(source: str, target: str) -> Json:
    return {"source": {"namespace": ["ns"], "name": source}, "destination": {"namespace": ["ns"], "name": target}}


# Besides a hint, which nobody waits for. A load's two are sent together; a commit is its metadata files, sent together, then the root.
BUDGETS: dict[str, tuple[str, str, Json | None, list[tuple[str, str]]]] = {
    "getConfig": ("GET", "/v1/config", None, []),
    "listNamespaces": ("GET", path(), None, [PROBE]),
    "createNamespace": ("POST", path(), {"namespace": ["new"]}, [ROOT]),
    "loadNamespaceMetadata": ("GET", path("ns"), None, [PROBE]),
    "namespaceExists": ("HEAD", path("ns"), None, [PROBE]),
    "updateProperties": ("POST", f"{path('ns')}/properties", {"updates": {"a": "1"}}, [PROBE, ROOT]),
    "dropNamespace": ("DELETE", path("empty"), None, [ROOT]),
    "listTables": ("GET", NS_TABLES, None, [PROBE]),
    "createTable": ("POST", NS_TABLES, new_table("new"), [PROBE, FILE, ROOT]),
    "loadTable": ("GET", T, None, [PROBE, FILE_THERE]),
    "tableExists": ("HEAD", T, None, [PROBE]),
    "updateTable": ("POST", T, setting(a="1"), [FILE, ROOT]),
    "dropTable": ("DELETE", R, None, [ROOT]),
    "renameTable": ("POST", "/v1/tables/rename", rename("r", "other"), [ROOT]),
    "registerTable": ("POST", f"{path('ns')}/register", {"name": "new"}, [FILE, ROOT]),
    "unregisterTable": ("POST", f"{R}/unregister", None, [PROBE, ROOT]),
    "commitTransaction": ("POST", "/v1/transactions/commit", BOTH, [FILE, FILE, ROOT]),
    "reportMetrics": ("POST", f"{T}/metrics", METRICS, []),
    "listViews": ("GET", f"{path('ns')}/views", None, [PROBE]),
    "createView": ("POST", f"{path('ns')}/views", new_view("new"), [PROBE, FILE, ROOT]),
    "loadView": ("GET", V, None, [PROBE, FILE_THERE]),
    "viewExists": ("HEAD", V, None, [PROBE]),
    "replaceView": ("POST", V, {"updates": [{"action": "set-properties", "updates": {"a": "1"}}]}, [FILE, ROOT]),
    "dropView": ("DELETE", V, None, [ROOT]),
    "renameView": ("POST", "/v1/views/rename", rename("v", "other"), [ROOT]),
    "registerView": ("POST", f"{path('ns')}/register-view", {"name": "new"}, [FILE, ROOT]),
    "listFunctions": ("GET", f"{path('ns')}/functions", None, [PROBE]),
    "loadFunction": ("GET", f"{path('ns')}/functions/f", None, [PROBE]),
}


@pytest.fixture
async def warm() -> AsyncIterator[tuple[Client, CountingStorage]]:
    store = CountingStorage(MemoryStorage())
    async with serving_over(store, clock=SystemClock()) as client:
        await make_namespace(client, "ns")
        await make_namespace(client, "empty")
        for name in ("r", "t"):
            await make_table(client, ["ns"], name)
        await make_view(client, ["ns"], "v")
        yield client, store


def test_every_operation_has_a_budget() -> None:
    assert BUDGETS.keys() == {
        operation.name for operation in OPERATIONS if operation.answer is not None and operation.template[:3] == "/v1"
    }


@pytest.mark.parametrize("name", BUDGETS)
async def test_an_operation_makes_the_requests_that_it_needs(warm: tuple[Client, CountingStorage], name: str) -> None:
    client, store = warm
    method, target, body, budget = BUDGETS[name]
    if name in {"registerTable", "registerView"}:
        loaded = await client.get(T if name == "registerTable" else V)
        body = {**(body or {}), "metadata-location": loaded.json()["metadata-location"]}
    with store.measure() as calls:
        answer = await client.request(method, target, json=body)
    assert answer.status_code in {200, 204} or (name, answer.status_code) == ("loadFunction", 404), answer.text
    assert [(verb, called.split("/")[0]) for verb, called in calls.pairs() if called != paths.LATEST_HINT] == budget
