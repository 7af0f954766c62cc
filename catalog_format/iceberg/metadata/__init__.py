"""Table and view metadata as raw JSON dictionaries: creation, updates, requirements, files.

Everything here is pure: functions of their arguments, which they never change.
"""

from __future__ import annotations

from catalog_format.iceberg.metadata.aspects import (
    difference,
    properties_difference,
    properties_touched_by,
    touched_by,
    view_difference,
    view_touched_by,
)
from catalog_format.iceberg.metadata.commutation import Aspect, Aspects, commute
from catalog_format.iceberg.metadata.joinable import metadata_conflict, needs_joining
from catalog_format.iceberg.metadata.requirements import (
    TABLE_REQUIREMENTS,
    VIEW_REQUIREMENTS,
    parse_table_requirements,
    parse_view_requirements,
)
from catalog_format.iceberg.metadata.serialization import (
    decode_metadata,
    encode_metadata,
    metadata_file_extension,
    metadata_json,
    parse_metadata,
)
from catalog_format.iceberg.metadata.table_builder import TableMetadataBuilder
from catalog_format.iceberg.metadata.table_creation import is_create, new_table_metadata, table_metadata_from_updates
from catalog_format.iceberg.metadata.table_draft import TableUpdate
from catalog_format.iceberg.metadata.table_updates import TABLE_UPDATES
from catalog_format.iceberg.metadata.table_validation import check_table_metadata
from catalog_format.iceberg.metadata.update_parser import parse_table_updates, parse_view_updates
from catalog_format.iceberg.metadata.view_builder import ViewMetadataBuilder, new_view_metadata
from catalog_format.iceberg.metadata.view_checks import check_view
from catalog_format.iceberg.metadata.view_draft import ViewUpdate
from catalog_format.iceberg.metadata.view_updates import VIEW_UPDATES

__all__ = [
    "TABLE_REQUIREMENTS",
    "TABLE_UPDATES",
    "VIEW_REQUIREMENTS",
    "VIEW_UPDATES",
    "Aspect",
    "Aspects",
    "TableMetadataBuilder",
    "TableUpdate",
    "ViewMetadataBuilder",
    "ViewUpdate",
    "check_table_metadata",
    "check_view",
    "commute",
    "decode_metadata",
    "difference",
    "encode_metadata",
    "is_create",
    "metadata_conflict",
    "metadata_file_extension",
    "metadata_json",
    "needs_joining",
    "new_table_metadata",
    "new_view_metadata",
    "parse_metadata",
    "parse_table_requirements",
    "parse_table_updates",
    "parse_view_requirements",
    "parse_view_updates",
    "properties_difference",
    "properties_touched_by",
    "table_metadata_from_updates",
    "touched_by",
    "view_difference",
    "view_touched_by",
]
