"""The commands on S3, reached with the environment that `serve` uses."""

from __future__ import annotations

import asyncio

import pytest

from catalog_format.catalog import open_catalog
from catalog_format.storage import open_storage
from tests.server.test_cli import objects, run, told
from tests.support.catalogs import make_table, setting
from tests.support.s3_server import S3Server

pytest_plugins = ["tests.support.fixtures_s3"]
pytestmark = pytest.mark.s3


@pytest.fixture
def root(s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a root in an empty bucket."""
    monkeypatch.setenv("TREELINE_S3_ENDPOINT", s3_server.endpoint)
    monkeypatch.setenv("TREELINE_S3_REGION", s3_server.region)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret_key)
    return f"s3://{s3_bucket}/lake"


def test_every_command_works_on_s3(root: str) -> None:
    assert "holds no catalog" in run("log", root).stderr
    assert told("init", root) == f"Created a catalog at {root}\n"
    assert objects("init", root) == [{"url": root, "created": False, "version": 0}]
    assert objects("log", root)[0]["transactions"] == []
    assert "holds no objects" in told("show", root)
    assert objects("tree", root)[0]["children"] == []
    assert told("dtxn", "list", root) == "No transaction is open\n"
    assert told("check", root).endswith("no problems\n")


async def _fill(root: str, s3_server: S3Server) -> None:
    """Two tables with eight commits to each, in files of their own versions."""
    catalog = await open_catalog(root, options=s3_server.options)
    for table in ("kept", "gone"):
        await make_table(catalog.main, "ns", table)
        for number in range(8):
            await catalog.main.commit_tables([setting("ns", table, n=str(number))])
    await catalog.close()


async def _files(root: str, s3_server: S3Server) -> list[str]:
    store = open_storage(root, s3_server.options)
    found = await store.list("")
    await store.close()
    return found


def test_versions_are_given_up_files_collected_and_tables_purged_on_s3(root: str, s3_server: S3Server) -> None:
    told("init", root)
    asyncio.run(_fill(root, s3_server))
    before = asyncio.run(_files(root, s3_server))
    wish = ("--older-than", "0s", "--keep", "2")
    [planned], [done] = objects("expire", root, *wish, "--dry-run"), objects("expire", root, *wish)
    assert planned | {"dry_run": False} == done and done["given_up"] == done["oldest"] > 10
    [planned], [done] = objects("collect", root, "--dry-run"), objects("collect", root)
    assert planned["deleted"] == done["deleted"] != []
    assert done["files"] == len(asyncio.run(_files(root, s3_server))) + len(done["deleted"]) - 1, "less the new root"
    assert set(done["deleted"]) <= set(before)
    [purged] = objects("purge", root, "ns.gone", "--now", "--yes")
    assert (purged["purged"], purged["problems"]) == (True, [])
    left = [path for path in asyncio.run(_files(root, s3_server)) if path.endswith(".metadata.json")]
    assert len([path for path in left if "/gone-" in path]) == 0 and len([path for path in left if "/kept-" in path]) == 1
    assert told("check", root).endswith("no problems\n")


def test_a_bucket_that_is_not_there(root: str) -> None:
    missing = run("init", "s3://no-such-bucket-anywhere/lake")
    assert missing.exit_code == 1 and missing.stderr.count("\n") == 1
    assert "no-such-bucket-anywhere" in missing.stderr
