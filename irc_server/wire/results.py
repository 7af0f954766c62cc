"""Bodies of answers: the types that handlers build, and which the document shows."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from irc_server.wire.iceberg import TableMetadata, ViewMetadata
from irc_server.wire.requests import TableIdentifier

Text = dict[str, str]

CatalogConfig = TypedDict("CatalogConfig", {"defaults": Text, "overrides": Text, "endpoints": list[str], "idempotency-key-lifetime": str})


class NamespaceResult(TypedDict):
    namespace: list[str]
    properties: Text


class UpdateNamespacePropertiesResult(TypedDict):
    updated: list[str]
    removed: list[str]
    missing: list[str]


ListNamespacesResult = TypedDict("ListNamespacesResult", {"namespaces": list[list[str]], "next-page-token": str | None})
ListTablesResult = TypedDict("ListTablesResult", {"identifiers": list[TableIdentifier], "next-page-token": str | None})
ListFunctionsResult = TypedDict("ListFunctionsResult", {"identifiers": list[list[str]], "next-page-token": str | None})
LoadTableResult = TypedDict("LoadTableResult", {"metadata-location": NotRequired[str], "metadata": TableMetadata, "config": Text})
UnregisterTableResult = TypedDict("UnregisterTableResult", {"metadata-location": str, "metadata": TableMetadata})
LoadViewResult = TypedDict("LoadViewResult", {"metadata-location": str, "metadata": ViewMetadata, "config": Text})


class Health(TypedDict):
    status: str


class Readiness(TypedDict):
    status: str
    versions: dict[str, int | None]


class ErrorModel(TypedDict):
    message: str
    type: str
    code: int


class ErrorResult(TypedDict):
    error: ErrorModel
