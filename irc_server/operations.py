"""The table of operations: what is routed, what `/v1/config` says is served, and what `/openapi.json` describes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from starlette.responses import Response

from catalog_format.errors import (
    AlreadyExistsError,
    ConflictError,
    MissingFileError,
    NamespaceNotEmptyError,
    NoSuchFunctionError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    NoSuchWarehouseError,
    UnsupportedError,
)
from irc_server.call import Call
from irc_server.endpoints import config, functions, namespaces, tables, unserved, views
from irc_server.error_map import NotReadyError, UnprocessableError
from irc_server.wire.json_body import parse_as
from irc_server.wire.parameters import (
    IF_NONE_MATCH,
    PAGE_SIZE,
    PAGE_TOKEN,
    PARENT,
    PURGE_REQUESTED,
    SNAPSHOTS,
    WAREHOUSE,
    Parameter,
)
from irc_server.wire.requests import (
    CommitTableRequest,
    CommitTransactionRequest,
    CommitViewRequest,
    CreateNamespaceRequest,
    CreateTableRequest,
    CreateViewRequest,
    RegisterTableRequest,
    RegisterViewRequest,
    RenameRequest,
    ReportMetricsRequest,
    UpdateNamespacePropertiesRequest,
)
from irc_server.wire.results import (
    CatalogConfig,
    Health,
    ListFunctionsResult,
    ListNamespacesResult,
    ListTablesResult,
    LoadTableResult,
    LoadViewResult,
    NamespaceResult,
    Readiness,
    UnregisterTableResult,
    UpdateNamespacePropertiesResult,
)

T = TypeVar("T")
Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Taking(Generic[T]):
    """A handler with its request's body, read as `kind`."""

    handler: Callable[[Call, T], Awaitable[Response]]
    kind: type[T]
    adapter: TypeAdapter[T] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "adapter", TypeAdapter(self.kind))

    async def __call__(self, call: Call) -> Response:
        return await self.handler(call, parse_as(self.adapter, await call.request.body()))


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: its status, the type of its body (None: no body), whether it has an ETag."""

    status: int
    kind: Any = None
    etag: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. With `{prefix}` in its template, it is one of a catalog, and the path without it is served too."""

    name: str
    """As the specification calls it (`operationId`)."""
    method: str
    template: str
    handler: Handler
    summary: str = ""
    answer: Answer | None = None
    """None: it is in the specification and not served."""
    parameters: tuple[Parameter, ...] = ()
    """Of the query, and headers; those of the path are in the template."""
    refusals: tuple[type[Exception], ...] = ()
    """Errors beyond those that every operation may end with."""

    @property
    def of_catalog(self) -> bool:
        return "{prefix}" in self.template

    @property
    def writes(self) -> bool:
        return self.method not in {"GET", "HEAD"}


_CATALOG = "/v1/{prefix}"
_NAMESPACES = f"{_CATALOG}/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace}}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
_PLAN = f"{_TABLE}/plan/{{plan-id}}"
_VIEW = f"{_NAMESPACE}/views/{{view}}"
_PAGE = (PAGE_TOKEN, PAGE_SIZE)

_NOTHING = Answer(204)
_LOADED_TABLE = Answer(200, LoadTableResult, etag=True)
_LOADED_VIEW = Answer(200, LoadViewResult, etag=True)
_EXISTS = Answer(204, etag=True)
_NO_NAMESPACE, _NO_TABLE, _NO_VIEW = (NoSuchNamespaceError,), (NoSuchTableError,), (NoSuchViewError,)
# A writer is told by 409 that its transaction has ended.
_ENDED = (ConflictError,)
_MAKING = (NoSuchNamespaceError, AlreadyExistsError)

