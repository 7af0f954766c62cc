"""A server of its own for each test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.harness import Client, make_namespace, serving


@pytest.fixture
async def server() -> AsyncIterator[Client]:
    """An empty catalog in memory."""
    async with serving() as client:
        yield client


@pytest.fixture
async def ns(server: Client) -> Client:
    """The same with a namespace `ns`."""
    await make_namespace(server, "ns")
    return server


@pytest.fixture
async def folder_server(tmp_path: Path) -> AsyncIterator[Client]:
    """An empty catalog in a local folder, with a namespace `ns`."""
    async with serving(str(tmp_path / "lake")) as client:
        await make_namespace(client, "ns")
        yield client
