"""Giving versions up and collecting files from the command line, and what the other commands say afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog_format import paths
from catalog_format.changes import IsolationLevel
from catalog_format.clock import SystemClock
from catalog_format.errors import TransactionRefusedError
from tests.server.test_cli import objects, run, told
from tests.support.catalogs import SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, setting

_DAY_S = 86_400
LATEST = 20


async def _fill(folder: Path) -> None:
    """Versions 0 to 4 were made 40 days ago, and then one a day: version 5 39 days ago, version 20 24 days ago."""
    clock = ManualClock(SystemClock().now_ms() - 40 * _DAY_S * 1000)
    async with opened(TimelessFolder(folder), clock=clock, limits=SMALL_TREE) as catalog:
        await make_table(catalog.main, "ns", "t")
        await catalog.transactions.begin("loser", IsolationLevel.SERIALIZABLE)
        inside = await catalog.within("loser")
        await inside.commit_tables([setting("ns", "t", never="1")])
        await catalog.main.commit_tables([setting("ns", "t", n="3")])
        with pytest.raises(TransactionRefusedError):
            await catalog.transactions.commit("loser")
        for version in range(5, LATEST + 1):
            clock.advance(_DAY_S)
            await catalog.main.commit_tables([setting("ns", "t", n=str(version))])
        assert await catalog.latest_version() == LATEST


@pytest.fixture
def lake(tmp_path: Path) -> str:
    asyncio.run(_fill(tmp_path))
    return str(tmp_path)


async def _work(folder: str) -> None:
    async with opened(TimelessFolder(Path(folder)), clock=ManualClock(SystemClock().now_ms())) as catalog:
        await catalog.main.create_namespace(("work",), {})


async def _begin(folder: str) -> int:
    """A transaction that works on the latest version; that version."""
    async with opened(TimelessFolder(Path(folder)), clock=ManualClock(SystemClock().now_ms())) as catalog:
        info = await catalog.transactions.begin("held")
        await (await catalog.within("held")).commit_tables([setting("ns", "t", mine="1")])
        return info.base_version


def files_of(lake: str) -> dict[str, bytes]:
    return {str(path.relative_to(lake)): path.read_bytes() for path in Path(lake).rglob("*") if path.is_file()}


def expired(lake: str, *arguments: str) -> dict[str, Any]:
    [facts] = objects("expire", lake, *arguments)
    return facts


def collected(lake: str, *arguments: str) -> dict[str, Any]:
    [facts] = objects("collect", lake, *arguments)
    return facts


def test_what_a_dry_run_tells_is_what_is_done(lake: str) -> None:
    before = files_of(lake)
    wish = ("--older-than", "30d", "--keep", "1")
    planned = expired(lake, *wish, "--dry-run")
    # Every moment of the last 30 days can still be read; version 14 was the latest when they began.
    assert (planned["oldest_before"], planned["oldest"], planned["given_up"], planned["dry_run"]) == (0, 14, 14, True)
    assert told("expire", lake, *wish, "--dry-run").splitlines()[0] == "14 versions would be given up; the oldest kept one would be 14"
    assert files_of(lake) == before
    assert expired(lake, *wish) == planned | {"dry_run": False}
    again = expired(lake, *wish)
    assert (again["oldest_before"], again["oldest"], again["given_up"]) == (14, 14, 0)

    before = files_of(lake)
    planned = collected(lake, "--dry-run")
    assert planned["deleted"] and files_of(lake) == before
    shown = told("collect", lake, "--dry-run").splitlines()
    assert [line.removeprefix("would be deleted: ") for line in shown[:-1]] == planned["deleted"]
    assert shown[-1].startswith(f"{len(planned['deleted'])} files would be deleted of ")
    done = collected(lake)
    assert done["deleted"] == planned["deleted"] and done["epoch_version"] == int(objects("log", lake, "--limit", "1")[0]["version"])
    assert files_of(lake).keys() == before.keys() - set(done["deleted"]) | {paths.root_path(done["epoch_version"])}
    assert told("collect", lake).startswith("0 files deleted of ")
    assert collected(lake)["epoch_version"] is None
    assert told("check", lake).endswith("no problems\n")


def test_versions_are_kept_by_number_whatever_their_age(lake: str) -> None:
    assert expired(lake, "--older-than", "0s", "--dry-run")["oldest"] == LATEST - 9, "ten unless something else is said"
    assert expired(lake, "--older-than", "0s", "--keep", "3", "--dry-run")["oldest"] == LATEST - 2
    assert expired(lake, "--older-than", "25d", "--keep", "1", "--dry-run")["oldest"] == LATEST - 1
    assert expired(lake, "--older-than", "365d", "--keep", "1", "--dry-run")["given_up"] == 0


def test_the_log_tells_of_versions_that_were_given_up(lake: str) -> None:
    before = objects("log", lake, "--limit", "0")
    assert not any(version["given_up"] for version in before)
    expired(lake, "--older-than", "0s", "--keep", "4")
    collected(lake)
    after = objects("log", lake, "--limit", "0")
    oldest = LATEST - 3
    assert [version["given_up"] for version in after] == [version["version"] < oldest for version in after]
    assert [version | {"given_up": False} for version in after if version["version"] <= LATEST] == before, "refusals included"
    lines = {int(line.split()[0]): line for line in told("log", lake, "--limit", "0").splitlines()[1:] if line[:7].strip().isdecimal()}
    assert lines[0].endswith("(given up) the catalog was created")
    assert "(given up) transaction loser was refused: Transaction loser (base version 2)" in lines[4]
    assert lines[oldest].endswith("  update table ns.t: set-properties")
    assert "treeline expire" in lines[LATEST + 1] and lines[LATEST + 1].endswith(f"update the catalog: give up versions below {oldest}")
    assert told("log", lake, "--limit", "2").splitlines()[-1] == f"{len(after) - 2} older versions; --limit 0 shows all"


@pytest.mark.parametrize("command", [["show"], ["show", "ns.t"], ["tree"]], ids=" ".join)
def test_a_version_that_was_given_up_cannot_be_shown(lake: str, command: list[str]) -> None:
    name, *more = command
    base = asyncio.run(_begin(lake))
    moment = objects("log", lake, "--limit", "0")[-1]["created_at"]
    expired(lake, "--older-than", "0s", "--keep", "1")
    told(name, lake, *more)
    for version in (3, base - 1):
        refused = run(name, lake, *more, "--at", str(version))
        assert refused.exit_code == 1
        assert refused.stderr == f"treeline: Version {version} was given up: its log is kept, its state is not; read a later version\n"
    assert "No version is as old as" in run(name, lake, *more, "--at", moment).stderr


def test_the_base_of_an_open_transaction_is_held(lake: str) -> None:
    base = asyncio.run(_begin(lake))
    first = expired(lake, "--older-than", "0s", "--keep", "1")
    assert (first["oldest"], first["pinned"]) == (LATEST, [])
    asyncio.run(_work(lake))
    text = told("expire", lake, "--older-than", "0s", "--keep", "1")
    assert f"Held by unfinished transactions: {base}" in text
    collected(lake)
    assert told("check", lake).endswith("no problems\n")
    assert objects("check", lake)[0]["oldest_version"] > base
    assert "was given up" in run("show", lake, "--at", str(base)).stderr, "held for the transaction, not for readers"
    [done] = objects("dtxn", "commit", lake, "held")
    assert done["status"] == "committed"
    told("expire", lake, "--older-than", "0s", "--keep", "1")
    [shown] = objects("dtxn", "show", lake, "held")
    assert (shown["version"], shown["changes"]) == (done["version"], done["changes"]), "told by the log of a version that was given up"
    assert shown["changes"]
    assert expired(lake, "--older-than", "0s", "--keep", "1")["pinned"] == []


@pytest.mark.parametrize("as_json", [False, True])
def test_a_version_that_cannot_be_given_up_is_a_problem_and_the_exit_code_tells(lake: str, as_json: bool) -> None:
    missing = paths.root_path(3)
    (Path(lake) / missing).unlink()
    done = run("expire", lake, "--older-than", "0s", "--keep", "1", *(["--json"] if as_json else []))
    problem = f"The root of version 3 ({missing}) is missing: restore the file, or what was done in it is lost"
    if as_json:
        facts = orjson.loads(done.stdout)
        assert (facts["problems"], facts["given_up"], facts["oldest"]) == ([problem], LATEST - 1, LATEST)
    else:
        assert done.stdout.splitlines()[:2] == [f"problem: {problem}", f"{LATEST - 1} versions given up; the oldest kept one is {LATEST}"]
    assert done.exit_code == 1
    assert expired(lake, "--older-than", "0s", "--keep", "5")["problems"] == []
    checked = run("check", lake)
    assert checked.exit_code == 1 and missing in checked.stdout


@pytest.mark.parametrize("length", ["24d", "576h", "34560m", "2073600s", " 24d "])
def test_lengths_of_time(lake: str, length: str) -> None:
    # Version 20 was made a little more than 24 days ago.
    assert expired(lake, "--older-than", length, "--keep", "1", "--dry-run")["oldest"] == LATEST


@pytest.mark.parametrize("text", ["", "7", "-7d", "7 d", "1.5h", "7w", "d", "1h30m", "9999999999d"])
def test_what_is_no_length_of_time_is_a_mistake_in_the_command_line(text: str) -> None:
    refused = run("expire", "nowhere", f"--older-than={text}")
    assert refused.exit_code == 2
    assert "is no length of time; write 90s, 30m, 12h or 7d" in refused.stderr


def test_an_age_must_be_given_and_a_version_be_kept(lake: str) -> None:
    before = files_of(lake)
    assert "--older-than" in run("expire", lake).stderr
    assert run("expire", lake, "--older-than", "1d", "--keep", "0").exit_code == 2
    assert files_of(lake) == before
