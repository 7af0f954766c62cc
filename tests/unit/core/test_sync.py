"""The synchronous facade: a notebook's way in."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_format import sync
from catalog_format.errors import NotACatalogError, ReadOnlyError
from catalog_format.scope import NewTable
from tests.support.catalogs import SCHEMA, setting


def test_open_begin_read_list_write_commit(tmp_path: Path) -> None:
    with pytest.raises(NotACatalogError, match="treeline init"):
        sync.open_catalog(str(tmp_path / "warehouse"))
    with sync.open_catalog(str(tmp_path / "warehouse"), init=True) as catalog:
        catalog.main.create_namespace(("ns",), {"a": "1"})
        catalog.main.create_table(("ns", "t"), NewTable(SCHEMA))
        before = catalog.latest_version()
        with catalog.transaction() as inside:
            inside.create_table(("ns", "u"), NewTable(SCHEMA))
            inside.commit_tables([setting("ns", "t", a="1")])
            assert catalog.main.list_tables(("ns",)).items == [("ns", "t")]
            assert len(catalog.list_transactions()) == 1
        assert catalog.main.list_tables(("ns",)).items == [("ns", "t"), ("ns", "u")]
        assert catalog.latest_version() == before + 1
        with pytest.raises(ZeroDivisionError), catalog.transaction() as inside:
            inside.drop_table(("ns", "t"))
            raise ZeroDivisionError
        assert catalog.main.table_exists(("ns", "t"))
        past = catalog.at(before)
        assert past.list_tables(("ns",)).items == [("ns", "t")]
        with pytest.raises(ReadOnlyError):
            past.drop_table(("ns", "t"))
    with sync.open_catalog(str(tmp_path / "warehouse")) as catalog:
        assert catalog.main.load_namespace(("ns",)) == {"a": "1"}
        assert catalog.at_timestamp(2**50).table_exists(("ns", "u"))
