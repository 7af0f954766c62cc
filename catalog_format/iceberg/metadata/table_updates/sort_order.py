"""Updates of a table's sort orders (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_object
from catalog_format.iceberg.metadata.sort_orders import INITIAL_SORT_ORDER_ID, UNSORTED_ORDER_ID, SortOrder, parse_sort_order
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate

_LAST_ADDED = -1


def add_sort_order(draft: TableDraft, order: SortOrder) -> int:
    """Add an order, unless one with the same fields exists, and return its id. Raises `InvalidArgumentError`."""
    if not order.is_unsorted:
        order.check_compatible(draft.current_schema())
    order_id = _reused_or_new_id(draft, order)
    if any(existing["order-id"] == order_id for existing in draft.sort_orders):
        # "Last added" stays set only while the one before was added by this build, as in Java.
        added_here = draft.last_added_order_id in draft.added_order_ids
        draft.last_added_order_id = order_id if added_here else None
        return order_id
    draft.sort_orders = [*draft.sort_orders, order.to_json(order_id)]
    draft.added_order_ids.add(order_id)
    draft.last_added_order_id = order_id
    draft.has_changes = draft.layout_changed = True
    return order_id


def set_default_sort_order(draft: TableDraft, order_id: int) -> None:
    """Make an order the default one; -1 is the one added last. Raises `InvalidArgumentError`.

    That the order exists is checked by the build, since a later update may add it.
    """
    if order_id == _LAST_ADDED:
        if draft.last_added_order_id is None:
            raise InvalidArgumentError("Cannot set last added sort order: no sort order has been added")
        order_id = draft.last_added_order_id
    if order_id != draft.default_sort_order_id:
        draft.default_sort_order_id = order_id
        draft.has_changes = draft.layout_changed = True


def parse_add_sort_order(update: JsonObject) -> TableUpdate:
    order = parse_sort_order(get_object(update, "sort-order"))
    return lambda draft: add_sort_order(draft, order)


def parse_set_default_sort_order(update: JsonObject) -> TableUpdate:
    order_id = get_int(update, "sort-order-id")
    return lambda draft: set_default_sort_order(draft, order_id)


def _reused_or_new_id(draft: TableDraft, order: SortOrder) -> int:
    if order.is_unsorted:
        return UNSORTED_ORDER_ID
    new_id = INITIAL_SORT_ORDER_ID
    for raw in draft.sort_orders:
        existing_id = get_int(raw, "order-id")
        if order.same_fields(parse_sort_order(raw)):
            return existing_id
        new_id = max(new_id, existing_id + 1)
    return new_id
