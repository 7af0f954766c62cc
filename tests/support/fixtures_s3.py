"""Pytest fixtures for tests on S3; load them with `pytest_plugins = ["tests.support.fixtures_s3"]`, mark the tests `s3`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.s3_server import S3Server, running_s3_server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One server for the whole session."""
    with running_s3_server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: S3Server) -> str:
    """The name of a new, empty bucket."""
    name = f"test-{uuid.uuid4().hex}"
    s3_server.create_bucket(name)
    return name
