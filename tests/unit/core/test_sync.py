"""The synchronous facade: a notebook's way in."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_format import sync
from catalog_format.errors import NoSuchVersionError, NotACatalogError, ReadOnlyError
from catalog_format.maintenance.expire import ExpiryPolicy
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


def test_versions_are_given_up_and_files_deleted(tmp_path: Path) -> None:
    with sync.open_catalog(str(tmp_path), init=True) as catalog:
        for number in range(5):
            catalog.main.create_namespace((f"n{number}",), {})
        catalog.main.create_table(("n0", "t"), NewTable(SCHEMA))
        catalog.main.drop_table(("n0", "t"))
        report = catalog.expire(ExpiryPolicy(0), dry_run=True)
        assert report.given_up == report.oldest > 0 and catalog.at(0).list_namespaces().items == []
        assert catalog.expire(ExpiryPolicy(0)).given_up == report.given_up
        with pytest.raises(NoSuchVersionError):
            catalog.at(0)
        doomed = catalog.collect(dry_run=True).deleted
        assert [path.split("/")[0] for path in doomed] == ["data"] and (tmp_path / doomed[0]).exists()
        assert catalog.collect().deleted == doomed and not (tmp_path / doomed[0]).exists()
