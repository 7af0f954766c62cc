"""DROP TABLE … PURGE on Spark, and what is left when the table's time has come."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from irc_server.cli import main
from tests.integration.conftest import Engine
from tests.support.servers import Place, running_server

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def files_in(folder: Path) -> set[Path]:
    """All but the checksums that Hadoop writes beside its files on a local disk, which no metadata name."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"}


def told(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_purged_table_goes_and_its_neighbour_in_the_same_folder_stays(engine: Engine, tmp_path: Path) -> None:
    """Version 3 after version 2: position deletes, deletion vectors, statistics of the table and of its partitions."""
    root, shared, run = tmp_path / "lake", tmp_path / "shared", engine.rows
    with running_server(Place(str(root)), tmp_path / "server.log") as server:
        catalog = engine.attach(server)
        t, neighbour = f"{catalog}.ns.t", f"{catalog}.ns.neighbour"
        run(f"CREATE NAMESPACE {catalog}.ns")
        run(
            f"CREATE TABLE {t} (id BIGINT, part INT) USING iceberg PARTITIONED BY (part) LOCATION 'file://{shared}' "
            "TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')"
        )
        run(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 1 FROM range(10)")
        run(f"DELETE FROM {t} WHERE id = 0")
        run(f"ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')")
        run(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 2 FROM range(10)")
        run(f"DELETE FROM {t} WHERE part = 2 AND id = 1")
        assert {row[0] for row in run(f"SELECT file_format FROM {t}.all_delete_files")} == {"PARQUET", "PUFFIN"}
        run(f"CALL {catalog}.system.compute_table_stats(table => 'ns.t')")
        run(f"CALL {catalog}.system.compute_partition_stats(table => 'ns.t')")
        his = files_in(shared)
        metadata = httpx.get(f"{server.api}/namespaces/ns/tables/t").raise_for_status().json()["metadata"]
        assert len(metadata["statistics"]) == len(metadata["partition-statistics"]) == 1

        run(f"CREATE TABLE {neighbour} USING iceberg LOCATION 'file://{shared}' AS SELECT 7L AS id")
        stray = shared / "data" / "readme.txt"
        stray.write_text("in no metadata")
        others = files_in(shared) - his
        run(f"DROP TABLE {t} PURGE")
        assert files_in(shared) == his | others, "old versions show it"
        told("expire", str(root), "--older-than", "0s", "--keep", "1")
        assert "1 dropped table to be purged later" in told("collect", str(root))
        assert files_in(shared) == his | others, "not three days ago"
        report = told("collect", str(root), "--purge-after", "0s")
        assert f"Purged: ns.t (files that their metadata named: {len(his)})" in report and "problem" not in report
        assert files_in(shared) == others and stray in others
        run(f"REFRESH TABLE {neighbour}")
        assert run(f"SELECT id FROM {neighbour}") == [(7,)]
        run(f"INSERT INTO {neighbour} VALUES (8)")
        assert run(f"SELECT id FROM {neighbour} ORDER BY id") == [(7,), (8,)]
        assert told("check", str(root)).endswith("no problems\n")
