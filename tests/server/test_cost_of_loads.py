"""What loads and commits of large tables do not do: parse metadata that somebody has parsed, or that nobody has to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog_format.iceberg import metadata_files
from catalog_format.scope import LoadedMetadata
from irc_server.wire import referenced
from tests.server.harness import done, make_namespace, make_table, metadata_file, path, serving, setting
from tests.unit.iceberg.examples import append


class Counted:
    """A function, and how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self._function(*arguments)


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Metadata files that the catalog parses."""
    counted = Counted(metadata_files.parse_metadata)
    monkeypatch.setattr(metadata_files, "parse_metadata", counted)
    return counted


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Metadata that is parsed for `snapshots=refs`."""
    counted = Counted(referenced.loads)
    monkeypatch.setattr(referenced, "loads", counted)
    return counted


async def test_a_load_passes_on_bytes_that_nobody_parses(tmp_path: Path) -> None:
    async with serving(str(tmp_path)) as client:
        await make_namespace(client, "ns")
        file = Path(metadata_file(await make_table(client, ("ns",), "t")).removeprefix("file://"))
    nonsense = b'{"what": a parser, would not take'
    file.write_bytes(nonsense)
    async with serving(str(tmp_path)) as client:
        for _ in range(2):
            answer = await client.get(path("ns", table="t"))
            assert answer.status_code == 200
            assert nonsense in answer.content


async def test_a_chain_of_commits_parses_nothing_after_the_first(tmp_path: Path, parses: Counted) -> None:
    async with serving(str(tmp_path)) as client:
        await make_namespace(client, "ns")
        await make_table(client, ("ns",), "t")
        for number in range(5):
            done(await client.post(path("ns", table="t"), json=setting(number=str(number))))
        assert parses.calls == 0
    async with serving(str(tmp_path)) as client:
        for number in range(5):
            done(await client.post(path("ns", table="t"), json=setting(number=str(number))))
            done(await client.get(path("ns", table="t")))
        assert parses.calls == 1


async def test_metadata_with_referenced_snapshots_is_made_once_a_file(tmp_path: Path, trims: Counted) -> None:
    async with serving(str(tmp_path)) as client:
        await make_namespace(client, "ns")
        await make_table(client, ("ns",), "t")
        location = path("ns", table="t")
        for number in range(1, 4):
            done(await client.post(location, json={"requirements": [], "updates": append(number, number, number - 1 or None)}))
        # As different askers do: with and without compression, and through another state of the warehouse that has the same file.
        pinned = path(
            "ns", table="t", prefix=done(await client.get("/v1/config", params={"warehouse": "lake@latest"}))["overrides"]["prefix"]
        )
        bodies = [
            done(await client.get(where, params={"snapshots": "refs", **more}, headers={"accept-encoding": encoding}))
            for where in (location, pinned)
            for encoding in ("identity", "gzip")
            for more in ({}, {"unknown": "x"})
        ]
        assert all([snapshot["snapshot-id"] for snapshot in body["metadata"]["snapshots"]] == [3] for body in bodies)
        assert trims.calls == 1
        done(await client.post(location, json=setting(a="b")))
        done(await client.get(location, params={"snapshots": "refs"}))
        assert trims.calls == 2


def test_the_cache_of_such_metadata_is_bounded(trims: Counted) -> None:
    kept = referenced.ReferencedSnapshots(1000)
    tables = [LoadedMetadata(("t",), f"s3://b/{number}", orjson.dumps({"properties": {"a": "x" * 400}}), b"") for number in range(3)]
    huge = LoadedMetadata(("t",), "s3://b/huge", orjson.dumps({"properties": {"a": "x" * 4000}}), b"")
    for loaded in (tables[0], tables[1], tables[1], tables[2], tables[0], huge, huge):
        assert kept.of(loaded) == loaded.metadata
    assert trims.calls == 6
