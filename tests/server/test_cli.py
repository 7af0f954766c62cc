"""The commands that look at a catalog: text for people, JSON for programs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from catalog_format.changes import IsolationLevel
from catalog_format.clock import SystemClock
from catalog_format.errors import TransactionRefusedError
from catalog_format.scope import RequestContext
from irc_server.cli import main
from tests.support.catalogs import NEW_VIEW, SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, setting

_MANY = 40


async def _fill(folder: Path) -> None:
    """Versions: 1 namespace, 2 table, 3 view, 4 properties, 5 to 44 namespaces, then transactions."""
    clock = ManualClock(SystemClock().now_ms())
    async with opened(TimelessFolder(folder), clock=clock, limits=SMALL_TREE) as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.main.create_view(("ns", "v"), NEW_VIEW)
        await catalog.main.commit_tables([setting("ns", "t", a="1")], RequestContext("PyIceberg/0.12.0", "key-1", b"hash"))
        for number in range(_MANY):
            await catalog.main.create_namespace((f"n{number:02}",), {"note": "x" * (400 if number == 7 else 1)})
            clock.advance(1)
        await catalog.transactions.begin("job", IsolationLevel.SERIALIZABLE, properties={"owner": "me"})
        inside = await catalog.within("job")
        await inside.list_tables(("ns",))
        await make_table(inside, "ns", "u")
        await inside.rename_table(("ns", "u"), ("ns", "w"))
        await catalog.transactions.begin("done")
        await (await catalog.within("done")).drop_view(("ns", "v"))
        await catalog.transactions.commit("done", RequestContext("Spark/4.1"))
        await catalog.transactions.begin("loser", IsolationLevel.SERIALIZABLE)
        inside = await catalog.within("loser")
        await inside.update_namespace(("n01",), [], {"note": "mine"})
        await catalog.main.drop_namespace(("n01",))
        with pytest.raises(TransactionRefusedError):
            await catalog.transactions.commit("loser")
        await catalog.transactions.begin("reader", IsolationLevel.SERIALIZABLE)
        await (await catalog.within("reader")).load_namespace(("n02",))
        await catalog.transactions.commit("reader")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A catalog that the tests only look at."""
    folder = tmp_path_factory.mktemp("lake")
    asyncio.run(_fill(folder))
    return str(folder)


def run(*arguments: str, columns: int = 400, environment: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, arguments, env={"COLUMNS": str(columns), **(environment or {})})


def told(*arguments: str, code: int = 0) -> str:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def objects(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in told(*arguments, "--json", code=code).splitlines()]


def test_init_creates_once(tmp_path: Path) -> None:
    where = str(tmp_path / "new")
    assert told("init", where) == f"Created a catalog at file://{where}\n"
    assert told("init", where) == f"A catalog is already there: file://{where}, at version 0\n"
    assert objects("init", where) == [{"url": f"file://{where}", "created": False, "version": 0}]
    assert objects("init", f"{where}2") == [{"url": f"file://{where}2", "created": True, "version": 0}]


def test_log_says_what_each_version_did(lake: str) -> None:
    lines = told("log", lake, "--limit", "0").splitlines()
    assert lines[0].split() == ["version", "when", "who", "what"]
    whats = {int(line.split()[0]): line for line in lines[1:] if line[:7].strip().isdecimal()}
    assert list(whats) == list(range(48, -1, -1))
    assert whats[0].endswith("the catalog was created")
    assert whats[1].endswith("create namespace ns")
    assert whats[2].endswith("create table ns.t")
    assert "PyIceberg/0.12.0" in whats[4] and whats[4].endswith("update table ns.t: set-properties")
    assert "Spark/4.1" in whats[45] and whats[45].endswith("drop view ns.v")
    assert "transaction loser was refused: Transaction loser (base version 45)" in whats[47]
    assert whats[48].endswith("nothing: it only read")


def test_log_limits_and_says_what_is_left(lake: str) -> None:
    lines = told("log", lake, "--limit", "3").splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["48", "47", "46"]
    assert lines[-1] == "46 older versions; --limit 0 shows all"
    assert len([line for line in told("log", lake).splitlines() if "Z  " in line]) == 20


def test_log_as_json(lake: str) -> None:
    newest, refused, *_, second, first, zero = objects("log", lake, "--limit", "0")
    assert zero["transactions"] == []
    assert zero["created_at"].endswith("Z")
    assert newest["version"] == 48
    [record] = refused["transactions"]
    assert record["id"] == "loser" and record["refusal"].startswith("Transaction loser") and record["actions"] == []
    [record] = second["transactions"]
    assert record.keys() == {"id", "agent", "isolation", "base_version", "ordered_before", "refusal", "actions"}
    assert record["actions"] == [{"verb": "create", "type": "table", "name": ["ns", "t"], "target": None, "summary": ""}]
    assert first["transactions"][0]["base_version"] == 0


