"""Collecting keeps the files of tables, however their locations are spelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_format.catalog import StoredCatalog
from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata_files import transactions_of
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from catalog_format.scope import NewTable
from catalog_format.storage import open_storage
from tests.support.catalogs import SCHEMA, ManualClock, TimelessFolder, make_table, opened, properties_of, setting


async def make_and_collect(catalog: StoredCatalog, clock: ManualClock, location: str) -> list[str]:
    """A table there, changed once, whose first version is given up: the names of the metadata files that go."""
    await catalog.main.create_namespace(("ns",), {})
    await catalog.main.create_table(("ns", "t"), NewTable(SCHEMA, location=location))
    await catalog.main.commit_tables([setting("ns", "t", a="1")])
    clock.advance(1)
    await expire(catalog.parts, ExpiryPolicy(0))
    return [path for path in (await collect(catalog.parts)).deleted if path.endswith(".metadata.json")]


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}/data/t",
        "FILE://{root}/data/t",
        "file://localhost{root}/data/t",
        "file:{root}/data/t",
        "file://{root}//data/t",
        "{root}/data//t",
    ],
)
async def test_on_a_local_disk(tmp_path: Path, spelling: str) -> None:
    clock = ManualClock()
    root = tmp_path / "lake"
    async with opened(TimelessFolder(root), clock=clock) as catalog:
        assert len(await make_and_collect(catalog, clock, spelling.format(root=root))) == 1
    async with opened(TimelessFolder(root), clock=clock) as catalog:
        assert (await properties_of(catalog.main, "ns", "t"))["a"] == "1"


async def test_through_a_link_to_the_root(tmp_path: Path) -> None:
    clock = ManualClock()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with opened(TimelessFolder(tmp_path / "real"), clock=clock) as catalog:
        # Nobody can tell where links lead, but the file names are told.
        assert len(await make_and_collect(catalog, clock, f"file://{tmp_path}/link/data/t")) == 1
    async with opened(TimelessFolder(tmp_path / "real"), clock=clock) as catalog:
        assert (await properties_of(catalog.main, "ns", "t"))["a"] == "1"


async def test_in_memory(tmp_path: Path) -> None:
    clock = ManualClock()
    url = f"memory://spelled-{tmp_path.name}"
    async with opened(open_storage(url), clock=clock) as catalog:
        assert len(await make_and_collect(catalog, clock, f"MEMORY://spelled-{tmp_path.name}/data//t")) == 1
    async with opened(open_storage(url), clock=clock) as catalog:
        assert (await properties_of(catalog.main, "ns", "t"))["a"] == "1"


async def test_the_name_of_a_transaction_is_not_taken_for_a_compressed_one() -> None:
    name = f"data/x/metadata/00001-{'0' * 32}-dtxn_job"
    assert transactions_of(f"{name}.gz.metadata.json") == ("job", "job.gz"), "either may have written it"
    assert transactions_of(f"{name}.metadata.json") == ("job", "job.gz")
    assert transactions_of(f"data/x/metadata/00001-{'0' * 32}.gz.metadata.json") == ()
    async with opened(open_storage("memory://no-such-ids")) as catalog:
        await make_table(catalog.main, "ns", "t")
        with pytest.raises(InvalidArgumentError, match=r"job\.gz"):
            await catalog.transactions.begin("job.gz")
