"""Tables as they are before clients come, and what they hold afterwards."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from perf.joining.sessions import NAMESPACE


def create(catalog: Catalog, name: str, rows: pa.Table, *partitioned_by: str, properties: Mapping[str, str] | None = None) -> Table:
    """A table with these rows, in the namespace of the benchmarks; one file for each partition."""
    catalog.create_namespace_if_not_exists(NAMESPACE)
    wanted = {"identifier": f"{NAMESPACE}.{name}", "schema": rows.schema, "properties": dict(properties or {})}
    with catalog.create_table_transaction(**wanted) as creation, creation.update_spec() as spec:
        for column in partitioned_by:
            spec.add_identity(column)
    table = catalog.load_table(f"{NAMESPACE}.{name}")
    if len(rows):
        table.append(rows)
    return table


def held(catalog: Catalog, name: str) -> pa.Table:
    """All rows of a table."""
    return catalog.load_table(f"{NAMESPACE}.{name}").scan().to_arrow()
