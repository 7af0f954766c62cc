"""Definitions of the catalog's objects: dataclasses for the code, protobuf for the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog_format.pb import catalog_pb2 as pb


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """When nodes split and when the write buffer is flushed. Bytes count keys and values; rows count entries."""

    node_bytes: int = 64 * 1024
    node_rows: int = 4096
    buffer_bytes: int = 48 * 1024
    buffer_rows: int = 512
    inline_bytes: int = 4 * 1024


@dataclass(frozen=True, slots=True)
class CatalogDefinition:
    """What every root says of its catalog."""

    catalog_id: str
    created_at_ms: int
    properties: Mapping[str, str] = field(default_factory=dict)
    limits: TreeLimits = TreeLimits()

    def to_bytes(self) -> bytes:
        limits = pb.TreeLimits(
            node_bytes=self.limits.node_bytes,
            node_rows=self.limits.node_rows,
            buffer_bytes=self.limits.buffer_bytes,
            buffer_rows=self.limits.buffer_rows,
            inline_bytes=self.limits.inline_bytes,
        )
        message = pb.CatalogDefinition(
            catalog_id=self.catalog_id, created_at_ms=self.created_at_ms, properties=dict(self.properties), limits=limits
        )
        return message.SerializeToString(deterministic=True)

    @staticmethod
    def from_bytes(data: bytes) -> CatalogDefinition:
        message = pb.CatalogDefinition.FromString(data)
        limits = TreeLimits(
            node_bytes=message.limits.node_bytes,
            node_rows=message.limits.node_rows,
            buffer_bytes=message.limits.buffer_bytes,
            buffer_rows=message.limits.buffer_rows,
            inline_bytes=message.limits.inline_bytes,
        )
        return CatalogDefinition(message.catalog_id, message.created_at_ms, dict(message.properties), limits)


@dataclass(frozen=True, slots=True)
class NamespaceDefinition:
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return pb.NamespaceDefinition(properties=dict(self.properties)).SerializeToString(deterministic=True)

    @staticmethod
    def from_bytes(data: bytes) -> NamespaceDefinition:
        return NamespaceDefinition(dict(pb.NamespaceDefinition.FromString(data).properties))


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table: its UUID and where its current metadata file lies (relative to the root as `./…`, or absolute)."""

    table_uuid: str
    metadata_location: str

    def to_bytes(self) -> bytes:
        message = pb.TableDefinition(table_uuid=self.table_uuid, metadata_location=self.metadata_location)
        return message.SerializeToString(deterministic=True)

    @staticmethod
    def from_bytes(data: bytes) -> TableDefinition:
        message = pb.TableDefinition.FromString(data)
        return TableDefinition(message.table_uuid, message.metadata_location)


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A view: its UUID and where its current metadata file lies (relative to the root as `./…`, or absolute)."""

    view_uuid: str
    metadata_location: str

    def to_bytes(self) -> bytes:
        return pb.ViewDefinition(view_uuid=self.view_uuid, metadata_location=self.metadata_location).SerializeToString(deterministic=True)

    @staticmethod
    def from_bytes(data: bytes) -> ViewDefinition:
        message = pb.ViewDefinition.FromString(data)
        return ViewDefinition(message.view_uuid, message.metadata_location)
