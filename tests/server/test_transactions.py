"""Distributed transactions as namespaces: BEGIN, COMMIT, ROLLBACK, what they show, and what they refuse."""

from __future__ import annotations

import pytest

from tests.server.harness import (
    ROOT,
    Client,
    begin,
    commit,
    done,
    inside,
    make_namespace,
    make_table,
    new_table,
    new_view,
    path,
    properties_of,
    refused,
    serving,
    setting,
)
from tests.support.catalogs import ManualClock


async def shown(client: Client, transaction: str) -> dict[str, str]:
    properties: dict[str, str] = done(await client.get(path(*inside(transaction))))["properties"]
    return properties


async def open_ones(client: Client, system: str = "sys") -> list[list[str]]:
    listed: list[list[str]] = done(await client.get(path(), params={"parent": f"{system}\x1fdtxns"}))["namespaces"]
    return listed


async def test_begin_shows_what_began(ns: Client) -> None:
    properties = await begin(ns, "a-1.x_Y", owner="me", comment="nightly", location="file:///x")
    assert {"owner": "me", "comment": "nightly", "location": "file:///x", "status": "open"}.items() <= properties.items()
    assert properties["isolation-level"] == "snapshot"
    assert properties["base-version"] == "1"
    assert int(properties["expires-at"]) > int(properties["began-at"]) > 1_600_000_000_000
    assert not {"version", "ended-at", "reason"} & properties.keys()
    assert await shown(ns, "a-1.x_Y") == properties
    assert (await ns.head(path(*inside("a-1.x_Y")))).status_code == 204


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
async def test_begin_takes_isolation_and_lifetime(ns: Client, level: str) -> None:
    properties = await begin(ns, "t", isolation_level=level, ttl_millis="60000")
    assert properties["isolation-level"] == level
    assert int(properties["expires-at"]) - int(properties["began-at"]) == 60_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("isolation-level", ""),
        ("isolation-level", "chaos"),
        ("isolation-level", "read committed"),
        ("ttl-millis", ""),
        ("ttl-millis", "0"),
        ("ttl-millis", "-1"),
        ("ttl-millis", "1.5"),
        ("ttl-millis", "1e3"),
        ("ttl-millis", " 60000"),
        ("ttl-millis", "soon"),
        ("ttl-millis", "٦٠٠٠٠"),
        ("ttl-millis", "9" * 19),
        ("ttl-millis", "9" * 5000),
    ],
)
async def test_begin_refuses_what_it_cannot_mean(ns: Client, key: str, value: str) -> None:
    body = {"namespace": list(inside("t")), "properties": {key: value}}
    message = refused(await ns.post("/v1/namespaces", json=body), 400, "BadRequestException", key)
    assert len(message) < 400
    assert await open_ones(ns) == []
    await begin(ns, "t")


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "..", "../x", "ü", "a\x1fb", "x" * 129, "%2e", "a:b", "*"])
async def test_begin_refuses_ids_that_are_no_file_names(ns: Client, name: str) -> None:
    answer = await ns.post("/v1/namespaces", json={"namespace": list(inside(name)), "properties": {}})
    refused(answer, 400, "BadRequestException")
    assert await open_ones(ns) == []


@pytest.mark.parametrize(
    "key", ["status", "base-version", "version", "began-at", "ended-at", "expires-at", "reason", "commit", "committed"]
)
async def test_begin_does_not_take_what_only_the_server_can_say(ns: Client, key: str) -> None:
    answer = await ns.post("/v1/namespaces", json={"namespace": list(inside("t")), "properties": {key: "true"}})
    refused(answer, 400, "BadRequestException", key)


@pytest.mark.parametrize("status", ["open", "committed", "rolled-back"])
async def test_an_id_is_used_once(ns: Client, status: str) -> None:
    await begin(ns, "t")
    if status == "committed":
        done(await commit(ns, "t"))
    elif status == "rolled-back":
        done(await ns.delete(path(*inside("t"))), 204)
    answer = await ns.post("/v1/namespaces", json={"namespace": list(inside("t")), "properties": {}})
    refused(answer, 409, "AlreadyExistsException", "t", "used")
    assert (await shown(ns, "t"))["status"] == status


