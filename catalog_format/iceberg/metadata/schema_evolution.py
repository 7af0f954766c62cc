"""Whether files written with one schema can be read, and still be written, with a later one (Iceberg spec, "Schema Evolution")."""

from __future__ import annotations

import re
from typing import Final

from catalog_format.iceberg.metadata.field_types import FieldType
from catalog_format.iceberg.metadata.json_fields import JsonObject
from catalog_format.iceberg.metadata.schemas import Field, Schema

# Kinds that may become another.
_PROMOTIONS: Final = frozenset({("int", "long"), ("float", "double"), ("date", "timestamp"), ("date", "timestamp_ns")})
_DECIMAL: Final = re.compile(r"decimal\((\d+), (\d+)\)")


def incompatibility(written: JsonObject, current: JsonObject) -> str | None:
    """Why a file written with the one schema does not fit the other; None if it does. Names and order do not count."""
    before, after = Schema(written), Schema(current)
    for field_id, field in after.fields.items():
        old = before.fields.get(field_id)
        reason = _new_field(field, before) if old is None else _kept_field(old, field)
        if reason is not None:
            return reason
    return None


def _new_field(field: Field, before: Schema) -> str | None:
    """A field of a new struct, list or map is as new as that, which is checked by itself."""
    within_old = field.parent_id is None or field.parent_id in before.fields
    if field.required and field.initial_default is None and within_old:
        return f"column {field.full_name} is new and required, without a default"
    return None


def _kept_field(old: Field, field: Field) -> str | None:
    if field.required and not old.required:
        return f"column {field.full_name} became required"
    if not _widens(old.type, field.type):
        return f"column {field.full_name} changed its type from {old.type} to {field.type}"
    return None


def _widens(old: FieldType, new: FieldType) -> bool:
    if old == new or (old.kind, new.kind) in _PROMOTIONS or old.kind == "unknown":
        return True
    if old.kind == new.kind == "decimal":
        narrow, wide = _DECIMAL.fullmatch(old.text), _DECIMAL.fullmatch(new.text)
        return narrow is not None and wide is not None and narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1])
    return False
