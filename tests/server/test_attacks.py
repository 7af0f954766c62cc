"""Somebody who has only the URL, and bad intentions: no 5xx, no traceback, nothing of others, nothing that stays broken."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
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
    make_table,
    make_view,
    new_table,
    new_view,
    path,
    refused,
    serving,
    setting,
)
from tests.support.catalogs import SCHEMA

REQUESTS = 500
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 1.5, 1e308, "", "x", "main", "1", "\x00", "\x1f", "ü", "a" * 300, [],
    [1], [None], ["x"], [[]], {}, {"a": 1},
    "decimal(99,2)", "fixed[8]", "bucket[0]", "truncate[999999999999]", "void", "variant", "timestamp_ns",
]  # fmt: skip
SNAPSHOT = {
    "snapshot-id": 1,
    "sequence-number": 1,
    "timestamp-ms": 1,
    "manifest-list": "file:///x",
    "summary": {"operation": "append"},
    "schema-id": 0,
}
SPEC = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "transform": "bucket[4]", "name": "b"}]}
ORDER = {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}]}
STATISTICS = {"snapshot-id": 1, "statistics-path": "p", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}
UPDATES: list[Json] = [
    {"action": "assign-uuid", "uuid": "11111111-1111-1111-1111-111111111111"},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "add-schema", "schema": SCHEMA, "last-column-id": 9},
    {"action": "set-current-schema", "schema-id": -1},
    {"action": "add-spec", "spec": SPEC},
    {"action": "set-default-spec", "spec-id": -1},
    {"action": "add-sort-order", "sort-order": ORDER},
    {"action": "set-default-sort-order", "sort-order-id": -1},
    {"action": "add-snapshot", "snapshot": SNAPSHOT},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1, "max-ref-age-ms": 1},
    {"action": "remove-snapshot-ref", "ref-name": "main"},
    {"action": "remove-snapshots", "snapshot-ids": [1]},
    {"action": "set-properties", "updates": {"a": "b", "write.metadata.previous-versions-max": "2"}},
    {"action": "remove-properties", "removals": ["a"]},
    {"action": "set-statistics", "statistics": STATISTICS},
    {"action": "remove-statistics", "snapshot-id": 1},
    {"action": "remove-partition-specs", "spec-ids": [0]},
    {"action": "remove-schemas", "schema-ids": [0]},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "YQ==", "properties": {}}},
]
REQUIREMENTS: list[Json] = [
    {"type": "assert-create"},
    {"type": "assert-table-uuid", "uuid": "x"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None},
    {"type": "assert-current-schema-id", "current-schema-id": 0},
    {"type": "assert-view-uuid", "uuid": "x"},
]
LEVELS = b"v1 namespaces ns tables views sys sys%1Fdtxns dtxn_x lake lake@v1 lake@dtxn_ %2F .. %00 % \xff @ %1F ".split(b" ")
QUERIES = [b"pageToken=", b"pageToken=x", b"pageSize=1", b"parent=%1F", b"parent=%FF", b"warehouse=@", b"snapshots=refs", b"=", b"%", b";"]
HEADERS = ["if-none-match", "authorization", "accept-encoding", "x", "range"]
IDENTIFIER = {"namespace": ["ns"], "name": "t"}


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value below this one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, entry in inner for found in [(*way, key), *places(entry, (*way, key))]]


def damaged(dice: random.Random, body: Json) -> Json:
    """The body with one to three fields replaced, doubled or gone."""
    made = copy.deepcopy(body)
    for _ in range(dice.randint(1, 3)):
        ways = places(made)
        if not ways:
            break
        *before, last = dice.choice(ways)
        holder: Any = made
        for key in before:
            holder = holder[key]
        if dice.random() < 0.15:
            del holder[last]
        elif last == "type":
            # A type that is no string meets a known defect, which has a test of its own below.
            holder[last] = dice.choice([odd for odd in ODD if not isinstance(odd, list | dict)])
        else:
            holder[last] = copy.deepcopy(dice.choice(ODD))
    return made


def some_request(dice: random.Random) -> tuple[str, Json]:
    namespace = path(*dice.choice([("ns",), inside("open", "ns")]), prefix=dice.choice([None, ROOT, f"{ROOT}@dtxn_open"]))
    changes = {"requirements": dice.sample(REQUIREMENTS, dice.choice([0, 0, 1])), "updates": dice.choices(UPDATES, k=dice.randint(1, 4))}
    return dice.choice(
        [
            (f"{namespace}/tables/{dice.choice('tu')}", changes),
            (
                f"{namespace}/tables",
                new_table(dice.choice("tuw"), **{"partition-spec": {"fields": []}, "properties": {"format-version": "2"}}),
            ),
            (f"{namespace}/views", new_view(dice.choice("vw"))),
            (f"{namespace}/views/v", {"updates": [{"action": "add-view-version", "view-version": new_view("v")["view-version"]}]}),
            (f"{namespace}/properties", {"removals": ["a"], "updates": {"b": "c"}}),
            ("/v1/transactions/commit", {"table-changes": [{"identifier": IDENTIFIER, **changes}]}),
            (f"/v1/{dice.choice(['tables', 'views'])}/rename", {"source": IDENTIFIER, "destination": {"namespace": ["ns"], "name": "u"}}),
            ("/v1/namespaces", {"namespace": ["ns", "x"], "properties": {"a": "b"}}),
            ("/v1/namespaces", {"namespace": list(inside(dice.choice("pq"))), "properties": {"isolation-level": "serializable"}}),
        ]
    )


def check(response: Any, what: object) -> None:
    assert response.status_code < 500, (response.status_code, response.text, what)
    if response.status_code >= 400:
        refused(response, response.status_code, response.json()["error"]["type"])
        assert "Traceback" not in response.text


@pytest.mark.parametrize("seed", [1, 2])
async def test_damaged_bodies_are_answered_as_mistakes(ns: Client, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Locations may be relative, and then they are relative to where the server runs.
    monkeypatch.chdir(tmp_path)
    dice = random.Random(seed)
    for name in "tu":
        await make_table(ns, ["ns"], name)
    await make_view(ns, ["ns"], "v")
    await begin(ns, "open")
    for _ in range(REQUESTS):
        target, body = some_request(dice)
        body = damaged(dice, body)
        check(await ns.post(target, content=json.dumps(body)), (target, body))
    for target in ("/v1/namespaces", f"{path('ns')}/tables", f"{path('ns')}/views", "/v1/namespaces?parent=sys%1Fdtxns", "/readyz"):
        done(await ns.get(target))
    for listed in done(await ns.get(f"{path('ns')}/tables"))["identifiers"]:
        where = path(*listed["namespace"], table=listed["name"])
        done(await ns.get(where))
        done(await ns.get(where, params={"snapshots": "refs"}))


async def test_random_paths_and_headers_are_answered_as_mistakes(ns: Client) -> None:
    dice = random.Random(3)
    for _ in range(REQUESTS):
        target = b"/" + b"/".join(dice.choices(LEVELS, k=dice.randint(0, 7)))
        query = b"&".join(dice.choices(QUERIES, k=dice.randint(0, 3)))
        headers = {"host": "x", dice.choice(HEADERS): dice.choice(["*", "\xff", "", '"', "gzip;q=x", "a" * 9000])}
        method = dice.choice(["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS"])
        response = await ns.raw(method, target, headers=headers, query=query, body=b"{}")
        assert response.status_code < 500, (method, target, query, headers, response.text)
        if method == "HEAD":
            assert response.status_code >= 400 or response.status_code in {200, 204}


async def test_one_root_does_not_show_anothers_data(tmp_path: Path) -> None:
    async with serving(roots=[f"one={tmp_path}/one", f"two={tmp_path}/two"]) as client:
        done(await client.post("/v1/one/namespaces", json={"namespace": ["ns"]}))
        done(await client.post("/v1/one/namespaces/ns/tables", json=new_table("t")))
        done(await client.post("/v1/one/namespaces", json={"namespace": list(inside("x"))}))
        for prefix in ("two", "two@v0", "two@dtxn_x", "one%2Ftwo", "one%2F..%2Ftwo", "two@v1"):
            for rest in ("ns", "ns/tables", "ns/tables/t", "sys%1Fdtxns%1Fdtxn_x", "sys%1Fdtxns%1Fdtxn_x%1Fns/tables/t"):
                response = await client.raw("GET", f"/v1/{prefix}/namespaces/{rest}".encode())
                assert response.status_code == 404, (prefix, rest, response.text)
        assert done(await client.get("/v1/two/namespaces"))["namespaces"] == []


@pytest.mark.parametrize("name", ["\ud800", "a\udfff"])
async def test_lone_surrogates_are_no_text(ns: Client, name: str) -> None:
    body = json.dumps({"namespace": [name], "properties": {name: name}})
    refused(await ns.post("/v1/namespaces", content=body), 400, "BadRequestException", "JSON")


@pytest.mark.parametrize("kind", [[], ["struct"], {}, {"type": "struct"}])
async def test_a_type_whose_type_is_no_string(ns: Client, kind: Any) -> None:
    schema = {"type": "struct", "fields": [{"id": 1, "name": "a", "type": {"type": kind, "fields": []}, "required": False}]}
    refused(await ns.post(f"{path('ns')}/tables", json={"name": "t", "schema": schema}), 400, "BadRequestException")


@pytest.mark.parametrize("key", ["location", "write.metadata.path"])
@pytest.mark.parametrize("below", ["../x", "data/../../x", "a\x00b", "/./x"])
async def test_a_location_that_leaves_the_root_by_dots(folder_server: Client, key: str, below: str) -> None:
    location = f"{folder_root(folder_server)}/{below}"
    body = new_table("t", location=location) if key == "location" else new_table("t", properties={key: location})
    refused(await folder_server.post(f"{path('ns')}/tables", json=body), 400, "BadRequestException")


@pytest.mark.parametrize("location", ["relative", " ", "file:"])
async def test_a_location_that_is_no_place_for_files(ns: Client, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = await ns.post(f"{path('ns')}/tables", json=new_table("t", location=location))
    assert 400 <= answer.status_code < 500
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".", ".."])
async def test_names_that_paths_lose_are_refused(ns: Client, name: str) -> None:
    """Clients take them out of paths: dropping the table `..` would drop its namespace."""
    refused(await ns.post("/v1/namespaces", json={"namespace": ["ns", name]}), 400, "BadRequestException")
    refused(await ns.post(f"{path('ns')}/tables", json=new_table(name)), 400, "BadRequestException")


@pytest.mark.parametrize("folder", ["dtxn-open", "dtxn", "vn", "node", "def"])
async def test_metadata_do_not_go_among_the_catalogs_own_files(folder_server: Client, folder: str) -> None:
    """Whoever may create a table could otherwise make `SHOW NAMESPACES IN sys.dtxns` fail for ever."""
    client = folder_server
    place = f"{folder_root(client)}/{folder}"
    await client.post(f"{path('ns')}/tables", json=new_table("t", properties={"write.metadata.path": place}))
    done(await client.get("/v1/namespaces?parent=sys%1Fdtxns"))
    refused(await client.post(f"{path('ns')}/tables", json=new_table("u", location=place)), 400, "BadRequestException")


def folder_root(client: Client) -> str:
    """The root's URL."""
    return f"file://{next(iter(client.app.roots)).url}"


