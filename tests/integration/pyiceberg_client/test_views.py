"""Views through PyIceberg, which creates, loads, lists and drops them; it neither replaces nor renames them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchViewError, TableAlreadyExistsError, ViewAlreadyExistsError
from pyiceberg.io import load_file_io
from pyiceberg.types import LongType
from pyiceberg.view.metadata import ViewVersion

from tests.integration.pyiceberg_client.conftest import Site, numbers

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

SCHEMA = pa.schema([("id", pa.int64())])


def version(site: Site, **sql: str) -> ViewVersion:
    """A version with one representation for each dialect."""
    representations = [{"type": "sql", "sql": text, "dialect": dialect} for dialect, text in sql.items()]
    return ViewVersion.model_validate(
        {
            "schema-id": 0,
            "representations": representations,
            "default-namespace": list(site.namespace),
            "summary": {"engine-name": "test"},
        }
    )


def test_views(site: Site) -> None:
    catalog = site.catalog
    made = catalog.create_view(
        site.name("v"), SCHEMA, version(site, spark="SELECT id FROM t", trino='SELECT "id" FROM t'), properties={"comment": "numbers"}
    )
    assert made.name() == site.name("v")
    catalog.create_view(site.name("short"), SCHEMA, version(site, spark="SELECT 1 AS id"))
    catalog.drop_view(site.name("short"))
    catalog.create_table(site.name("t"), numbers().schema)
    for place in site.states():
        view = place.catalog.load_view(place.name("v"))
        assert view.uuid() == made.uuid() and view.properties["comment"] == "numbers"
        assert view.schema().find_type("id") == LongType()
        first, second = view.sql_for("spark"), view.sql_for("trino")
        assert first is not None and first.sql == "SELECT id FROM t"
        assert second is not None and second.sql == 'SELECT "id" FROM t'
        assert view.sql_for("hive") is None
        assert view.current_version().default_namespace == place.namespace
        assert (view.current_version().version_id, len(view.history())) == (1, 1)
        assert view.current_version().summary["engine-name"] == "test"
        assert place.catalog.list_views(place.namespace) == [place.name("v")]
        assert place.catalog.list_tables(place.namespace) == [place.name("t")]
        assert place.catalog.view_exists(place.name("v")) and not place.catalog.view_exists(place.name("short"))
        with pytest.raises(ViewAlreadyExistsError, match="already exists"):
            place.catalog.create_view(place.name("v"), SCHEMA, version(site, spark="SELECT 2 AS id"))
        with pytest.raises(TableAlreadyExistsError, match="View with same name already exists"):
            place.catalog.create_table(place.name("v"), numbers().schema)
        with pytest.raises(ViewAlreadyExistsError, match="Table with same name already exists"):
            place.catalog.create_view(place.name("t"), SCHEMA, version(site, spark="SELECT 2 AS id"))
        for call in (place.catalog.load_view, place.catalog.drop_view):
            with pytest.raises(NoSuchViewError, match="does not exist"):
                call(place.name("short"))


def test_a_view_is_registered(site: Site) -> None:
    """From a metadata file that some other catalog wrote: here one that the test writes."""
    made = site.catalog.create_view(site.name("v"), SCHEMA, version(site, spark="SELECT 1 AS id"))
    location = f"{made.location()}/metadata/from-elsewhere.metadata.json"
    metadata = json.loads(made.metadata.model_dump_json())
    metadata["versions"][0]["default-namespace"] = list(site.namespace[-1:])
    with load_file_io(site.catalog.properties, location).new_output(location).create() as stream:
        stream.write(json.dumps(metadata).encode())
    site.catalog.drop_view(site.name("v"))
    registered = site.catalog.register_view(site.name("again"), location)
    assert registered.uuid() == made.uuid() and registered.current_version() == made.current_version()
    with pytest.raises(ViewAlreadyExistsError, match="already exists"):
        site.catalog.register_view(site.name("again"), location)
    for place in site.states():
        assert place.catalog.list_views(place.namespace) == [place.name("again")]
        view = place.catalog.load_view(place.name("again"))
        assert (view.uuid(), view.current_version().default_namespace) == (made.uuid(), place.namespace)