# Loads and commits come first: routes are tried in order.
OPERATIONS = (
    Operation(
        "loadTable",
        "GET",
        _TABLE,
        tables.load_table,
        "Load a table with its metadata",
        _LOADED_TABLE,
        (SNAPSHOTS, IF_NONE_MATCH),
        (NoSuchTableError, MissingFileError),
    ),
    Operation(
        "updateTable",
        "POST",
        _TABLE,
        Taking(tables.commit_table, CommitTableRequest),
        "Commit to a table, or make it with `assert-create`",
        _LOADED_TABLE,
        refusals=(NoSuchTableError, NoSuchNamespaceError, AlreadyExistsError, *_ENDED),
    ),
    Operation("tableExists", "HEAD", _TABLE, tables.table_exists, "Whether a table exists", _EXISTS, (SNAPSHOTS, IF_NONE_MATCH), _NO_TABLE),
    Operation(
        "dropTable", "DELETE", _TABLE, tables.drop_table, "Drop a table", _NOTHING, (PURGE_REQUESTED,), refusals=(*_NO_TABLE, *_ENDED)
    ),
    Operation(
        "unregisterTable",
        "POST",
        f"{_TABLE}/unregister",
        tables.unregister_table,
        "Let a table leave the catalog, its files untouched",
        Answer(200, UnregisterTableResult),
        refusals=(*_NO_TABLE, MissingFileError, *_ENDED),
    ),
    Operation(
        "reportMetrics",
        "POST",
        f"{_TABLE}/metrics",
        Taking(tables.report_metrics, ReportMetricsRequest),
        "Report metrics of a scan or a commit; they are not kept",
        _NOTHING,
    ),
    Operation(
        "listNamespaces",
        "GET",
        _NAMESPACES,
        namespaces.list_namespaces,
        "List the namespaces below another, or at the top",
        Answer(200, ListNamespacesResult),
        (PARENT, *_PAGE),
        _NO_NAMESPACE,
    ),
    Operation(
        "createNamespace",
        "POST",
        _NAMESPACES,
        Taking(namespaces.create_namespace, CreateNamespaceRequest),
        "Make a namespace, begin a transaction, or make the catalog",
        Answer(200, NamespaceResult),
        refusals=_MAKING,
    ),
    Operation(
        "loadNamespaceMetadata",
        "GET",
        _NAMESPACE,
        namespaces.load_namespace,
        "Load a namespace's properties",
        Answer(200, NamespaceResult),
        refusals=_NO_NAMESPACE,
    ),
    Operation(
        "namespaceExists",
        "HEAD",
        _NAMESPACE,
        namespaces.namespace_exists,
        "Whether a namespace exists",
        _NOTHING,
        refusals=_NO_NAMESPACE,
    ),
    Operation(
        "dropNamespace",
        "DELETE",
        _NAMESPACE,
        namespaces.drop_namespace,
        "Drop an empty namespace, or roll a transaction back",
        _NOTHING,
        refusals=(*_NO_NAMESPACE, NamespaceNotEmptyError, *_ENDED),
    ),
    Operation(
        "updateProperties",
        "POST",
        f"{_NAMESPACE}/properties",
        Taking(namespaces.update_properties, UpdateNamespacePropertiesRequest),
        "Set and remove a namespace's properties, or commit a transaction",
        Answer(200, UpdateNamespacePropertiesResult),
        refusals=(*_NO_NAMESPACE, UnsupportedError, UnprocessableError, *_ENDED),
    ),
    Operation(
        "listTables",
        "GET",
        f"{_NAMESPACE}/tables",
        tables.list_tables,
        "List a namespace's tables",
        Answer(200, ListTablesResult),
        _PAGE,
        _NO_NAMESPACE,
    ),
    Operation(
        "createTable",
        "POST",
        f"{_NAMESPACE}/tables",
        Taking(tables.create_table, CreateTableRequest),
        "Make a table, or only its metadata",
        _LOADED_TABLE,
        refusals=_MAKING,
    ),
    Operation(
        "registerTable",
        "POST",
        f"{_NAMESPACE}/register",
        Taking(tables.register_table, RegisterTableRequest),
        "Make a table from a metadata file",
        _LOADED_TABLE,
        refusals=(*_MAKING, MissingFileError, ConflictError),
    ),
    Operation(
        "renameTable",
        "POST",
        f"{_CATALOG}/tables/rename",
        Taking(tables.rename_table, RenameRequest),
        "Give a table another name, in any namespace",
        _NOTHING,
        refusals=(*_NO_TABLE, *_MAKING, *_ENDED),
    ),
    Operation(
        "commitTransaction",
        "POST",
        f"{_CATALOG}/transactions/commit",
        Taking(tables.commit_transaction, CommitTransactionRequest),
        "Commit to several tables, all or none",
        _NOTHING,
        refusals=(NoSuchTableError, NoSuchNamespaceError, AlreadyExistsError, *_ENDED),
    ),
    Operation(
        "listViews",
        "GET",
        f"{_NAMESPACE}/views",
        views.list_views,
        "List a namespace's views",
        Answer(200, ListTablesResult),
        _PAGE,
        _NO_NAMESPACE,
    ),
    Operation(
        "createView",
        "POST",
        f"{_NAMESPACE}/views",
        Taking(views.create_view, CreateViewRequest),
        "Make a view",
        _LOADED_VIEW,
        refusals=_MAKING,
    ),
    Operation(
        "registerView",
        "POST",
        f"{_NAMESPACE}/register-view",
        Taking(views.register_view, RegisterViewRequest),
        "Make a view from a metadata file",
        _LOADED_VIEW,
        refusals=(*_MAKING, MissingFileError),
    ),
    Operation(
        "loadView",
        "GET",
        _VIEW,
        views.load_view,
        "Load a view with its metadata",
        _LOADED_VIEW,
        (IF_NONE_MATCH,),
        (NoSuchViewError, MissingFileError),
    ),
    Operation(
        "replaceView",
        "POST",
        _VIEW,
        Taking(views.replace_view, CommitViewRequest),
        "Commit to a view",
        _LOADED_VIEW,
        refusals=(*_NO_VIEW, *_ENDED),
    ),
    Operation("viewExists", "HEAD", _VIEW, views.view_exists, "Whether a view exists", _EXISTS, (IF_NONE_MATCH,), _NO_VIEW),
    Operation("dropView", "DELETE", _VIEW, views.drop_view, "Drop a view", _NOTHING, refusals=(*_NO_VIEW, *_ENDED)),
    Operation(
        "renameView",
        "POST",
        f"{_CATALOG}/views/rename",
        Taking(views.rename_view, RenameRequest),
        "Give a view another name, in any namespace",
        _NOTHING,
        refusals=(*_NO_VIEW, *_MAKING, *_ENDED),
    ),
    Operation(
        "listFunctions",
        "GET",
        f"{_NAMESPACE}/functions",
        functions.list_functions,
        "List a namespace's functions",
        Answer(200, ListFunctionsResult),
        _PAGE,
        _NO_NAMESPACE,
    ),
    Operation(
        "loadFunction",
        "GET",
        f"{_NAMESPACE}/functions/{{function}}",
        functions.load_function,
        "Load a function; there are none yet",
        Answer(200),
        refusals=(NoSuchNamespaceError, NoSuchFunctionError),
    ),
    Operation(
        "getConfig",
        "GET",
        "/v1/config",
        config.config,
        "What a client needs to know before anything else",
        Answer(200, CatalogConfig),
        (WAREHOUSE,),
        (NoSuchWarehouseError, NoSuchNamespaceError),
    ),
    Operation("getDocument", "GET", "/openapi.json", config.document, "This document", Answer(200, dict[str, Any])),
    Operation("getHealth", "GET", "/healthz", config.healthz, "Whether the process lives", Answer(200, Health)),
    Operation(
        "getReadiness",
        "GET",
        "/readyz",
        config.readyz,
        "Whether every catalog can be read",
        Answer(200, Readiness),
        refusals=(NotReadyError,),
    ),
    Operation("planTableScan", "POST", f"{_TABLE}/plan", unserved.refuse_to_plan),
    Operation("fetchPlanningResult", "GET", _PLAN, unserved.refuse_planning),
    Operation("cancelPlanning", "DELETE", _PLAN, unserved.refuse_planning),
    Operation("fetchScanTasks", "POST", f"{_TABLE}/tasks", unserved.refuse_planning),
    Operation("loadCredentials", "GET", f"{_TABLE}/credentials", unserved.refuse_credentials),
    Operation("signRequest", "POST", f"{_TABLE}/sign", unserved.refuse_signing),
    Operation("getToken", "POST", "/v1/oauth/tokens", unserved.refuse_tokens),
)

SERVED = tuple(operation for operation in OPERATIONS if operation.answer is not None)
ENDPOINTS = tuple(f"{operation.method} {operation.template}" for operation in SERVED if operation.of_catalog)
