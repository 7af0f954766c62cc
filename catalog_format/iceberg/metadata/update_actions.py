"""The action that names an update (REST specification, schema `BaseUpdate`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import as_object, get_string


def action_of(update: object) -> str:
    """The action of an update, in lower case. Raises `InvalidArgumentError` if it has none."""
    node = as_object(update, "metadata update")
    if node.get("action") is None:
        raise InvalidArgumentError("Cannot parse metadata update. Missing field: action")
    return get_string(node, "action").lower()