async def test_many_transactions_do_not_disturb_each_other(ns: Client) -> None:
    await make_table(ns, ["ns"], "t")
    for number in range(20):
        await begin(ns, f"t{number}")
        done(await ns.post(path(*inside(f"t{number}", "ns"), table="t"), json=setting(**{f"k{number}": "v"})))
    statuses = [(await commit(ns, f"t{number}")).status_code for number in range(20)]
    assert statuses[0] == 200
    assert set(statuses) <= {200, 409}
    listed = done(await ns.get("/v1/namespaces?parent=sys%1Fdtxns"))["namespaces"]
    assert listed == []


@pytest.mark.parametrize(
    "location", ["file:///proc/self/x", "file:///dev/null/x", "http://x/y", "x:y", "s3://", "file://host/x", "memory://"]
)
async def test_a_location_where_nothing_can_be_written(ns: Client, location: str) -> None:
    answer = await ns.post(f"{path('ns')}/tables", json=new_table("t", location=location))
    assert 400 <= answer.status_code < 500
    refused(answer, answer.status_code, answer.json()["error"]["type"])
    assert (await ns.head(path("ns", table="t"))).status_code == 404


@pytest.mark.parametrize(
    "spelling",
    [
        "file:///.{0}",
        "file:////{0}",
        "file://localhost{0}",
        "FILE://{0}",
        "file://{1}//{2}",
    ],
)
async def test_no_spelling_of_a_location_reaches_the_catalogs_own_files(folder_server: Client, spelling: str) -> None:
    client = folder_server
    folder = Path(next(iter(client.app.roots)).url) / "dtxn-open"
    parent = folder.parent
    place = spelling.format(folder, parent.parent, f"{parent.name}/{folder.name}")
    await client.post(f"{path('ns')}/tables", json=new_table("t", properties={"write.metadata.path": place}))
    done(await client.get("/v1/namespaces?parent=sys%1Fdtxns"))
