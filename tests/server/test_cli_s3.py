"""The commands on S3, reached with the environment that `serve` uses."""

from __future__ import annotations

import pytest

from tests.server.test_cli import objects, run, told
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


def test_a_bucket_that_is_not_there(root: str) -> None:
    missing = run("init", "s3://no-such-bucket-anywhere/lake")
    assert missing.exit_code == 1 and missing.stderr.count("\n") == 1
    assert "no-such-bucket-anywhere" in missing.stderr
