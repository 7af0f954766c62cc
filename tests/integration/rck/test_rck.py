"""The kit on a local folder, inside one open transaction, and on S3: what must pass, and the five tests that do not run."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.integration.rck.contents import Contents
from tests.integration.rck.kit import run_kit
from tests.integration.rck.report import Outcome, Report
from tests.support.s3_server import S3Server
from tests.support.servers import WAREHOUSE, Place, RunningServer, running_server

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(600)]

FOUND = {"TableTests": 106, "ViewTests": 51}
# Namespaces without a level: REST cannot name them, and the kit's own server does not have them either.
NOT_FOR_REST = {
    "TableTests.createAndDropEmptyNamespace",
    "TableTests.listNamespacesWithEmptyNamespace",
    "TableTests.listTablesInEmptyNamespace",
    "TableTests.namespacePropertiesOnEmptyNamespace",
    "ViewTests.listViewsInEmptyNamespace",
}
# It moves a metadata file away with java.nio, which knows no S3.
MOVES_A_LOCAL_FILE = "testLoadTableWithMissingMetadataFile"
TRANSACTION = "rck"


@dataclass(frozen=True)
class Run:
    """A run of the kit, and what it left in the server."""

    server: RunningServer
    report: Report
    left: Contents


def assert_complete(report: Report, found: dict[str, int]) -> None:
    """None failed, none is missing, and none was skipped but those that are not meant for REST."""
    if report.failures:
        pytest.fail("\n".join(f"{name}: {reason.strip()[:1000]}" for name, reason in report.failures.items()))
    assert report.names(Outcome.SKIPPED) == NOT_FOR_REST
    names = report.names(Outcome.PASSED) | NOT_FOR_REST
    assert {of: sum(name.startswith(f"{of}.") for name in names) for of in found} == found
    assert len(report.cases) == sum(found.values())


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The kit on a catalog in a local folder."""
    folder = tmp_path_factory.mktemp("rck")
    with running_server(Place(str(folder / "catalog")), folder / "server.log") as server:
        yield run(server, WAREHOUSE, folder)


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The kit inside a transaction, which is still open. A serializable one has to note all that the kit reads."""
    folder = tmp_path_factory.mktemp("rck-inside")
    with running_server(Place(str(folder / "catalog")), folder / "server.log") as server:
        begun = httpx.post(
            f"{server.api}/namespaces",
            json={"namespace": ["sys", "dtxns", f"dtxn_{TRANSACTION}"], "properties": {"isolation-level": "serializable"}},
        )
        begun.raise_for_status()
        yield run(server, f"{WAREHOUSE}@dtxn_{TRANSACTION}", folder)


def run(server: RunningServer, warehouse: str, folder: Path) -> Run:
    report = run_kit(server.url, warehouse, folder / "kit", tables=(folder / "elsewhere").as_uri())
    return Run(server, report, Contents.read(server.url, warehouse))


def test_the_kit_passes(outside: Run) -> None:
    assert_complete(outside.report, FOUND)


def test_what_the_kit_leaves_is_sound(outside: Run) -> None:
    assert (len(outside.left.tables), len(outside.left.views)) == (70, 20)
    treeline = Path(sys.executable).parent / "treeline"
    checked = subprocess.run([treeline, "check", outside.server.place.root], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_kit_passes_inside_a_transaction(inside: Run, outside: Run) -> None:
    assert_complete(inside.report, FOUND)
    before = latest_version(inside.server)
    assert Contents.read(inside.server.url, WAREHOUSE) == Contents()
    assert inside.left.names == outside.left.names

    transaction = f"{inside.server.api}/namespaces/sys%1Fdtxns%1Fdtxn_{TRANSACTION}"
    httpx.post(f"{transaction}/properties", json={"updates": {"commit": "true"}}, timeout=60).raise_for_status()

    committed = Contents.read(inside.server.url, WAREHOUSE)
    # What prevents deletions inside is no part of the tables. Some have the property from the kit, with the other value, and are believed.
    assert without_gc(inside.left) == {"false", "true"}
    assert without_gc(committed) == {None, "true"}
    assert committed == inside.left
    assert latest_version(inside.server) == before + 1
    told = httpx.get(transaction).json()["properties"]
    assert (told["status"], told["base-version"], told["version"]) == ("committed", str(before), str(before + 1))


@pytest.mark.s3
@pytest.mark.long
def test_the_kit_passes_on_s3(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = f"rck-{uuid.uuid4().hex}"
    s3_server.create_bucket(bucket)
    place = Place(f"s3://{bucket}/catalog", s3_server)
    with running_server(place, tmp_path / "server.log") as server:
        report = run_kit(
            server.url,
            WAREHOUSE,
            tmp_path / "kit",
            tables=f"s3://{bucket}/elsewhere",
            client=place.credentials,
            leave_out=[MOVES_A_LOCAL_FILE],
        )
    assert_complete(report, FOUND | {"TableTests": FOUND["TableTests"] - 1})


def without_gc(contents: Contents) -> set[str | None]:
    """Take `gc.enabled` out of all tables; the values that it had."""
    return {table["metadata"]["properties"].pop("gc.enabled", None) for table in contents.tables.values()}


def latest_version(server: RunningServer) -> int:
    versions = httpx.get(f"{server.url}/readyz").json()["versions"]
    return int(versions[WAREHOUSE])
