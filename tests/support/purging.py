"""What tests of purging do to a `TestLake`, and ask of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.table import Table

from catalog_format.maintenance.check import check
from catalog_format.maintenance.collect import CollectReport, collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.maintenance.purge import PATIENCE_MS, PurgeReport, wishes_in
from tests.support.pyiceberg_tables import LAKE_FOLDER, TestLake, all_files, as_path

PATIENCE_S = PATIENCE_MS / 1000
NOW = ExpiryPolicy(0)


def drop(lake: TestLake, name: str, purge: bool = True) -> None:
    lake.run(lake.catalog.main.drop_table(("ns", name), purge))


def register(lake: TestLake, name: str, metadata_location: str) -> None:
    lake.run(lake.catalog.main.register_table(("ns", name), metadata_location))


def expired(lake: TestLake, policy: ExpiryPolicy = NOW) -> None:
    lake.clock.advance(1)
    lake.run(expire(lake.parts, policy))


def collected(lake: TestLake, **options: Any) -> CollectReport:
    return lake.run(collect(lake.parts, **options))


def settled(lake: TestLake) -> PurgeReport:
    """Expired, of age, and collected."""
    expired(lake)
    lake.clock.advance(PATIENCE_S)
    return collected(lake).purge


def wishes(lake: TestLake) -> list[str]:
    async def names() -> list[str]:
        return [wish.name for wish in await wishes_in(lake.parts, await lake.parts.versions.confirm(anew=True))]

    return lake.run(names())


def is_clean(lake: TestLake) -> bool:
    parts = lake.parts
    return lake.run(check(parts.storage, parts.versions, parts.nodes, parts.logs)).clean


def engines_files(tmp_path: Path) -> set[Path]:
    """All files but the catalog's own."""
    own = {tmp_path / LAKE_FOLDER / folder for folder in ("vn", "node", "def", "dtxn", "dtxn-open")}
    return {path for path in all_files(tmp_path) if not own & set(path.parents)}


def borrowed(lake: TestLake, tmp_path: Path) -> tuple[Table, Path]:
    """A table whose first file was added to table `borrower` too; that file."""
    lender = lake.create("lender", [1], [2])
    [location, _] = sorted(lender.inspect.all_files().column("file_path").to_pylist())
    lake.create("borrower", [7]).add_files([location])
    return lender, as_path(location)
