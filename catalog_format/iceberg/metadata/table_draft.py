"""The working state of a table metadata build: what the updates so far have made of the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata import table_fields
from catalog_format.iceberg.metadata.json_fields import JsonObject, get_int, get_string_or_none
from catalog_format.iceberg.metadata.partition_specs import INITIAL_SPEC_ID
from catalog_format.iceberg.metadata.schemas import INITIAL_SCHEMA_ID, Schema, schema_id_of
from catalog_format.iceberg.metadata.snapshots import INITIAL_SEQUENCE_NUMBER, NO_SNAPSHOT_ID
from catalog_format.iceberg.metadata.sort_orders import UNSORTED_ORDER_ID

# The REST specification's maximum; v4 is not final.
SUPPORTED_FORMAT_VERSION = 3

TableUpdate = Callable[["TableDraft"], object]
"""A well-formed update: what it does to a draft. Raises `InvalidArgumentError` or `ConflictError` if it does not fit."""


@dataclass
class TableDraft:
    """State of one build. Collections start as the base's own and are replaced, never changed in place."""

    base: JsonObject | None
    format_version: int
    uuid: str | None
    location: str | None
    last_sequence_number: int
    last_column_id: int
    next_row_id: int
    schemas: list[JsonObject]
    current_schema_id: int
    specs: list[JsonObject]
    default_spec_id: int
    last_partition_id: int
    sort_orders: list[JsonObject]
    default_sort_order_id: int
    properties: dict[str, str]
    snapshots: list[JsonObject]
    current_snapshot_id: int
    refs: dict[str, JsonObject]
    statistics: list[JsonObject]
    partition_statistics: list[JsonObject]
    encryption_keys: list[JsonObject]

    has_changes: bool = False
    # Schemas, specs or orders have changed, so that the defaults must be checked against the current schema again.
    layout_changed: bool = False
    # Snapshots or references have changed, so that they must be checked against each other again.
    history_changed: bool = False
    last_added_schema_id: int | None = None
    last_added_spec_id: int | None = None
    last_added_order_id: int | None = None
    added_schema_ids: set[int] = field(default_factory=set)
    added_spec_ids: set[int] = field(default_factory=set)
    added_order_ids: set[int] = field(default_factory=set)
    added_snapshot_ids: set[int] = field(default_factory=set)
    # Added snapshots that branch main has pointed to: intermediate ones, unless they are current in the end.
    added_main_snapshot_ids: set[int] = field(default_factory=set)
    snapshots_removed: bool = False
    # (timestamp in ms, snapshot id) for each move of main; no timestamp stands for the time of the build.
    snapshot_log_additions: list[tuple[int | None, int]] = field(default_factory=list)

    _snapshots_by_id: dict[int, JsonObject] | None = None
    _snapshots_are_own: bool = False
    _parsed_schemas: dict[int, Schema] = field(default_factory=dict)

    @classmethod
    def from_base(cls, base: JsonObject) -> TableDraft:
        """A draft that equals the base. Raises `InvalidArgumentError` if the base is no table metadata."""
        return cls(
            base=base,
            format_version=table_fields.format_version_of(base),
            uuid=get_string_or_none(base, "table-uuid"),
            location=get_string_or_none(base, "location"),
            last_sequence_number=table_fields.last_sequence_number_of(base),
            last_column_id=get_int(base, "last-column-id"),
            next_row_id=table_fields.next_row_id_of(base),
            schemas=table_fields.schemas_of(base),
            current_schema_id=table_fields.current_schema_id_of(base),
            specs=table_fields.specs_of(base),
            default_spec_id=table_fields.default_spec_id_of(base),
            last_partition_id=table_fields.last_partition_id_of(base),
            sort_orders=table_fields.sort_orders_of(base),
            default_sort_order_id=table_fields.default_sort_order_id_of(base),
            properties=table_fields.properties_of(base),
            snapshots=table_fields.list_of(base, "snapshots"),
            current_snapshot_id=table_fields.current_snapshot_id_of(base),
            refs=table_fields.refs_of(base),
            statistics=table_fields.list_of(base, "statistics"),
            partition_statistics=table_fields.list_of(base, "partition-statistics"),
            encryption_keys=table_fields.list_of(base, "encryption-keys"),
        )

    @classmethod
    def empty(cls, format_version: int, uuid: str) -> TableDraft:
        """A draft of a table that does not exist yet (Java `TableMetadata.buildFromEmpty`)."""
        return cls(
            base=None,
            format_version=format_version,
            uuid=uuid,
            location=None,
            last_sequence_number=INITIAL_SEQUENCE_NUMBER,
            last_column_id=0,
            next_row_id=table_fields.INITIAL_ROW_ID,
            schemas=[],
            current_schema_id=INITIAL_SCHEMA_ID,
            specs=[],
            default_spec_id=INITIAL_SPEC_ID,
            last_partition_id=0,
            sort_orders=[],
            default_sort_order_id=UNSORTED_ORDER_ID,
            properties={},
            snapshots=[],
            current_snapshot_id=NO_SNAPSHOT_ID,
            refs={},
            statistics=[],
            partition_statistics=[],
            encryption_keys=[],
        )

    @property
    def snapshots_by_id(self) -> dict[int, JsonObject]:
        if self._snapshots_by_id is None:
            self._snapshots_by_id = {snapshot["snapshot-id"]: snapshot for snapshot in self.snapshots}
        return self._snapshots_by_id

    def append_snapshot(self, snapshot: JsonObject) -> None:
        """Add to the list, which is copied once a build, however many snapshots it adds."""
        self.snapshots_by_id[snapshot["snapshot-id"]] = snapshot
        if not self._snapshots_are_own:
            self.snapshots = list(self.snapshots)
            self._snapshots_are_own = True
        self.snapshots.append(snapshot)

    def drop_snapshots(self, snapshot_ids: set[int]) -> None:
        """Take those snapshots, all of them known, out of the list."""
        self.snapshots = [snapshot for snapshot in self.snapshots if snapshot["snapshot-id"] not in snapshot_ids]
        self._snapshots_are_own = True
        self._snapshots_by_id = None

    def schema(self, schema_id: int) -> Schema | None:
        """The parsed schema of that id, None if there is none. Raises `InvalidArgumentError` if it cannot be parsed."""
        raw = next((schema for schema in self.schemas if schema_id_of(schema) == schema_id), None)
        if raw is None:
            return None
        parsed = self._parsed_schemas.get(schema_id)
        if parsed is None or parsed.raw is not raw:
            parsed = self._parsed_schemas[schema_id] = Schema(raw)
        return parsed

    def current_schema(self) -> Schema:
        """The current schema. Raises `InvalidArgumentError` if there is none (yet)."""
        schema = self.schema(self.current_schema_id)
        if schema is None:
            raise InvalidArgumentError(f"Cannot find current schema: {self.current_schema_id}")
        return schema
