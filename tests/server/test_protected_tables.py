"""Where deleting files would do harm, tables are answered with `gc.enabled=false`, whatever is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from irc_server.wire import protected
from irc_server.wire.protected import ProtectedTables
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
    new_table,
    path,
    serving,
    setting,
)

GC = "gc.enabled"
BELOW = inside("1", "ns")


def gc(answer: Json) -> str | None:
    value: str | None = answer["metadata"]["properties"].get(GC)
    return value


def stored(answer: Json) -> Json:
    """The metadata file that an answer names."""
    metadata: Json = orjson.loads(Path(answer["metadata-location"].removeprefix("file://")).read_bytes())
    return metadata


@pytest.fixture
async def lake(folder_server: Client) -> Client:
    """Version 2 has a table `ns.t`, 3 a view, and 4 a property more; a transaction is open."""
    await make_table(folder_server, ["ns"], "t")
    await make_view(folder_server, ["ns"], "v")
    done(await folder_server.post(path("ns", table="t"), json=setting(a="1")))
    await begin(folder_server, "1")
    return folder_server


PLACES = {
    "transaction by name": path(*BELOW, table="t"),
    "transaction as warehouse": path("ns", table="t", prefix=f"{ROOT}@dtxn_1"),
    "version": path("ns", table="t", prefix=f"{ROOT}@v2"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("query", ["", "?snapshots=refs"])
async def test_engines_may_delete_nothing_in_a_transaction_and_in_the_past(lake: Client, place: str, query: str) -> None:
    plain = done(await lake.get(path("ns", table="t") + query))
    answer = done(await lake.get(place + query))
    assert (gc(plain), gc(answer)) == (None, "false")
    file = stored(answer)
    assert GC not in file["properties"]
    assert answer["metadata"] == file | {"properties": file["properties"] | {GC: "false"}}


async def test_answers_to_writes_in_a_transaction_say_the_same_and_store_it_nowhere(lake: Client) -> None:
    created = await make_table(lake, BELOW, "new")
    changed = done(await lake.post(path(*BELOW, table="t"), json=setting(b="2")))
    registered = done(
        await lake.post(f"{path(*BELOW)}/register", json={"name": "again", "metadata-location": changed["metadata-location"]})
    )
    for answer in (created, changed, registered):
        assert gc(answer) == "false" and GC not in stored(answer)["properties"]
    done(await commit(lake, "1"))
    for table in ("t", "new", "again"):
        answer = done(await lake.get(path("ns", table=table)))
        assert gc(answer) is None and answer["metadata"] == stored(answer)


async def test_what_is_staged_in_a_transaction_is_as_it_will_be_stored(lake: Client) -> None:
    """Clients send back all the properties that they were given."""
    staged = done(await lake.post(f"{path(*BELOW)}/tables", json=new_table("new", **{"stage-create": True})))
    assert gc(staged) is None


async def test_who_sets_it_in_a_transaction_means_it(lake: Client) -> None:
    done(await lake.post(path(*BELOW, table="t"), json=setting(**{GC: "false"})))
    done(await commit(lake, "1"))
    answer = done(await lake.get(path("ns", table="t")))
    assert gc(answer) == "false" == stored(answer)["properties"][GC]


@pytest.mark.parametrize("said", ["true", "TRUE", "false"])
async def test_a_table_that_wants_its_files_deleted_is_believed_but_for_the_past(lake: Client, said: str) -> None:
    answer = done(await lake.post(path("ns", table="t"), json=setting(**{GC: said})))
    assert gc(answer) == gc(done(await lake.get(path("ns", table="t")))) == said
    await begin(lake, "2")
    assert gc(done(await lake.get(path(*inside("2", "ns"), table="t")))) == said
    pinned = (await lake.get("/v1/config", params={"warehouse": f"{ROOT}@latest"})).json()["overrides"]["prefix"]
    assert gc(done(await lake.get(path("ns", table="t", prefix=pinned)))) == "false"


async def test_each_form_has_an_etag_of_its_own(lake: Client) -> None:
    tags = {}
    for place in (path("ns", table="t"), path(*BELOW, table="t")):
        for query in ("", "?snapshots=refs"):
            loaded, looked = await lake.get(place + query), await lake.head(place + query)
            tags[place + query] = loaded.headers["etag"]
            assert looked.headers["etag"] == loaded.headers["etag"]
            again = await lake.get(place + query, headers={"if-none-match": loaded.headers["etag"]})
            assert again.status_code == 304
    assert len(set(tags.values())) == 4
    other = await lake.get(path(*BELOW, table="t"), headers={"if-none-match": tags[path("ns", table="t")]})
    assert gc(done(other)) == "false", "what is known of main is not what a transaction shows"


async def test_views_are_answered_as_they_are(lake: Client) -> None:
    for place in (path(*BELOW, view="v"), path("ns", view="v", prefix=f"{ROOT}@v3")):
        assert "format-version" in done(answer := await lake.get(place))["metadata"] and GC not in answer.text


async def test_a_setting_protects_the_latest_state_too(tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    async with serving(root) as client:
        await make_namespace(client, "ns")
        await make_table(client, ["ns"], "t")
        before = (await client.get(path("ns", table="t"))).headers["etag"]
    async with serving(root, protect_old_versions=True) as client:
        for answer in (await client.get(path("ns", table="t")), await client.post(path("ns", table="t"), json=setting(a="1"))):
            assert gc(done(answer)) == "false" and GC not in stored(answer.json())["properties"]
            assert answer.headers["etag"] != before


class Counted:
    """How often metadata was parsed."""

    def __init__(self, loads: Any) -> None:
        self._loads = loads
        self.calls = 0

    def __call__(self, data: bytes) -> Any:
        self.calls += 1
        return self._loads(data)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    counted = Counted(protected.loads)
    monkeypatch.setattr(protected, "loads", counted)
    yield counted


async def test_the_form_is_made_once_a_file(lake: Client, parsed: Counted) -> None:
    for _ in range(3):
        for headers in ({"accept-encoding": "gzip"}, {"accept-encoding": "identity"}):
            done(await lake.get(path(*BELOW, table="t"), headers=headers))
            done(await lake.get(path("ns", table="t", prefix=f"{ROOT}@dtxn_1"), headers=headers))
            done(await lake.get(path("ns", table="t"), headers=headers))
    assert parsed.calls == 1


def test_the_cache_is_bounded(parsed: Counted) -> None:
    tables, metadata = ProtectedTables(1000), orjson.dumps({"properties": {"pad": "x" * 300}})
    for location in ("a", "b", "a", "b", "c", "d", "a"):
        assert orjson.loads(tables.of(location, "all", metadata, unless_told=False))["properties"][GC] == "false"
    assert parsed.calls == 5
    assert orjson.loads(ProtectedTables(0).of("a", "all", b'{"properties":null}', unless_told=True)) == {"properties": {GC: "false"}}
