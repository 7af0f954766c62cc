"""Properties that say where metadata files go, how they are written and how long they stay."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest

from tests.server.harness import Client, done, make_table, metadata_file, path, setting


def on_disk(location: str) -> Path:
    return Path(location.removeprefix("file://"))


@pytest.mark.parametrize("codec", ["gzip", "GZIP"])
async def test_compressed_metadata_files(folder_server: Client, codec: str) -> None:
    made = await make_table(folder_server, ["ns"], "t", properties={"write.metadata.compression-codec": codec})
    assert metadata_file(made).endswith(".gz.metadata.json")
    assert orjson.loads(gzip.decompress(on_disk(metadata_file(made)).read_bytes())) == made["metadata"]
    plain = done(await folder_server.post(path("ns", table="t"), json=setting(**{"write.metadata.compression-codec": "none"})))
    assert orjson.loads(on_disk(metadata_file(plain)).read_bytes()) == plain["metadata"]
    assert done(await folder_server.get(path("ns", table="t"))) == plain
    assert metadata_file(done(await folder_server.get(path("ns", table="t", prefix="lake@v2")))) == metadata_file(made)


async def test_metadata_files_go_where_the_table_says(folder_server: Client, tmp_path: Path) -> None:
    elsewhere = f"file://{tmp_path}/elsewhere"
    made = await make_table(folder_server, ["ns"], "t")
    moved = done(await folder_server.post(path("ns", table="t"), json=setting(**{"write.metadata.path": elsewhere})))
    assert metadata_file(moved).startswith(f"{elsewhere}/00001-")
    assert moved["metadata"]["metadata-log"][-1]["metadata-file"] == metadata_file(made)
    assert done(await folder_server.get(path("ns", table="t"))) == moved


async def test_delete_after_commit_deletes_nothing_that_an_old_version_shows(folder_server: Client) -> None:
    """Java's catalogs delete metadata files that leave the log; here every version of the catalog still leads to its own."""
    limits = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    states = [await make_table(folder_server, ["ns"], "t", properties=limits)]
    for number in range(4):
        states.append(done(await folder_server.post(path("ns", table="t"), json=setting(number=str(number)))))
    assert [entry["metadata-file"] for entry in states[-1]["metadata"]["metadata-log"]] == [metadata_file(states[-2])]
    # Version 1 made the namespace.
    for version, state in enumerate(states, 2):
        before = done(await folder_server.get(path("ns", table="t", prefix=f"lake@v{version}")))
        assert metadata_file(before) == metadata_file(state)
        assert before["metadata"]["properties"].get("number") == state["metadata"]["properties"].get("number")
