"""Lists kept in tables: appending a value adds a column that is named after it.

Adding a column is guarded by the requirement `assert-last-assigned-field-id`, so an append that was computed from an old list is
refused, in plain commits too; and no data files are needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tests.histories.rest import PREFIX, Json, Rest, namespace_path

NAMESPACE = "lists"
_FIRST: Json = {"id": 1, "name": "id", "type": "long", "required": False}


def create(servers: Sequence[Rest], keys: Sequence[str]) -> None:
    """The namespace and an empty list for each key, until each server sees them."""
    rest = servers[0]
    rest.insist("POST", f"/v1/{PREFIX}/namespaces", {"namespace": [NAMESPACE]})
    for key in keys:
        schema = {"type": "struct", "schema-id": 0, "fields": [_FIRST]}
        answer = rest.insist("POST", f"{namespace_path(NAMESPACE)}/tables", {"name": key, "schema": schema})
        assert answer.status in {200, 409}, answer
    for server in servers:
        # Where staleness is allowed, that takes a moment.
        while not server.insist("GET", table_path(keys[-1])).succeeded:
            time.sleep(0.01)


def table_path(key: str, *outer: str, prefix: str = PREFIX) -> str:
    """`outer`: the levels of a transaction's namespace."""
    return f"{namespace_path(*outer, NAMESPACE, prefix=prefix)}/tables/{key}"


def values_in(table: Json) -> tuple[int, ...]:
    """The list, from what a load or a commit answered."""
    return tuple(int(field["name"].removeprefix("v")) for field in _fields(table)[1:])


def append_to(table: Json, value: int) -> Json:
    """The body of a commit that appends to the list that was loaded."""
    fields = _fields(table)
    last = table["metadata"]["last-column-id"]
    new = {"id": last + 1, "name": f"v{value}", "type": "long", "required": False}
    return {
        "requirements": [
            {"type": "assert-table-uuid", "uuid": table["metadata"]["table-uuid"]},
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": last},
        ],
        "updates": [
            {"action": "add-schema", "schema": {"type": "struct", "fields": [*fields, new]}, "last-column-id": last + 1},
            {"action": "set-current-schema", "schema-id": -1},
            # Old schemas would make the metadata grow with the square of the list.
            {"action": "remove-schemas", "schema-ids": [schema["schema-id"] for schema in table["metadata"]["schemas"]]},
        ],
    }


def _fields(table: Json) -> list[Any]:
    metadata = table["metadata"]
    return next(schema["fields"] for schema in metadata["schemas"] if schema["schema-id"] == metadata["current-schema-id"])
