"""Expired and collected catalogs, as a second reader built from FORMAT.md sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_format.keys import table_key
from catalog_format.maintenance.collect import collect
from catalog_format.maintenance.expire import ExpiryPolicy, expire
from tests.support.catalogs import SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, setting
from tests.support.second_reader import SecondReader
from tests.support.second_reader_messages import DamageError


async def test_a_second_reader_walks_over_stubs_and_serves_none(tmp_path: Path) -> None:
    clock = ManualClock()
    async with opened(TimelessFolder(tmp_path), clock=clock, limits=SMALL_TREE) as real:
        await make_table(real.main, "ns", "t")
        for number in range(12):
            clock.advance(1)
            await real.main.create_namespace((f"n{number}",), {})
            await real.main.commit_tables([setting("ns", "t", n=str(number))])
        await real.transactions.begin("pins")
        base = (await real.transactions.load("pins")).base_version
        for number in range(12, 20):
            clock.advance(1)
            await real.main.create_namespace((f"n{number}",), {})
        before = SecondReader(tmp_path).definitions(base)
        await expire(real.parts, ExpiryPolicy(0, keep=3))
        await collect(real.parts)
        latest = await real.latest_version()
        oldest = (await real.versions.confirm()).header.oldest
    reader = SecondReader(tmp_path)
    assert reader.check_chain() == latest
    assert reader.remains(latest).keys["unstubbed"] == str(base)
    for version in range(oldest, latest + 1):
        assert table_key(("ns", "t")) in reader.definitions(version)
    # Pinned: for its transaction alone.
    assert reader.definitions(base) == before
    with pytest.raises(DamageError, match="is a stub"):
        reader.definitions(oldest - 1)
    assert [len(reader.actions(version)) for version in range(1, oldest)] == [1] * (oldest - 1)
