"""Bodies of requests: the types by which they are read, and which the document shows.

Unknown members are ignored, and null stands for absent. What the catalog reads itself is taken as any JSON object.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from catalog_format.keys import Identifier
from irc_server.wire.described import DescribedAs, Json, Levels, Properties, StopAtFirst
from irc_server.wire.iceberg import (
    PartitionSpec,
    Schema,
    SortOrder,
    TableRequirement,
    TableUpdate,
    ViewRequirement,
    ViewUpdate,
    ViewVersion,
)

TableRequirements = Annotated[list[TableRequirement], StopAtFirst()]
TableUpdates = Annotated[list[TableUpdate], StopAtFirst()]


class TableIdentifier(TypedDict):
    namespace: Annotated[Levels, Field(min_length=1)]
    name: str


class CreateNamespaceRequest(TypedDict):
    namespace: Annotated[Levels, Field(min_length=1)]
    properties: NotRequired[Properties | None]


class UpdateNamespacePropertiesRequest(TypedDict):
    removals: NotRequired[Levels | None]
    updates: NotRequired[Properties | None]


CreateTableRequest = TypedDict(
    "CreateTableRequest",
    {
        "name": str,
        "schema": Annotated[Json, DescribedAs(Schema)],
        "partition-spec": NotRequired[Annotated[Json, DescribedAs(PartitionSpec)] | None],
        "write-order": NotRequired[Annotated[Json, DescribedAs(SortOrder)] | None],
        "location": NotRequired[str | None],
        "properties": NotRequired[Properties | None],
        "stage-create": NotRequired[bool | None],
    },
)
RegisterTableRequest = TypedDict("RegisterTableRequest", {"name": str, "metadata-location": str, "overwrite": NotRequired[bool | None]})


class CommitTableRequest(TypedDict):
    requirements: TableRequirements
    updates: TableUpdates


class TableChange(TypedDict):
    identifier: TableIdentifier
    requirements: TableRequirements
    updates: TableUpdates


CommitTransactionRequest = TypedDict(
    "CommitTransactionRequest", {"table-changes": Annotated[list[TableChange], StopAtFirst(), Field(min_length=1)]}
)


class RenameRequest(TypedDict):
    source: TableIdentifier
    destination: TableIdentifier


ReportMetricsRequest = TypedDict("ReportMetricsRequest", {"report-type": str})

CreateViewRequest = TypedDict(
    "CreateViewRequest",
    {
        "name": str,
        "schema": Annotated[Json, DescribedAs(Schema)],
        "view-version": Annotated[Json, DescribedAs(ViewVersion)],
        "location": NotRequired[str | None],
        "properties": NotRequired[Properties | None],
    },
)
RegisterViewRequest = TypedDict("RegisterViewRequest", {"name": str, "metadata-location": str})


class CommitViewRequest(TypedDict):
    requirements: NotRequired[Annotated[list[ViewRequirement], StopAtFirst()] | None]
    updates: Annotated[list[ViewUpdate], StopAtFirst()]


def levels_of(identifier: TableIdentifier) -> Identifier:
    """The levels of a name, its own last."""
    return (*identifier["namespace"], identifier["name"])