def test_the_log_names_the_place_of_who_was_ordered_backwards(tmp_path: Path) -> None:
    async def fill() -> None:
        async with opened(TimelessFolder(tmp_path)) as catalog:
            await catalog.main.create_namespace(("read",), {})
            await catalog.transactions.begin("jack", IsolationLevel.SERIALIZABLE)
            await (await catalog.within("jack")).load_namespace(("read",))
            await (await catalog.within("jack")).create_namespace(("written",), {})
            await catalog.main.drop_namespace(("read",))
            await catalog.transactions.commit("jack")

    asyncio.run(fill())
    *made, _ = objects("log", str(tmp_path))
    assert [record["ordered_before"] for version in made for record in version["transactions"]] == [2, None, None]
    lines = told("log", str(tmp_path)).splitlines()
    assert lines[1].startswith("      3  ") and lines[1].endswith("create namespace written")
    assert lines[2].strip() == "ordered before version 2, whose changes it had not read"


def test_a_long_log_is_printed_in_parts_that_look_like_one(tmp_path: Path) -> None:
    async def fill() -> None:
        async with opened(TimelessFolder(tmp_path)) as catalog:
            for number in range(140):
                await catalog.main.create_namespace((f"namespace_{number}",), {}, RequestContext("x" * number))

    asyncio.run(fill())
    lines = told("log", str(tmp_path), "--limit", "0").splitlines()
    assert len(lines) == 142
    assert len({line.index("create namespace") for line in lines[1:-1]}) == 1
    assert told("log", str(tmp_path), "--limit", "128").splitlines()[-1] == "13 older versions; --limit 0 shows all"


def test_show_lists_every_object(lake: str) -> None:
    lines = told("show", lake).splitlines()
    assert lines[0].split() == ["type", "name", "stamp", "metadata"]
    assert len(lines) == 1 + _MANY - 1 + 1 + 1
    assert lines[-1].split()[:3] == ["table", "ns.t", "4"]
    assert lines[-1].split()[3].startswith(f"file://{lake}/data/ns/t-")
    assert not any("n01" in line or "ns.v" in line for line in lines)


def test_show_lists_a_past_version(lake: str) -> None:
    assert [(item["type"], item["name"]) for item in objects("show", lake, "--at", "3")] == [
        ("namespace", ["ns"]),
        ("table", ["ns", "t"]),
        ("view", ["ns", "v"]),
    ]
    made_at = objects("log", lake, "--limit", "0")[-4]["created_at"]
    assert len(objects("show", lake, "--at", made_at)) == 3
    assert "holds no objects" in told("show", lake, "--at", "v0")


def test_show_lists_bookkeeping_when_asked(lake: str) -> None:
    kinds = {item["type"] for item in objects("show", lake, "--all")}
    assert kinds == {"namespace", "table", "outcome", "idempotency"}


def test_show_decodes_a_table_and_a_namespace(lake: str) -> None:
    [table] = objects("show", lake, "ns.t")
    assert table["stamp"] == 4 and table["version"] == 48
    assert table["definition"]["metadata_location"].startswith("./data/ns/t-")
    assert table["metadata_location"] == f"file://{lake}/" + table["definition"]["metadata_location"][2:]
    assert Path(table["metadata_location"].removeprefix("file://")).is_file()
    text = told("show", lake, "ns.t")
    assert table["definition"]["table_uuid"] in text and r"C===ns\x1et" in text
    [namespace] = objects("show", lake, "n07")
    assert namespace["definition"] == {"properties": {"note": "x" * 400}}
    assert namespace["definition_file"].startswith("def/B/")
    assert namespace["definition_file"] in told("show", lake, "n07")
    [view] = objects("show", lake, "ns.v", "--at", "3")
    assert view["definition"].keys() == {"view_uuid", "metadata_location"}


def test_show_takes_keys_as_it_lists_them(lake: str) -> None:
    for listed in objects("show", lake, "--all"):
        [details] = objects("show", lake, listed["key"])
        assert {name: details[name] for name in listed} == listed
    [outcome] = objects("show", lake, r"E===00000000000000000045\x1eloser")
    assert outcome["definition"]["committed"] is False
    [answer] = objects("show", lake, r"F===\x1ekey-1")
    assert answer["definition"]["written"] == ["table ns.t"]


