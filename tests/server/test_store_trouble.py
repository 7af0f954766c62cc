"""A store that refuses, fills up, slows down, disappears or forgets to answer: what clients are told, and what must not be said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from catalog_format import paths
from catalog_format.storage import MemoryStorage
from catalog_format.storage.faulty import (
    Denied,
    Fault,
    FaultyStorage,
    Full,
    LateLanding,
    LostReply,
    LostRequest,
    Request,
    Rule,
    ScriptedPlan,
    Throttled,
)
from tests.server.harness import (
    Client,
    begin,
    commit,
    done,
    inside,
    make_namespace,
    make_table,
    path,
    properties_of,
    refused,
    serving_over,
    setting,
)
from tests.support.catalogs import ManualClock

NO_FAULT = ScriptedPlan()


class Store(FaultyStorage):
    """A faulty store that a test can turn on and off."""

    def __init__(self) -> None:
        super().__init__(MemoryStorage("trouble"), NO_FAULT, ManualClock())

    def suffers(self, fault: Fault, verb: str | None = None, where: str = "*", times: int | None = None) -> None:
        self.plan = ScriptedPlan(Rule(fault, verb, where, times=times))  # type: ignore[arg-type]

    def recovers(self) -> None:
        self.plan = NO_FAULT


@dataclass(frozen=True)
class FromThenOn:
    """One fault, and another for every call that follows."""

    first: Fault
    others: Fault

    async def strike(self, request: Request) -> Any:
        request.store.plan = ScriptedPlan(Rule(self.others, times=None))
        return await self.first.strike(request)


@asynccontextmanager
async def troubled() -> AsyncIterator[tuple[Client, Store]]:
    """A server with a table `ns.t`, over a store that is still well."""
    store = Store()
    async with serving_over(store) as client:
        await make_namespace(client, "ns")
        await make_table(client, ["ns"], "t")
        yield client, store
        store.recovers()


def writes(client: Client) -> list[httpx.Request]:
    """One request of each kind that changes something."""
    return [
        client.build_request("POST", path("ns", table="t"), json=setting(a="1")),
        client.build_request("POST", "/v1/namespaces", json={"namespace": ["new"]}),
        client.build_request("POST", f"{path('ns')}/properties", json={"updates": {"a": "b"}}),
        client.build_request("POST", f"{path('ns')}/tables", json={"name": "u", "schema": {"type": "struct", "fields": []}}),
        client.build_request("DELETE", path("ns", table="t")),
        client.build_request("POST", f"{path('ns', table='t')}/unregister"),
        client.build_request("POST", "/v1/transactions/commit", json={"table-changes": [{"identifier": T, **setting(a="1")}]}),
        client.build_request("POST", "/v1/tables/rename", json={"source": T, "destination": {"namespace": ["ns"], "name": "u"}}),
    ]


T = {"namespace": ["ns"], "name": "t"}
WRITES = pytest.mark.parametrize("number", range(8))


READS = [
    "/v1/namespaces",
    "/v1/namespaces/ns",
    "/v1/namespaces/ns/tables",
    "/v1/namespaces/ns/tables/t",
    "/v1/namespaces?parent=sys%1Fdtxns",
]


@WRITES
async def test_writes_without_permission_are_forbidden(number: int) -> None:
    async with troubled() as (client, store):
        store.suffers(Denied(), "put_if_absent")
        refused(await client.send(writes(client)[number]), 403, "ForbiddenException", "no access")
        store.recovers()
        assert await properties_of(client, ["ns"], "t") == {}


@WRITES
async def test_a_full_store_is_named(number: int) -> None:
    async with troubled() as (client, store):
        store.suffers(Full(), "put_if_absent")
        refused(await client.send(writes(client)[number]), 507, "ServiceFailureException", "no room")
        store.recovers()
        assert await properties_of(client, ["ns"], "t") == {}


@pytest.mark.parametrize(("pause", "told"), [(0.0, "1"), (0.2, "1"), (7.0, "7"), (30.4, "30")])
async def test_a_throttled_store_asks_for_a_pause(pause: float, told: str) -> None:
    async with troubled() as (client, store):
        for verb, requests in (("put_if_absent", writes(client)), (None, [client.build_request("GET", target) for target in READS])):
            for request in requests:
                store.suffers(Throttled(pause), verb)
                answer = await client.send(request)
                refused(answer, 429, "TooManyRequestsException", "too many requests")
                assert answer.headers["retry-after"] == told
        store.recovers()
        assert await properties_of(client, ["ns"], "t") == {}


@WRITES
async def test_who_is_throttled_before_the_version_is_put_may_try_again(number: int) -> None:
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        store.suffers(Throttled(3.0), "put_if_absent", paths.root_path(version + 1))
        answer = await client.send(writes(client)[number])
        refused(answer, 429, "TooManyRequestsException", "too many requests")
        assert answer.headers["retry-after"] == "3"
        store.recovers()
        assert done(await client.get("/readyz"))["versions"]["lake"] == version
        assert (await client.send(writes(client)[number])).status_code in {200, 204}


@WRITES
async def test_who_is_throttled_after_the_version_may_have_been_put_is_told_that_nobody_knows(number: int) -> None:
    """429 would let clients send the same again, and delete what they wrote before."""
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        store.suffers(FromThenOn(LostReply(), Throttled(3.0)), "put_if_absent", paths.root_path(version + 1))
        answer = await client.send(writes(client)[number])
        refused(answer, 500, "CommitStateUnknownException")
        assert "retry-after" not in answer.headers
        store.recovers()
        assert done(await client.get("/readyz"))["versions"]["lake"] == version + 1


@WRITES
async def test_what_is_throttled_once_the_version_is_there_does_not_matter(number: int) -> None:
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        request = writes(client)[number]
        store.suffers(Throttled(3.0), "replace")
        assert (await client.send(request)).status_code in {200, 204}
        store.recovers()
        assert done(await client.get("/readyz"))["versions"]["lake"] == version + 1


@pytest.mark.parametrize("target", READS)
async def test_a_store_that_cannot_be_reached_makes_reads_wait(target: str) -> None:
    async with troubled() as (client, store):
        expected = done(await client.get(target))
        store.suffers(LostRequest())
        answer = await client.get(target)
        refused(answer, 429, "TooManyRequestsException")
        assert int(answer.headers["retry-after"]) >= 1
        head = await client.head(target)
        assert (head.status_code, head.content) == (429, b"")
        store.recovers()
        assert done(await client.get(target)) == expected


@WRITES
async def test_a_write_that_published_nothing_may_be_tried_again(number: int) -> None:
    async with troubled() as (client, store):
        store.suffers(LostRequest(), "get")
        answer = await client.send(writes(client)[number])
        if answer.status_code not in {200, 204}:
            refused(answer, 429, "TooManyRequestsException")
            store.recovers()
            assert (await client.send(writes(client)[number])).status_code in {200, 204}


async def test_nobody_is_told_of_a_conflict_or_a_success_that_is_not_proven() -> None:
    """The reply to the put of the new version is lost, and so is every attempt to find out."""
    for fault, landed in ((LostReply(), True), (LostRequest(), False), (LateLanding(), False)):
        async with troubled() as (client, store):
            version = done(await client.get("/readyz"))["versions"]["lake"]
            root = paths.root_path(version + 1)
            store.plan = ScriptedPlan(Rule(fault, "put_if_absent", root, times=None), Rule(LostRequest(), "get", times=None))
            refused(await client.post(path("ns", table="t"), json=setting(a="1")), 500, "CommitStateUnknownException")
            store.recovers()
            assert await properties_of(client, ["ns"], "t") == ({"a": "1"} if landed else {})


async def test_a_lost_reply_that_can_be_looked_up_is_a_success() -> None:
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        store.suffers(LostReply(), "put_if_absent", paths.root_path(version + 1), times=1)
        done(await client.post(path("ns", table="t"), json=setting(a="1")))
        assert await properties_of(client, ["ns"], "t") == {"a": "1"}
        assert done(await client.get("/readyz"))["versions"]["lake"] == version + 1


async def test_an_unknown_outcome_is_not_remembered_under_its_key() -> None:
    headers = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        store.plan = ScriptedPlan(
            Rule(LostReply(), "put_if_absent", paths.root_path(version + 1), times=None), Rule(LostRequest(), "get", times=None)
        )
        answer = await client.post(path("ns", table="t"), json=setting(a="1"), headers=headers)
        refused(answer, 500, "CommitStateUnknownException")
        store.recovers()
        done(await client.post(path("ns", table="t"), json=setting(a="1"), headers=headers))
        assert done(await client.get("/readyz"))["versions"]["lake"] == version + 1


@pytest.mark.parametrize("fault", [Denied(), Full(), Throttled(), LostRequest()])
async def test_trouble_with_the_store_is_not_remembered_under_a_key(fault: Fault) -> None:
    headers = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}
    async with troubled() as (client, store):
        store.suffers(fault, "put_if_absent")
        first = await client.post(path("ns", table="t"), json=setting(a="1"), headers=headers)
        assert first.status_code in {403, 429, 500, 507}
        store.recovers()
        done(await client.post(path("ns", table="t"), json=setting(a="1"), headers=headers))
        assert await properties_of(client, ["ns"], "t") == {"a": "1"}


@pytest.mark.parametrize(("fault", "status"), [(Denied(), 403), (Full(), 507), (Throttled(), 429)])
async def test_trouble_while_a_transaction_is_begun_or_committed(fault: Fault, status: int) -> None:
    async with troubled() as (client, store):
        await begin(client, "t")
        done(await client.post(path(*inside("t", "ns"), table="t"), json=setting(a="1")))
        store.suffers(fault, "put_if_absent")
        beginning = await client.post("/v1/namespaces", json={"namespace": list(inside("u"))})
        assert beginning.status_code == status
        assert (await commit(client, "t")).status_code == status
        store.recovers()
        done(await commit(client, "t"))
        assert await properties_of(client, ["ns"], "t") == {"a": "1"}


async def test_a_root_that_is_corrupt_is_somebodys_task_and_no_conflict() -> None:
    async with troubled() as (client, store):
        version = done(await client.get("/readyz"))["versions"]["lake"]
        await store.inner.put_if_absent(paths.root_path(version + 1), b"garbage")
        for read in (await client.get("/v1/namespaces"), await client.get(path("ns", table="t"))):
            refused(read, 500, "ServiceFailureException", f"version {version + 1}")
        # What is there under the name that this commit puts: its own root may be, as far as anybody can read.
        for write in (
            await client.post("/v1/namespaces", json={"namespace": ["x"]}),
            await client.post(path("ns", table="t"), json=setting(a="1")),
        ):
            refused(write, 500, "CommitStateUnknownException", f"version {version + 1} was written", "is damaged")
        refused(await client.get("/readyz"), 503, "ServiceUnavailableException")
        done(await client.get("/healthz"))


async def test_readiness_says_which_root_cannot_be_read() -> None:
    async with troubled() as (client, store):
        for fault in (LostRequest(), Denied(), Throttled()):
            store.suffers(fault)
            refused(await client.get("/readyz"), 503, "ServiceUnavailableException", "lake")
            done(await client.get("/healthz"))
            done(await client.get("/v1/config"))
        store.recovers()
        done(await client.get("/readyz"))


async def test_a_metadata_file_that_cannot_be_looked_up_is_not_said_to_be_missing() -> None:
    async with troubled() as (client, store):
        store.suffers(LostRequest(), None, "data/*")
        refused(await client.get(path("ns", table="t")), 429, "TooManyRequestsException")
        store.suffers(Denied(), None, "data/*")
        refused(await client.get(path("ns", table="t")), 403, "ForbiddenException")
