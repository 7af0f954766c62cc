"""Updates of a table's partition specs (Iceberg Java `TableMetadata.Builder`)."""

from __future__ import annotations

from itertools import count

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_ints, get_object, shown
from catalog_format.iceberg.metadata.partition_specs import (
    FIRST_PARTITION_FIELD_ID,
    INITIAL_SPEC_ID,
    UNPARTITIONED_LAST_FIELD_ID,
    PartitionField,
    PartitionSpec,
    parse_partition_spec,
    spec_id_of,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate

_LAST_ADDED = -1


def add_spec(draft: TableDraft, spec: PartitionSpec) -> int:
    """Add a spec, unless one with the same fields exists, and return its id. Raises `InvalidArgumentError`."""
    existing_specs = [parse_partition_spec(existing) for existing in draft.specs]
    spec = _with_field_ids(draft, spec, existing_specs)
    schema = draft.current_schema()
    spec.check_names(schema)
    spec.check_compatible(schema)
    new_id = INITIAL_SPEC_ID
    for existing in existing_specs:
        existing_id = existing.spec_id if existing.spec_id is not None else INITIAL_SPEC_ID
        if spec.same_fields(existing):
            # "Last added" stays set only while the one before was added by this build, as in Java.
            added_here = draft.last_added_spec_id in draft.added_spec_ids
            draft.last_added_spec_id = existing_id if added_here else None
            return existing_id
        new_id = max(new_id, existing_id + 1)
    if draft.format_version == 1 and not spec.has_sequential_ids:
        raise InvalidArgumentError(f"Spec does not use sequential IDs that are required in v1: {shown(spec.raw)}")
    draft.last_partition_id = max(draft.last_partition_id, spec.last_assigned_field_id)
    draft.specs = [*draft.specs, spec.to_json(new_id)]
    draft.added_spec_ids.add(new_id)
    draft.last_added_spec_id = new_id
    draft.has_changes = draft.layout_changed = True
    return new_id


def set_default_spec(draft: TableDraft, spec_id: int) -> None:
    """Make a spec the default one; -1 is the one added last. Raises `InvalidArgumentError`.

    That the spec exists is checked by the build, since a later update may add it.
    """
    if spec_id == _LAST_ADDED:
        if draft.last_added_spec_id is None:
            raise InvalidArgumentError("Cannot set last added spec: no spec has been added")
        spec_id = draft.last_added_spec_id
    if spec_id != draft.default_spec_id:
        draft.default_spec_id = spec_id
        draft.has_changes = draft.layout_changed = True


def remove_partition_specs(draft: TableDraft, spec_ids: set[int]) -> None:
    """Remove those that exist. Raises `InvalidArgumentError` for the default one."""
    if draft.default_spec_id in spec_ids:
        raise InvalidArgumentError("Cannot remove the default partition spec")
    if spec_ids:
        draft.specs = [spec for spec in draft.specs if spec_id_of(spec) not in spec_ids]
        draft.has_changes = draft.layout_changed = True


def parse_add_spec(update: JsonObject) -> TableUpdate:
    spec = parse_partition_spec(get_object(update, "spec"))
    return lambda draft: add_spec(draft, spec)


def parse_set_default_spec(update: JsonObject) -> TableUpdate:
    spec_id = get_int(update, "spec-id")
    return lambda draft: set_default_spec(draft, spec_id)


def parse_remove_partition_specs(update: JsonObject) -> TableUpdate:
    spec_ids = set(get_ints(update, "spec-ids"))
    return lambda draft: remove_partition_specs(draft, spec_ids)


def _with_field_ids(draft: TableDraft, spec: PartitionSpec, existing_specs: list[PartitionSpec]) -> PartitionSpec:
    """Give ids to fields that came without.

    Java starts at 1000 again, which on an evolved table gives one id to two different fields. From v2 on this follows
    the specification instead: the id of an equal field in an earlier spec, else the next one never assigned.
    """
    if draft.format_version == 1:
        sequential = count(FIRST_PARTITION_FIELD_ID)
        return spec.assigned(lambda field: next(sequential))
    known = {(field.source_id, field.transform.text): field.field_id for existing in existing_specs for field in existing.fields}
    fresh = count(max(draft.last_partition_id, UNPARTITIONED_LAST_FIELD_ID) + 1)

    def next_id(field: PartitionField) -> int:
        reused = known.get((field.source_id, field.transform.text))
        return next(fresh) if reused is None else reused

    return spec.assigned(next_id)
