"""Purging from the command line: at once, and as a part of collecting."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog_format.clock import SystemClock
from tests.server.test_cli import objects, run, told
from tests.support.catalogs import ManualClock, TimelessFolder, make_table, opened, setting


async def _fill(folder: Path) -> None:
    """Versions: 1 namespace, 2 and 3 tables, 4 and 5 changes, 6 a drop with purge, a day ago."""
    clock = ManualClock(SystemClock().now_ms() - 86_400_000)
    async with opened(TimelessFolder(folder), clock=clock) as catalog:
        await make_table(catalog.main, "ns", "t")
        await make_table(catalog.main, "ns", "dropped")
        await catalog.main.commit_tables([setting("ns", "t", n="1")])
        await catalog.main.commit_tables([setting("ns", "t", n="2")])
        await catalog.main.drop_table(("ns", "dropped"), purge=True)


@pytest.fixture
def lake(tmp_path: Path) -> str:
    asyncio.run(_fill(tmp_path))
    return str(tmp_path)


def metadata_files(lake: str) -> set[str]:
    return {path.as_uri() for path in Path(lake).rglob("*.metadata.json")}


def test_a_table_is_purged_at_once(lake: str) -> None:
    before = metadata_files(lake)
    [planned] = objects("purge", lake, "ns.t", "--now", "--dry-run")
    assert planned == {
        "url": f"file://{lake}",
        "dry_run": True,
        "table": ["ns", "t"],
        "dropped": True,
        "lost_in": [2, 3, 4, 5, 6],
        "purged": True,
        "deleted": planned["deleted"],
        "problems": [],
    }
    assert metadata_files(lake) == before and len(planned["deleted"]) == 3
    done = told("purge", lake, "ns.t", "--now", "--yes")
    assert done == "Purged ns.t (files that its metadata named: 3). Kept versions that show it and lose it: 2-6.\n"
    assert before - metadata_files(lake) == set(planned["deleted"])
    assert "purged ns.t" in told("log", lake) and told("check", lake).endswith("no problems\n")
    assert "Table ns.t does not exist, and no DROP with purge of a table of that name" in run("purge", lake, "ns.t", "--now").stderr
    assert run("purge", lake, "ns.t", "--now").exit_code == 1


def test_a_table_that_was_dropped_before_is_found_by_its_wish_and_by_its_key(lake: str) -> None:
    shown = told("purge", lake, "ns.dropped", "--now", "--dry-run").splitlines()
    assert shown[0].startswith(f"would be deleted: file://{lake}/data/ns/dropped-") and len(shown) == 2
    assert shown[1] == "Would purge ns.dropped (files that its metadata named: 1). Kept versions that show it and lose it: 3-5."
    [facts] = objects("purge", lake, r"C===ns\x1edropped", "--now", "--yes")
    assert (facts["dropped"], facts["purged"], facts["lost_in"]) == (False, True, [3, 4, 5])
    assert "purge" not in told("show", lake, "--all")


def test_it_is_not_done_by_mistake(lake: str) -> None:
    before = metadata_files(lake)
    result = run("purge", lake, "ns.t")
    assert result.exit_code == 2 and "Say --now to delete the files at once" in result.stderr
    result = run("purge", lake, "ns.t", "--now")
    assert result.exit_code == 2 and "Table ns.t will be dropped, and all its files deleted" in result.stderr
    assert "Nobody is there to confirm it: say --yes" in result.stderr
    result = run("purge", lake, r"D===ns\x1et", "--now", "--yes")
    assert result.exit_code == 2 and "is not the key of a table" in result.stderr
    assert metadata_files(lake) == before and objects("show", lake, "ns.t")


def test_collect_purges_and_says_so(lake: str) -> None:
    told("expire", lake, "--older-than", "0s", "--keep", "1")
    assert "1 dropped table to be purged later: dropped since --purge-after, still shown" in told("collect", lake)
    [facts] = objects("collect", lake, "--purge-after", "12h", "--dry-run")
    assert (facts["purged"], facts["purges_waiting"], facts["purge_problems"]) == ([["ns", "dropped"]], 0, [])
    assert "Purged: ns.dropped (files that their metadata named: 1)" in told("collect", lake, "--purge-after", "12h")
    assert len(metadata_files(lake)) == 1


def test_who_runs_it_by_cron_hears_of_purges_that_cannot_be_done(lake: str) -> None:
    told("expire", lake, "--older-than", "0s", "--keep", "1")
    [file] = (path for path in Path(lake).rglob("*.metadata.json") if "dropped-" in str(path))
    whole = file.read_bytes()
    file.write_bytes(b"damaged")
    for options, rest in (["--dry-run"], "2 files would be deleted of 4"), ([], "2 files deleted of 4"):
        shown = told("collect", lake, "--purge-after", "12h", *options, code=1)
        assert "problem: Table ns.dropped waits: " in shown and "problem: Nothing is purged while it is not known" in shown
        assert "1 dropped table to be purged later" in shown and rest in shown, "the rest is done all the same"
    assert told("purge", lake, "ns.dropped", "--now", "--yes", code=1).endswith("ns.dropped was not purged\n")
    file.write_bytes(whole)
    told("collect", lake, "--purge-after", "12h")
    assert not file.exists()


def test_problems_of_a_purge_that_was_carried_out_are_told_too(lake: str) -> None:
    [file] = (path for path in Path(lake).rglob("*.metadata.json") if "dropped-" in str(path))
    file.unlink()
    shown = told("purge", lake, "ns.dropped", "--now", "--yes", code=1).splitlines()
    assert shown[0] == f"problem: Table ns.dropped: File is missing: file://{file}" and shown[1].startswith("Purged ns.dropped")
    assert "does not exist, and no DROP with purge" in run("purge", lake, "ns.dropped", "--now", "--yes").stderr