@pytest.mark.parametrize("key", ["commit", "committed"])
@pytest.mark.parametrize("value", ["true", "TRUE", "True"])
async def test_setting_a_property_commits(ns: Client, key: str, value: str) -> None:
    await begin(ns, "t")
    await make_namespace(ns, *inside("t", "new"))
    answer = done(await ns.post(f"{path(*inside('t'))}/properties", json={"updates": {key: value}}))
    assert answer == {"updated": [key], "removed": [], "missing": []}
    assert (await ns.head(path("new"))).status_code == 204
    properties = await shown(ns, "t")
    assert properties["status"] == "committed"
    assert properties["version"] == "2"
    assert "ended-at" in properties
    assert await open_ones(ns) == []


async def test_committing_twice_answers_as_the_first_did(ns: Client) -> None:
    await begin(ns, "t")
    await make_namespace(ns, *inside("t", "new"))
    first, second = await commit(ns, "t"), await commit(ns, "t")
    assert done(first) == done(second)
    assert (await shown(ns, "t"))["version"] == "2"


@pytest.mark.parametrize("value", ["false", "", "yes", "1", "rollback"])
@pytest.mark.parametrize("key", ["commit", "committed"])
async def test_only_true_commits(ns: Client, key: str, value: str) -> None:
    await begin(ns, "t")
    answer = await ns.post(f"{path(*inside('t'))}/properties", json={"updates": {key: value}})
    refused(answer, 400, "BadRequestException", key)
    assert (await shown(ns, "t"))["status"] == "open"


