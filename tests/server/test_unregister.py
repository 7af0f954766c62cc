"""Unregistering: the table leaves the catalog, its files stay, and the answer is its very last state."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catalog_format.scopes import tables
from catalog_format.storage import MemoryStorage
from catalog_format.storage.counting import CountingStorage
from tests.server.harness import (
    ROOT,
    Client,
    begin,
    commit,
    done,
    inside,
    make_namespace,
    make_table,
    names_in,
    new_root,
    path,
    properties_of,
    refused,
    serving,
    serving_over,
    setting,
)

KEY = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}
OTHER_KEY = {"idempotency-key": "017f22e2-79b0-7cc3-98c4-dc0c0c073990"}


def unregister(*namespace: str, table: str = "t", prefix: str | None = None) -> str:
    return f"{path(*namespace, table=table, prefix=prefix)}/unregister"


async def test_the_answer_is_the_last_state_and_nothing_else(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    last = done(await ns.post(path("ns", table="t"), json=setting(a="1")))
    answer = done(await ns.post(unregister("ns")))
    assert answer == {"metadata-location": last["metadata-location"], "metadata": last["metadata"]}
    refused(await ns.get(path("ns", table="t")), 404, "NoSuchTableException", "Table does not exist: ns.t")
    refused(await ns.post(path("ns", table="t"), json=setting(a="2")), 404, "NoSuchTableException")
    assert await names_in(ns, "ns") == []


async def test_the_files_stay_and_can_be_registered_again(folder_server: Client) -> None:
    await make_table(folder_server, ["ns"], "t", properties={"a": "1"})
    answer = done(await folder_server.post(unregister("ns")))
    location = answer["metadata-location"]
    assert Path(location.removeprefix("file://")).exists()
    again = done(await folder_server.post(f"{path('ns')}/register", json={"name": "again", "metadata-location": location}))
    assert again["metadata"]["table-uuid"] == answer["metadata"]["table-uuid"]
    assert await properties_of(folder_server, ["ns"], "again") == {"a": "1"}


async def test_a_table_of_another_catalog_can_take_the_files_over(tmp_path: Path) -> None:
    async with serving(roots=[f"one={tmp_path / 'one'}", f"two={tmp_path / 'two'}"]) as client:
        for prefix in ("one", "two"):
            done(await client.post(f"/v1/{prefix}/namespaces", json={"namespace": ["ns"]}))
        done(await client.post(f"{path('ns', prefix='one')}/tables", json={"name": "t", "schema": {"type": "struct", "fields": []}}))
        answer = done(await client.post(unregister("ns", prefix="one")))
        body = {"name": "t", "metadata-location": answer["metadata-location"]}
        taken = done(await client.post(f"{path('ns', prefix='two')}/register", json=body))
        assert (taken["metadata-location"], taken["metadata"]) == (answer["metadata-location"], answer["metadata"])


async def test_what_is_no_table_is_not_found(ns: Client) -> None:
    for target in (unregister("ns"), unregister("no"), unregister("sys"), unregister("sys", "dtxns")):
        refused(await ns.post(target), 404, "NoSuchTableException", "Table does not exist")


async def test_without_its_metadata_file_a_table_stays(folder_server: Client) -> None:
    """The answer could not be given, and so nothing is done; dropping it is still possible."""
    made = await make_table(folder_server, ["ns"], "t")
    async with serving(folder_server.app.roots.first.url) as fresh:
        Path(made["metadata-location"].removeprefix("file://")).unlink()
        refused(await fresh.post(unregister("ns")), 404, "NotFoundException", "Failed to open input stream")
        assert await names_in(fresh, "ns") == ["t"]
        done(await fresh.delete(path("ns", table="t")), 204)


async def test_a_repeated_request_is_answered_as_the_first_was() -> None:
    root = new_root()
    async with serving(root) as client:
        await make_namespace(client, "ns")
        await make_table(client, ["ns"], "t")
        first = done(await client.post(unregister("ns"), headers=KEY))
        assert done(await client.post(unregister("ns"), headers=KEY)) == first
        refused(await client.post(unregister("ns"), headers=OTHER_KEY), 404, "NoSuchTableException")
        refused(await client.post(unregister("ns", table="u"), headers=KEY), 400, "BadRequestException", "another request")
        await make_table(client, ["ns"], "t")
    # On a replica, or after a restart; that there is a table of that name again does not matter.
    async with serving(root) as replica:
        assert done(await replica.post(unregister("ns"), headers=KEY)) == first
        assert await names_in(replica, "ns") == ["t"]


async def test_inside_a_transaction_it_shows_after_the_commit_alone(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await begin(ns, "x")
    done(await ns.post(path(*inside("x", "ns"), table="t"), json=setting(a="1")))
    answer = done(await ns.post(unregister(*inside("x", "ns")), headers=KEY))
    assert answer["metadata"]["properties"]["a"] == "1"
    assert done(await ns.post(unregister(*inside("x", "ns")), headers=KEY)) == answer
    assert await names_in(ns, *inside("x", "ns")) == []
    assert await names_in(ns, "ns") == ["t"]
    done(await commit(ns, "x"))
    assert await names_in(ns, "ns") == []
    refused(await ns.post(unregister(*inside("x", "ns"), table="u")), 409, "CommitFailedException", "x")


async def test_a_transaction_that_unregisters_loses_against_a_commit(ns: Client) -> None:
    """Otherwise its answer would lack what was committed."""
    await make_table(ns, ["ns"], "t")
    await begin(ns, "x")
    done(await ns.post(unregister(*inside("x", "ns"))))
    done(await ns.post(path("ns", table="t"), json=setting(a="1")))
    refused(await commit(ns, "x"), 409, "CommitFailedException", "ns.t")
    assert await properties_of(ns, ["ns"], "t") == {"a": "1"}


async def test_a_past_version_stays_as_it_is(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    refused(await ns.post(unregister("ns", prefix=f"{ROOT}@v2")), 403, "ForbiddenException", "Version 2")
    done(await ns.post(unregister("ns")))
    assert done(await ns.get(path("ns", table="t", prefix=f"{ROOT}@v2")))["metadata"]["table-uuid"]


async def test_the_answer_has_every_commit_that_succeeded(ns: Client) -> None:
    """Whatever their order: a commit is in the answer, or it failed."""
    await make_table(ns, ["ns"], "t")
    commits = [ns.post(path("ns", table="t"), json=setting(**{f"p{number}": "1"})) for number in range(12)]
    answers = await asyncio.gather(*commits[:6], ns.post(unregister("ns")), *commits[6:])
    last = answers.pop(6)
    kept = {key for key in done(last)["metadata"]["properties"] if key.startswith("p")}
    assert kept == {f"p{number}" for number, answer in enumerate(answers) if answer.status_code == 200}
    assert {answer.status_code for answer in answers} <= {200, 404}


async def test_a_commit_of_another_process_between_look_and_drop_is_in_the_answer() -> None:
    store = MemoryStorage("unregister-race")
    watched = CountingStorage(store)
    async with serving_over(watched) as one, serving_over(store, init=False) as two:
        await make_namespace(one, "ns")
        await make_table(one, ["ns"], "t")
        original = watched.put_if_absent
        raced = False

        async def race(name: str, data: bytes) -> Any:
            nonlocal raced
            if not raced and name.startswith("vn/"):
                raced = True
                done(await two.post(path("ns", table="t"), json=setting(late="1")))
            return await original(name, data)

        watched.put_if_absent = race  # type: ignore[method-assign]
        assert done(await one.post(unregister("ns")))["metadata"]["properties"]["late"] == "1"
        assert raced
        assert await names_in(two, "ns") == []


async def test_who_never_gets_a_turn_is_told_to_come_back(ns: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    await make_table(ns, ["ns"], "t")
    monkeypatch.setattr(tables, "UNREGISTER_ATTEMPTS", 0)
    answer = await ns.post(unregister("ns"))
    refused(answer, 429, "TooManyRequestsException", "ns.t", "try again")
    assert answer.headers["retry-after"]
    assert await names_in(ns, "ns") == ["t"]