def test_show_finds_names_with_dots_by_key_and_twins_by_name(tmp_path: Path) -> None:
    async def fill() -> None:
        async with opened(TimelessFolder(tmp_path)) as catalog:
            await make_table(catalog.main, "a", "b.c")
            await make_table(catalog.main, "a", "b")
            await catalog.main.create_namespace(("a", "b"), {})
            await catalog.main.drop_table(("a", "b.c"), purge=True)

    asyncio.run(fill())
    where = str(tmp_path)
    [dotted] = objects("show", where, r"C===a\x1eb.c", "--at", "2")
    assert dotted["name"] == ["a", "b.c"]
    assert [item["type"] for item in objects("show", where, "a.b")] == ["namespace", "table"]
    [wish] = [item for item in objects("show", where, "--all") if item["type"] == "purge"]
    assert objects("show", where, wish["key"])[0]["definition"]["dropped"] == "table a.b.c"


def test_tree_draws_every_node(lake: str) -> None:
    [facts] = objects("tree", lake)
    assert facts["version"] == 48 and facts["limits"]["node_rows"] == SMALL_TREE.node_rows
    leaves = facts["levels"][-1]
    assert leaves["level"] == 0
    assert leaves["rows"] + facts["buffer_rows"] - 2 * facts["buffer_tombstones"] == len(objects("show", lake, "--all"))
    assert all(0 < node["fill_percent"] <= 100 and node["problem"] is None for node in facts["children"])
    text = told("tree", lake, "--children", "0")
    assert text.count("leaf ") == leaves["nodes"] + 1
    assert f"write buffer: {facts['buffer_rows']} of 4 rows" in text
    assert "… and " in told("tree", lake, "--children", "1")
    [early] = objects("tree", lake, "--at", "2")
    assert early["children"] == [] and early["levels"] == [] and early["buffer_rows"] == 2


def test_dtxn_list_and_show(lake: str) -> None:
    [row] = told("dtxn", "list", lake).splitlines()[1:]
    assert row.split()[:4] == ["job", "open", "serializable", "44"]
    [job] = objects("dtxn", "list", lake)
    assert job == objects("dtxn", "show", lake, "job")[0]
    assert [(change["verb"], change["name"], change["target"]) for change in job["changes"]] == [
        ("create", ["ns", "u"], None),
        ("rename", ["ns", "u"], ["ns", "w"]),
    ]
    assert {"namespace ns", "table ns.w", "view ns.u", "every table in ns"} <= set(job["reads"])
    assert job["properties"] == {"owner": "me"} and job["ended_at"] is None
    text = told("dtxn", "show", lake, "job")
    for words in ("property owner  me", "rename table ns.u to ns.w", "every table in ns"):
        assert words in text
    [done] = objects("dtxn", "show", lake, "done")
    assert (done["status"], done["version"], done["expires_at"]) == ("committed", 45, None)
    assert done["changes"][0]["type"] == "view"
    [loser] = objects("dtxn", "show", lake, "loser")
    assert loser["status"] == "refused" and "both wrote it" in loser["reason"]


def test_looking_changes_nothing(lake: str) -> None:
    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path(lake).rglob("*") if path.is_file()}

    before = files()
    for arguments in (["log"], ["show"], ["tree"], ["dtxn", "list"], ["check"]):
        told(*arguments, lake)
    told("dtxn", "show", lake, "job")
    assert files() == before


def test_check_is_silent_on_a_sound_catalog(lake: str) -> None:
    assert told("check", lake).endswith("4 transaction logs: no problems\n")
    [facts] = objects("check", lake)
    assert facts["clean"] is True and facts["problems"] == [] and facts["unreachable"] == []
    assert facts["versions"] == 49 and facts["latest_version"] == 48


@pytest.mark.parametrize("columns", [1, 2, 10, 40])
def test_narrow_terminals_are_no_reason_to_stop(lake: str, columns: int) -> None:
    for arguments in (
        ["log", lake],
        ["show", lake],
        ["show", lake, "ns.t"],
        ["tree", lake],
        ["dtxn", "list", lake],
        ["dtxn", "show", lake, "job"],
    ):
        result = run(*arguments, columns=columns)
        assert result.exit_code == 0, (arguments, result.exception)


def test_what_strangers_wrote_cannot_steer_a_terminal(tmp_path: Path) -> None:
    async def fill() -> None:
        async with opened(TimelessFolder(tmp_path)) as catalog:
            await catalog.main.create_namespace(("[red]n[/red]",), {"note": "a\x1b[2Jb\nc"}, RequestContext("evil\x1b]0;x\x07"))

    asyncio.run(fill())
    where = str(tmp_path)
    for text in (told("log", where), told("show", where), told("show", where, "[red]n[/red]")):
        assert "\x1b" not in text and "\x07" not in text
        assert "[red]n[/red]" in text
    assert objects("show", where, "[red]n[/red]")[0]["definition"]["properties"]["note"] == "a\x1b[2Jb\nc"