async def test_dropping_rolls_back_though_the_namespace_shows_content(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    await begin(ns, "t")
    await make_table(ns, inside("t", "ns"), "u")
    done(await ns.delete(path(*inside("t"))), 204)
    done(await ns.delete(path(*inside("t"))), 204)
    assert (await shown(ns, "t"))["status"] == "rolled-back"
    assert (await ns.head(path("ns", table="u"))).status_code == 404
    refused(await commit(ns, "t"), 409, "CommitFailedException", "t", "rolled-back")


async def test_dropping_what_was_committed_is_refused(ns: Client) -> None:
    await begin(ns, "t")
    await make_namespace(ns, *inside("t", "new"))
    done(await commit(ns, "t"))
    refused(await ns.delete(path(*inside("t"))), 409, "CommitFailedException", "t", "committed", "2")
    assert (await ns.head(path("new"))).status_code == 204


async def test_a_lost_race_is_explained(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    for transaction in ("winner", "loser"):
        await begin(ns, transaction)
        done(await ns.post(path(*inside(transaction, "ns"), table="t"), json=setting(owner=transaction)))
    done(await commit(ns, "winner"))
    refused(await commit(ns, "loser"), 409, "CommitFailedException", "ns.t")
    refused(await commit(ns, "loser"), 409, "CommitFailedException", "ns.t")
    properties = await shown(ns, "loser")
    assert properties["status"] == "refused"
    assert "ns.t" in properties["reason"]
    assert await properties_of(ns, ["ns"], "t") == {"owner": "winner"}


async def test_properties_of_a_transaction_can_be_changed_but_not_what_it_is(ns: Client) -> None:
    await begin(ns, "t", owner="me")
    where = f"{path(*inside('t'))}/properties"
    answer = done(await ns.post(where, json={"removals": ["owner", "never"], "updates": {"comment": "x"}}))
    assert answer == {"updated": ["comment"], "removed": ["owner"], "missing": ["never"]}
    properties = await shown(ns, "t")
    assert properties["comment"] == "x"
    assert "owner" not in properties
    for key in ("isolation-level", "ttl-millis", "status", "base-version", "expires-at"):
        refused(await ns.post(where, json={"updates": {key: "x"}}), 400, "BadRequestException", key)
        refused(await ns.post(where, json={"removals": [key]}), 400, "BadRequestException", key)


async def test_an_expired_transaction_says_so() -> None:
    clock = ManualClock()
    async with serving(clock=clock) as client:
        await make_namespace(client, "ns")
        await begin(client, "t", ttl_millis="1000")
        clock.advance(2)
        refused(await client.get(path(*inside("t", "ns"))), 404, "NoSuchNamespaceException", "t", "expired")
        answer = await client.post("/v1/namespaces", json={"namespace": list(inside("t", "x"))})
        refused(answer, 404, "NoSuchNamespaceException", "t", "expired")
        refused(await commit(client, "t"), 409, "CommitFailedException", "t", "expired")
        assert (await shown(client, "t"))["status"] == "expired"
        assert await open_ones(client) == []


async def test_the_lifetime_that_nobody_asked_for_is_a_setting() -> None:
    async with serving(transaction_ttl_minutes=5) as client:
        properties = await begin(client, "t")
        assert int(properties["expires-at"]) - int(properties["began-at"]) == 300_000


@pytest.mark.parametrize("name", ["nobody", "..", "", "a/b", "\x00", "x" * 2000, "../../vn"])
async def test_a_transaction_that_never_began_is_no_namespace(ns: Client, name: str) -> None:
    where = path(*inside(name))
    kind, message = "NoSuchNamespaceException", f"Namespace does not exist: sys.dtxns.dtxn_{name}"
    for answer in (
        await ns.get(where),
        await ns.delete(where),
        await commit(ns, name),
        await ns.get(f"{where}/tables"),
        await ns.get(path(*inside(name, "ns"))),
        await ns.get(f"{path(*inside(name, 'ns'))}/tables"),
        await ns.post("/v1/namespaces", json={"namespace": list(inside(name, "x"))}),
    ):
        refused(answer, 404, kind, message)
    assert (await ns.head(where)).status_code == 404


async def test_the_system_namespaces_are_always_there(ns: Client) -> None:
    for system in ("sys", "system"):
        assert done(await ns.get(path(), params={"parent": system}))["namespaces"] == [[system, "dtxns"]]
        for levels in ((system,), (system, "dtxns")):
            assert done(await ns.get(path(*levels)))["namespace"] == list(levels)
            assert (await ns.head(path(*levels))).status_code == 204
            for what in ("tables", "views"):
                assert done(await ns.get(f"{path(*levels)}/{what}"))["identifiers"] == []
            refused(await ns.post("/v1/namespaces", json={"namespace": list(levels)}), 409, "AlreadyExistsException", "already exists")
            refused(await ns.delete(path(*levels)), 400, "BadRequestException", "cannot be dropped")
            answer = await ns.post(f"{path(*levels)}/properties", json={"updates": {"a": "b"}})
            assert answer.status_code in {400, 406}
            refused(answer, answer.status_code, answer.json()["error"]["type"], system)
            for what in ("tables", "views"):
                body = {"name": "t", "schema": {"type": "struct", "fields": []}, "view-version": {}}
                refused(await ns.post(f"{path(*levels)}/{what}", json=body), 400, "BadRequestException", "cannot be made")


async def test_the_alias_means_the_same_transactions(ns: Client) -> None:
    done(await ns.post("/v1/namespaces", json={"namespace": ["system", "dtxns", "dtxn_t"]}))
    assert await open_ones(ns, "system") == [["system", "dtxns", "dtxn_t"]]
    assert await open_ones(ns) == [["sys", "dtxns", "dtxn_t"]]
    answer = done(await ns.get(path(), params={"parent": "system\x1fdtxns\x1fdtxn_t"}))
    assert answer["namespaces"] == [["system", "dtxns", "dtxn_t", "ns"]]
    done(await ns.post(f"{path('system', 'dtxns', 'dtxn_t')}/properties", json={"updates": {"commit": "true"}}))


async def test_open_transactions_are_listed_in_order_and_in_pages(ns: Client) -> None:
    for name in ("b", "a", "c"):
        await begin(ns, name)
    every = [["sys", "dtxns", f"dtxn_{name}"] for name in "abc"]
    assert await open_ones(ns) == every
    found: list[list[str]] = []
    token: str | None = ""
    while token is not None:
        page = done(await ns.get(path(), params={"parent": "sys\x1fdtxns", "pageToken": token, "pageSize": "2"}))
        found += page["namespaces"]
        token = page.get("next-page-token")
    assert found == every


@pytest.mark.parametrize("levels", [("sys", "x"), ("sys", "ns"), ("system", "x", "ns"), ("sys", "dtxns", "t"), ("sys", "dtxns", "x", "ns")])
async def test_other_names_below_sys_mean_nothing(ns: Client, levels: tuple[str, ...]) -> None:
    await make_table(ns, ["ns"], "t")
    name = ".".join(levels)
    assert (await ns.head(path(*levels))).status_code == 404
    assert (await ns.head(path(*levels, table="t"))).status_code == 404
    for answer in (
        await ns.get(path(*levels)),
        await ns.delete(path(*levels)),
        await ns.post(f"{path(*levels)}/properties", json={"updates": {"a": "b"}}),
        await ns.get(f"{path(*levels)}/tables"),
        await ns.get(f"{path(*levels)}/views"),
        await ns.get(path(), params={"parent": "\x1f".join(levels)}),
    ):
        refused(answer, 404, "NoSuchNamespaceException", f"Namespace does not exist: {name}")
    refused(await ns.get(path(*levels, table="t")), 404, "NoSuchTableException", f"Table does not exist: {name}.t")
    refused(await ns.delete(path(*levels, table="t")), 404, "NoSuchTableException")
    refused(await ns.get(path(*levels, view="v")), 404, "NoSuchViewException")
    refused(await ns.post("/v1/namespaces", json={"namespace": list(levels)}), 400, "BadRequestException", name)
    for what, body in (("tables", new_table("t")), ("views", new_view("t"))):
        refused(await ns.post(f"{path(*levels)}/{what}", json=body), 404, "NoSuchNamespaceException", f"Namespace does not exist: {name}")
    assert (await ns.head(path("ns", table="t"))).status_code == 204


async def test_the_system_namespace_is_listed_only_where_the_catalog_wants_it() -> None:
    async with serving(init=False) as client:
        refused(await client.get("/v1/namespaces"), 404, "NoSuchNamespaceException", "CREATE NAMESPACE sys")
        properties = {"list-system-namespace": "true"}
        made = done(await client.post("/v1/namespaces", json={"namespace": ["sys"], "properties": properties}))
        assert made == {"namespace": ["sys"], "properties": properties}
        assert done(await client.get("/v1/namespaces"))["namespaces"] == [["sys"]]
        for name in ("a", "z"):
            await make_namespace(client, name)
        listed = done(await client.get("/v1/namespaces"))["namespaces"]
        assert sorted(listed) == [["a"], ["sys"], ["z"]]
        for size in ("1", "2", "3"):
            found: list[list[str]] = []
            token: str | None = ""
            while token is not None:
                page = done(await client.get("/v1/namespaces", params={"pageToken": token, "pageSize": size}))
                assert len(page["namespaces"]) <= int(size)
                found += page["namespaces"]
                token = page.get("next-page-token")
            assert found == listed


async def test_a_catalog_is_made_by_creating_the_system_namespace() -> None:
    async with serving(init=False) as client:
        assert done(await client.get("/readyz"))["versions"] == {ROOT: None}
        done(await client.get("/v1/config"))
        for answer in (
            await client.get("/v1/namespaces"),
            await client.get(path("sys")),
            await client.get(path("ns", table="t")),
            await client.post("/v1/namespaces", json={"namespace": ["ns"]}),
            await client.post("/v1/namespaces", json={"namespace": list(inside("t"))}),
        ):
            refused(answer, 404, "NoSuchNamespaceException", "CREATE NAMESPACE sys", ROOT)
        assert (await client.head(path("sys"))).status_code == 404
        assert done(await client.post("/v1/namespaces", json={"namespace": ["sys"]}))["namespace"] == ["sys"]
        refused(await client.post("/v1/namespaces", json={"namespace": ["sys"]}), 409, "AlreadyExistsException", "already exists")
        assert (await client.head(path("sys"))).status_code == 204
        assert done(await client.get("/v1/namespaces"))["namespaces"] == []
        await make_namespace(client, "ns")
        assert done(await client.get("/readyz"))["versions"] == {ROOT: 1}
