"""Updates of the REST specification, from JSON to what they do: the whole request is read before any of it is applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate
from catalog_format.iceberg.metadata.table_updates import TABLE_UPDATES
from catalog_format.iceberg.metadata.update_actions import action_of
from catalog_format.iceberg.metadata.view_draft import ViewDraft, ViewUpdate
from catalog_format.iceberg.metadata.view_updates import VIEW_UPDATES


def parse_table_updates(updates: Iterable[JsonObject]) -> list[TableUpdate]:
    """What `TableUpdate`s of the specification do. Raises `InvalidArgumentError` if one is malformed or unknown."""
    return [_table_update(update) for update in updates]


def parse_view_updates(updates: Iterable[JsonObject]) -> list[ViewUpdate]:
    """What `ViewUpdate`s of the specification do. Raises `InvalidArgumentError` if one is malformed or unknown."""
    return [_view_update(update) for update in updates]


def _table_update(update: JsonObject) -> TableUpdate:
    action = action_of(update)
    if (parse := TABLE_UPDATES.get(action)) is not None:
        return parse(update)
    _check_known(action, update)

    def refuse(draft: TableDraft) -> NoReturn:
        raise InvalidArgumentError(f"Cannot apply update to a table: {action}")

    return refuse


def _view_update(update: JsonObject) -> ViewUpdate:
    action = action_of(update)
    if (parse := VIEW_UPDATES.get(action)) is not None:
        return parse(update)
    _check_known(action, update)

    def refuse(draft: ViewDraft) -> NoReturn:
        raise InvalidArgumentError(f"Cannot apply update to a view: {action}")

    return refuse


def _check_known(action: str, update: JsonObject) -> None:
    """Raise `InvalidArgumentError` unless some kind of object has such updates, and this is a well-formed one."""
    for registry in (TABLE_UPDATES, VIEW_UPDATES):
        if (parse := registry.get(action)) is not None:
            parse(update)
            return
    raise InvalidArgumentError(f"Unknown metadata update: {action}")
