"""The whole catalog below a transaction's name, at full depth; and what a name may not cross."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.harness import (
    ROOT,
    Client,
    Json,
    begin,
    commit,
    done,
    inside,
    make_namespace,
    make_table,
    make_view,
    names_in,
    new_table,
    new_view,
    path,
    properties_of,
    refused,
    setting,
)  # fmt: skip


@pytest.fixture
async def deep(ns: Client) -> Client:
    """`ns` with a table, a view and a namespace two levels below, and an open transaction `t`."""
    await make_namespace(ns, "ns", "b")
    await make_namespace(ns, "ns", "b", "c")
    for namespace in (["ns"], ["ns", "b", "c"]):
        await make_table(ns, namespace, "table")
        await make_view(ns, namespace, "view")
    await begin(ns, "t")
    return ns


def identifier(*levels: str) -> Json:
    return {"namespace": list(levels[:-1]), "name": levels[-1]}


async def rename(client: Client, what: str, source: tuple[str, ...], destination: tuple[str, ...]) -> Any:
    return await client.post(f"/v1/{what}/rename", json={"source": identifier(*source), "destination": identifier(*destination)})


async def test_everything_is_there_under_full_names(deep: Client) -> None:
    start = inside("t")
    listed = done(await deep.get(path(), params={"parent": "\x1f".join(start)}))["namespaces"]
    assert listed == [[*start, "ns"]]
    assert done(await deep.get(path(), params={"parent": "\x1f".join([*start, "ns", "b"])}))["namespaces"] == [[*start, "ns", "b", "c"]]
    for namespace in (["ns"], ["ns", "b", "c"]):
        within = inside("t", *namespace)
        assert done(await deep.get(path(*within)))["namespace"] == list(within)
        tables = done(await deep.get(f"{path(*within)}/tables"))["identifiers"]
        assert tables == [{"namespace": list(within), "name": "table"}]
        views = done(await deep.get(f"{path(*within)}/views"))["identifiers"]
        assert views == [{"namespace": list(within), "name": "view"}]
        seen, outside = done(await deep.get(path(*within, table="table"))), done(await deep.get(path(*namespace, table="table")))
        # Engines are asked to delete no file before the transaction has ended.
        assert seen["metadata"]["properties"].pop("gc.enabled") == "false"
        assert seen == outside
        view, outside = done(await deep.get(path(*within, view="view"))), done(await deep.get(path(*namespace, view="view")))
        # The plain names in a view's SQL mean the tables of where it is read.
        for version in outside["metadata"]["versions"]:
            version["default-namespace"] = [*within[:3], *version["default-namespace"]]
        assert view == outside
        assert (await deep.head(path(*within, table="table"))).status_code == 204
        assert (await deep.head(path(*within, view="view"))).status_code == 204


async def test_what_happens_inside_is_seen_inside_until_it_is_committed(deep: Client) -> None:
    within = inside("t", "ns", "b", "new")
    await make_namespace(deep, *within, owner="me")
    made = await make_table(deep, within, "made")
    await make_view(deep, within, "shown")
    committed = done(await deep.post(path(*within, table="made"), json=setting(a="1")))
    assert committed["metadata-location"] != made["metadata-location"]
    done(await deep.delete(path(*inside("t", "ns"), table="table")), 204)
    done(await rename(deep, "tables", inside("t", "ns", "b", "c", "table"), inside("t", "ns", "moved")), 204)
    done(await rename(deep, "views", inside("t", "ns", "view"), inside("t", "ns", "b", "view")), 204)
    done(await deep.post(f"{path(*inside('t', 'ns'))}/properties", json={"updates": {"k": "v"}}))

    assert (await deep.head(path("ns", "b", "new"))).status_code == 404
    assert await names_in(deep, "ns") == ["table"]
    assert await names_in(deep, *inside("t", "ns")) == ["moved"]
    assert done(await deep.get(path("ns")))["properties"] == {}

    done(await commit(deep, "t"))
    assert await names_in(deep, "ns") == ["moved"]
    assert await names_in(deep, "ns", "b", what="views") == ["view"]
    assert await properties_of(deep, ["ns", "b", "new"], "made") == {"a": "1"}
    assert await names_in(deep, "ns", "b", "new", what="views") == ["shown"]
    assert done(await deep.get(path("ns")))["properties"] == {"k": "v"}
    assert done(await deep.get(path("ns", "b", "new")))["properties"] == {"owner": "me"}


async def test_what_happens_outside_stays_outside(deep: Client) -> None:
    done(await deep.post(path("ns", table="table"), json=setting(outside="1")))
    await make_namespace(deep, "later")
    assert await properties_of(deep, inside("t", "ns"), "table") == {}
    assert (await deep.head(path(*inside("t", "later")))).status_code == 404
    await begin(deep, "after")
    assert await properties_of(deep, inside("after", "ns"), "table") == {"outside": "1"}


async def test_errors_inside_name_what_the_catalog_calls_it_or_the_full_name(deep: Client) -> None:
    refused(await deep.get(path(*inside("t", "no"))), 404, "NoSuchNamespaceException", "Namespace does not exist: ", "no")
    refused(await deep.get(path(*inside("t", "ns"), table="no")), 404, "NoSuchTableException", "Table does not exist: ", "ns.no")
    refused(await deep.get(path(*inside("t", "ns"), view="no")), 404, "NoSuchViewException", "View does not exist: ", "ns.no")
    taken = await deep.post(f"{path(*inside('t', 'ns'))}/tables", json=new_table("table"))
    refused(taken, 409, "AlreadyExistsException", "Table already exists: ", "ns.table")
    refused(await deep.delete(path(*inside("t", "ns"))), 409, "NamespaceNotEmptyException")
    stale = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}
    refused(await deep.post(path(*inside("t", "ns"), table="table"), json=setting([stale], a="1")), 409, "CommitFailedException")


async def test_probes_that_engines_send_are_answered_cheaply(deep: Client) -> None:
    """`SELECT … FROM ns.t.snapshots` makes Spark look for a table `snapshots` in a namespace `ns.t` first."""
    for levels, name in (
        (inside("t", "ns", "table"), "snapshots"),
        (inside("t"), "ns"),
        (("sys", "dtxns"), "dtxn_t"),
        (("ns", "table"), "files"),
    ):
        refused(await deep.get(path(*levels, table=name)), 404, "NoSuchTableException", "Table does not exist")
        refused(await deep.get(path(*levels, view=name)), 404, "NoSuchViewException", "View does not exist")
        assert (await deep.head(path(*levels, table=name))).status_code == 404
    refused(await deep.raw("GET", b"/v1/namespaces//tables/snapshots"), 404, "NoSuchTableException", "Table does not exist")


async def test_no_table_lies_directly_in_a_transaction(deep: Client) -> None:
    for what, body in (("tables", new_table("x")), ("views", new_view("x"))):
        refused(await deep.post(f"{path(*inside('t'))}/{what}", json=body), 400, "BadRequestException", "cannot be made")
        assert done(await deep.get(f"{path(*inside('t'))}/{what}"))["identifiers"] == []
    to_the_top = await rename(deep, "tables", inside("t", "ns", "table"), inside("t", "x"))
    assert to_the_top.status_code in {400, 404}


async def test_transactions_do_not_nest(deep: Client) -> None:
    await begin(deep, "u")
    for levels in (inside("t", *inside("u")), inside("t", "sys"), inside("t", "system", "dtxns"), inside("t", *inside("u"), "ns")):
        refused(await deep.get(path(*levels)), 404, "NoSuchNamespaceException")
        assert (await deep.get(path(*levels, table="table"))).status_code == 404
        made = await deep.post("/v1/namespaces", json={"namespace": list(levels)})
        assert made.status_code in {400, 404}
    assert done(await deep.get(path(), params={"parent": "\x1f".join(inside("t"))}))["namespaces"] == [[*inside("t"), "ns"]]


@pytest.mark.parametrize("what", ["tables", "views"])
async def test_a_rename_does_not_cross_the_border_of_a_transaction(deep: Client, what: str) -> None:
    await begin(deep, "u")
    name = what[:-1]
    for source, destination in (
        (("ns", name), inside("t", "ns", "x")),
        (inside("t", "ns", name), ("ns", "x")),
        (inside("t", "ns", name), inside("u", "ns", "x")),
    ):
        refused(await rename(deep, what, source, destination), 400, "BadRequestException", "same transaction")
    done(await rename(deep, what, inside("t", "ns", name), ("system", *inside("t", "ns", "x")[1:])), 204)
    assert await names_in(deep, "ns", what=what) == [name]
    assert await names_in(deep, *inside("t", "ns"), what=what) == ["x"]


async def test_a_rename_within_the_prefix_of_a_transaction(deep: Client) -> None:
    body = {"source": identifier("ns", "table"), "destination": identifier(*inside("t", "ns", "x"))}
    done(await deep.post(f"/v1/{ROOT}@dtxn_t/tables/rename", json=body), 204)
    assert await names_in(deep, *inside("t", "ns")) == ["x"]


async def test_a_commit_of_several_tables_inside(deep: Client) -> None:
    await make_table(deep, ["ns"], "outside")
    names = [inside("t", "ns", "table"), inside("t", "ns", "b", "c", "table")]
    changes = [{"identifier": identifier(*name), **setting(x="1")} for name in names]
    done(await deep.post("/v1/transactions/commit", json={"table-changes": changes}), 204)
    assert await properties_of(deep, ["ns"], "table") == {}
    assert await properties_of(deep, inside("t", "ns"), "table") == {"x": "1"}
    mixed = [changes[0], {"identifier": identifier("ns", "outside"), **setting(x="1")}]
    refused(await deep.post("/v1/transactions/commit", json={"table-changes": mixed}), 400, "BadRequestException", "one transaction")
    done(await commit(deep, "t"))
    assert await properties_of(deep, ["ns"], "table") == {"x": "1"}
    assert await properties_of(deep, ["ns", "b", "c"], "table") == {"x": "1"}
    assert await properties_of(deep, ["ns"], "outside") == {}


async def test_each_commit_inside_has_a_location_of_its_own(deep: Client) -> None:
    answers = [done(await deep.post(path(*inside("t", "ns"), table="table"), json=setting(n=str(n)))) for n in range(3)]
    locations = [answer["metadata-location"] for answer in answers]
    assert len(set(locations)) == 3
    etags = {
        (await deep.get(path(*inside("t", "ns"), table="table"))).headers["etag"],
        (await deep.get(path("ns", table="table"))).headers["etag"],
    }
    assert len(etags) == 2


@pytest.mark.parametrize("ending", ["commit", "roll back"])
async def test_an_ended_transaction_is_gone_for_readers_and_explained_to_writers(deep: Client, ending: str) -> None:
    await make_table(deep, inside("t", "ns"), "made")
    done(await commit(deep, "t") if ending == "commit" else await deep.delete(path(*inside("t"))), 200 if ending == "commit" else 204)
    status = "committed" if ending == "commit" else "rolled-back"
    within = inside("t", "ns")
    for reading in (
        await deep.get(path(*within)),
        await deep.get(f"{path(*within)}/tables"),
        await deep.get(path(), params={"parent": "\x1f".join(within)}),
        await deep.get(path(*within, table="table")),
        await deep.get(path(*within, view="view")),
    ):
        assert reading.status_code == 404
        assert status in reading.json()["error"]["message"]
        assert "t" in reading.json()["error"]["message"]
    assert (await deep.head(path(*within))).status_code == 404
    assert (await deep.head(path(*within, table="table"))).status_code == 404
    for making in (
        await deep.post("/v1/namespaces", json={"namespace": [*within, "x"]}),
        await deep.post(f"{path(*within)}/tables", json=new_table("x")),
        await deep.post(f"{path(*within)}/views", json=new_view("x")),
    ):
        # Engines would show a 409 as "already exists".
        refused(making, 404, "NoSuchNamespaceException", "Transaction t", status)
    for writing in (
        await deep.delete(path(*within)),
        await deep.post(f"{path(*within)}/properties", json={"updates": {"a": "b"}}),
        await deep.post(path(*within, table="table"), json=setting(a="1")),
        await deep.delete(path(*within, table="table")),
        await rename(deep, "tables", (*within, "table"), (*within, "x")),
        await deep.post(
            "/v1/transactions/commit", json={"table-changes": [{"identifier": identifier(*within, "table"), **setting(a="1")}]}
        ),
        await deep.post(f"{path(*inside('t'))}/properties", json={"updates": {"comment": "late"}}),
    ):
        refused(writing, 409, "CommitFailedException", "Transaction t", status)


async def test_a_staged_create_inside(deep: Client) -> None:
    staged = done(await deep.post(f"{path(*inside('t', 'ns'))}/tables", json=new_table("s", **{"stage-create": True})))
    assert staged["metadata"]["table-uuid"]
    assert await names_in(deep, *inside("t", "ns")) == ["table"]


@pytest.mark.parametrize("drew_reads", [False, True])
async def test_jack_is_ordered_before_drew_unless_drew_read_what_jack_writes(ns: Client, drew_reads: bool) -> None:
    await make_table(ns, ["ns"], "t1")
    await make_table(ns, ["ns"], "t2")
    for name in ("jack", "drew"):
        await begin(ns, name, isolation_level="serializable")
    assert await properties_of(ns, inside("jack", "ns"), "t1") == {}
    done(await ns.post(path(*inside("jack", "ns"), table="t2"), json=setting(by="jack")))
    if drew_reads:
        assert await properties_of(ns, inside("drew", "ns"), "t2") == {}
    done(await ns.post(path(*inside("drew", "ns"), table="t1"), json=setting(by="drew")))
    done(await commit(ns, "drew"))
    if drew_reads:
        refused(
            await commit(ns, "jack"), 409, "CommitFailedException",
            "because of table ns.t1, which transaction drew (version 4) changed meanwhile: it read what the other overwrote",
            "transaction drew (version 4) read table ns.t2, which this one writes",
        )  # fmt: skip
        assert await properties_of(ns, ["ns"], "t2") == {}
    else:
        done(await commit(ns, "jack"))
        assert await properties_of(ns, ["ns"], "t2") == {"by": "jack"}
    assert await properties_of(ns, ["ns"], "t1") == {"by": "drew"}
