"""Commits of tables: requirements, updates, several tables at once, staged creates, and the ETags that follow."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.server.harness import (
    Client,
    Json,
    done,
    make_namespace,
    make_table,
    metadata_file,
    names_in,
    new_table,
    path,
    properties_of,
    refused,
    setting,
)


def snapshot(number: int, sequence: int, parent: int | None = None) -> Json:
    made = {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": time.time_ns() // 1_000_000,
        "summary": {"operation": "append"},
        "manifest-list": f"file:///tmp/m{number}.avro",
        "schema-id": 0,
    }
    return made if parent is None else {**made, "parent-snapshot-id": parent}


def adding(number: int, sequence: int, branch: str | None = "main", parent: int | None = None) -> Json:
    updates: list[Json] = [{"action": "add-snapshot", "snapshot": snapshot(number, sequence, parent)}]
    if branch is not None:
        updates.append({"action": "set-snapshot-ref", "ref-name": branch, "type": "branch", "snapshot-id": number})
    return {"requirements": [], "updates": updates}


async def test_a_commit_answers_the_new_state_under_a_new_location(ns: Client) -> None:
    made = await make_table(ns, ["ns"], "t")
    answer = done(await ns.post(path("ns", table="t"), json=setting(a="1")))
    assert metadata_file(answer) != metadata_file(made)
    assert answer["metadata"]["properties"]["a"] == "1"
    assert answer["metadata"]["metadata-log"][-1]["metadata-file"] == metadata_file(made)
    assert done(await ns.get(path("ns", table="t"))) == answer


async def test_unknown_fields_of_a_commit_are_ignored(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    body = {**setting(a="1"), "identifier": {"namespace": ["ns"], "name": "t"}, "later": [1]}
    assert done(await ns.post(path("ns", table="t"), json=body))["metadata"]["properties"]["a"] == "1"


@pytest.mark.parametrize(
    "requirement",
    [
        {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"},
        {"type": "assert-current-schema-id", "current-schema-id": 7},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 9},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1},
        {"type": "assert-default-spec-id", "default-spec-id": 3},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": 3},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 12},
    ],
)
async def test_a_requirement_that_fails_refuses_the_commit(ns: Client, requirement: Json) -> None:
    made = await make_table(ns, ["ns"], "t")
    refused(await ns.post(path("ns", table="t"), json=setting([requirement], a="1")), 409, "CommitFailedException")
    assert done(await ns.get(path("ns", table="t"))) == made


async def test_requirements_that_hold_let_the_commit_through(ns: Client) -> None:
    made = await make_table(ns, ["ns"], "t")
    requirements = [
        {"type": "assert-table-uuid", "uuid": made["metadata"]["table-uuid"]},
        {"type": "assert-current-schema-id", "current-schema-id": 0},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
    ]
    done(await ns.post(path("ns", table="t"), json=setting(requirements, a="1")))
    assert await properties_of(ns, ["ns"], "t") == {"a": "1"}


@pytest.mark.parametrize(
    "requirement",
    [
        {},
        {"type": 1},
        {"type": "assert-nothing"},
        {"type": "assert-table-uuid"},
        {"type": "assert-ref-snapshot-id", "ref": 1, "snapshot-id": None},
        {"type": "assert-current-schema-id", "current-schema-id": "0"},
    ],
)
async def test_a_requirement_that_nobody_understands_is_the_clients_mistake(ns: Client, requirement: Json) -> None:
    made = await make_table(ns, ["ns"], "t")
    refused(await ns.post(path("ns", table="t"), json=setting([requirement], a="1")), 400, "BadRequestException")
    assert done(await ns.get(path("ns", table="t"))) == made


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"action": 1},
        {"action": "do-nothing"},
        {"action": "set-properties"},
        {"action": "set-properties", "updates": {"a": 1}},
        {"action": "remove-properties", "removals": "a"},
        {"action": "add-schema", "schema": 1},
        {"action": "set-current-schema", "schema-id": "x"},
        {"action": "set-current-schema", "schema-id": 99},
        {"action": "add-spec", "spec": []},
        {"action": "add-snapshot", "snapshot": {"snapshot-id": "1"}},
        {"action": "set-snapshot-ref", "ref-name": "main"},
        {"action": "upgrade-format-version", "format-version": 99},
        {"action": "upgrade-format-version", "format-version": "two"},
        {"action": "set-location", "location": None},
        {"action": "assign-uuid", "uuid": 3},
    ],
)
async def test_an_update_that_makes_no_sense_is_the_clients_mistake(ns: Client, update: Json) -> None:
    made = await make_table(ns, ["ns"], "t")
    answer = await ns.post(path("ns", table="t"), json={"requirements": [], "updates": [update]})
    refused(answer, 400, "BadRequestException")
    assert done(await ns.get(path("ns", table="t"))) == made


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "requirements"),
        ({"requirements": []}, "updates"),
        ({"requirements": {}, "updates": []}, "requirements"),
        ({"requirements": [1], "updates": []}, "requirements[0]"),
        ({"requirements": [], "updates": "x"}, "updates"),
        ({"requirements": [], "updates": [{"action": "set-properties", "updates": {}}, []]}, "updates[1]"),
    ],
)
async def test_a_wrong_type_in_a_commit_is_named(ns: Client, body: Json, field: str) -> None:
    await make_table(ns, ["ns"], "t")
    refused(await ns.post(path("ns", table="t"), json=body), 400, "BadRequestException", field)


async def test_a_commit_of_nothing_changes_nothing(ns: Client) -> None:
    made = await make_table(ns, ["ns"], "t")
    assert done(await ns.post(path("ns", table="t"), json={"requirements": [], "updates": []})) == made


async def test_a_staged_table_exists_when_it_is_committed(ns: Client) -> None:
    staged = done(await ns.post(f"{path('ns')}/tables", json=new_table("t", **{"stage-create": True})))
    assert staged.get("metadata-location") is None
    assert await names_in(ns, "ns") == []
    metadata = staged["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": metadata["format-version"]},
        {"action": "add-schema", "schema": metadata["schemas"][0], "last-column-id": metadata["last-column-id"]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": metadata["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": metadata["location"]},
        *adding(1, 1)["updates"],
    ]
    body = {"requirements": [{"type": "assert-create"}], "updates": updates}
    answer = done(await ns.post(path("ns", table="t"), json=body))
    assert answer["metadata"]["table-uuid"] == metadata["table-uuid"]
    assert answer["metadata"]["location"] == metadata["location"]
    assert answer["metadata"]["current-snapshot-id"] == 1
    message = refused(
        await ns.post(path("ns", table="t"), json=body), 409, (await ns.post(path("ns", table="t"), json=body)).json()["error"]["type"]
    )
    assert "ns.t" in message


async def test_a_stale_sequence_number_is_a_conflict(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.post(path("ns", table="t"), json=adding(1, 1)))
    done(await ns.post(path("ns", table="t"), json=adding(2, 2, parent=1)))
    refused(await ns.post(path("ns", table="t"), json=adding(3, 2, parent=2)), 409, "CommitFailedException", "sequence")


async def test_several_tables_change_together_or_not_at_all(ns: Client) -> None:
    first, second = await make_table(ns, ["ns"], "a"), await make_table(ns, ["ns"], "b")

    def change(name: str, *requirements: Json, **properties: str) -> Json:
        return {"identifier": {"namespace": ["ns"], "name": name}, **setting(requirements, **properties)}

    stale = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}
    answer = await ns.post("/v1/transactions/commit", json={"table-changes": [change("a", x="1"), change("b", stale, x="1")]})
    refused(answer, 409, "CommitFailedException")
    missing = await ns.post("/v1/transactions/commit", json={"table-changes": [change("a", x="1"), change("no", x="1")]})
    refused(missing, 404, "NoSuchTableException", "ns.no")
    assert done(await ns.get(path("ns", table="a"))) == first
    assert done(await ns.get(path("ns", table="b"))) == second
    done(await ns.post("/v1/transactions/commit", json={"table-changes": [change("a", x="1"), change("b", x="2")]}), 204)
    assert await properties_of(ns, ["ns"], "a") == {"x": "1"}
    assert await properties_of(ns, ["ns"], "b") == {"x": "2"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (None, "table-changes"),
        ({}, "table-changes"),
        ([], "table-changes"),
        ([3], "table-changes[0]"),
        ([{}], "table-changes[0].identifier"),
        ([{"identifier": {"namespace": ["ns"]}}], "table-changes[0].identifier.name"),
        ([{"identifier": {"namespace": ["ns"], "name": "t"}, "updates": []}], "table-changes[0].requirements"),
        ([{"identifier": {"namespace": ["ns"], "name": "t"}, "requirements": [], "updates": [0]}], "table-changes[0].updates[0]"),
        ([{"identifier": {"namespace": ["ns"], "name": "t"}, "requirements": [], "updates": []}] * 2, "ns.t"),
    ],
)
async def test_a_malformed_commit_of_several_tables_is_named(ns: Client, changes: Any, field: str) -> None:
    await make_table(ns, ["ns"], "t")
    refused(await ns.post("/v1/transactions/commit", json={"table-changes": changes}), 400, "BadRequestException", field)


async def test_concurrent_commits_to_one_table_all_count(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    answers = await asyncio.gather(*(ns.post(path("ns", table="t"), json=setting(**{f"k{i}": str(i)})) for i in range(20)))
    assert [answer.status_code for answer in answers] == [200] * 20
    assert await properties_of(ns, ["ns"], "t") == {f"k{i}": str(i) for i in range(20)}


async def test_of_concurrent_commits_on_one_state_one_wins(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}
    bodies = [{**adding(number, 1), "requirements": [requirement]} for number in range(1, 9)]
    answers = await asyncio.gather(*(ns.post(path("ns", table="t"), json=body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    for answer in answers:
        if answer.status_code == 409:
            refused(answer, 409, "CommitFailedException")


async def test_etags_follow_the_table(ns: Client) -> None:
    created = await ns.post(f"{path('ns')}/tables", json=new_table("t"))
    loaded = await ns.get(path("ns", table="t"))
    committed = await ns.post(path("ns", table="t"), json=setting(a="1"))
    first, second = created.headers["etag"], committed.headers["etag"]
    assert loaded.headers["etag"] == first != second
    assert first.removeprefix("W/").startswith('"')
    unchanged = await ns.get(path("ns", table="t"), headers={"if-none-match": second})
    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", second)
    for tags in (first, '"x"', "x", second.strip('"W/')):
        done(await ns.get(path("ns", table="t"), headers={"if-none-match": tags}))
    several = await ns.get(path("ns", table="t"), headers={"if-none-match": f'"x", {second}'})
    assert several.status_code == 304


async def test_a_conditional_load_never_hides_that_a_table_is_gone(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    etag = (await ns.get(path("ns", table="t"))).headers["etag"]
    done(await ns.delete(path("ns", table="t")), 204)
    for tags in (etag, "*"):
        refused(await ns.get(path("ns", table="t"), headers={"if-none-match": tags}), 404, "NoSuchTableException")


async def test_loads_of_referenced_snapshots_only(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    done(await ns.post(path("ns", table="t"), json=adding(1, 1)))
    done(await ns.post(path("ns", table="t"), json=adding(2, 2, parent=1)))
    done(await ns.post(path("ns", table="t"), json=adding(3, 3, branch="side", parent=1)))
    every = await ns.get(path("ns", table="t"))
    same = await ns.get(path("ns", table="t"), params={"snapshots": "all"})
    refs = await ns.get(path("ns", table="t"), params={"snapshots": "refs"})
    assert done(every) == done(same)
    assert [entry["snapshot-id"] for entry in done(every)["metadata"]["snapshots"]] == [1, 2, 3]
    assert [entry["snapshot-id"] for entry in done(refs)["metadata"]["snapshots"]] == [2, 3]
    assert {**done(refs)["metadata"], "snapshots": None} == {**done(every)["metadata"], "snapshots": None}
    assert every.headers["etag"] == same.headers["etag"] != refs.headers["etag"]
    crossed = await ns.get(path("ns", table="t"), params={"snapshots": "refs"}, headers={"if-none-match": every.headers["etag"]})
    assert done(crossed) == done(refs)
    refused(await ns.get(path("ns", table="t"), params={"snapshots": "some"}), 400, "BadRequestException", "snapshots")


@pytest.mark.parametrize(
    "fields", [{"refs": None}, {"snapshots": None}, {"refs": {}}, {"refs": {"b": {"snapshot-id": 5, "type": "branch"}}}]
)
async def test_referenced_snapshots_of_a_registered_file_with_odd_fields(folder_server: Client, tmp_path: Path, fields: Json) -> None:
    client = folder_server
    made = await make_table(client, ["ns"], "t")
    file = tmp_path / "odd.metadata.json"
    file.write_bytes(orjson.dumps({**made["metadata"], **fields}))
    answer = await client.post(f"{path('ns')}/register", json={"name": "odd", "metadata-location": f"file://{file}"})
    if answer.status_code == 200:
        done(await client.get(path("ns", table="odd"), params={"snapshots": "refs"}))
    else:
        refused(answer, 400, "BadRequestException")


async def test_commits_reach_tables_wherever_they_were_moved(ns: Client) -> None:
    await make_namespace(ns, "other")
    await make_table(ns, ["ns"], "t")
    named = {"source": {"namespace": ["ns"], "name": "t"}, "destination": {"namespace": ["other"], "name": "u"}}
    done(await ns.post("/v1/tables/rename", json=named), 204)
    refused(await ns.post(path("ns", table="t"), json=setting(a="1")), 404, "NoSuchTableException", "Table does not exist: ns.t")
    done(await ns.post(path("other", table="u"), json=setting(a="1")))
    assert await properties_of(ns, ["other"], "u") == {"a": "1"}
