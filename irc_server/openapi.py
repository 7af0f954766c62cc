"""`/openapi.json`: the table of operations and the types of bodies, in OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import orjson
from pydantic import TypeAdapter

from catalog_format.errors import (
    GiveUp,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchVersionError,
    NoSuchWarehouseError,
    ReadOnlyError,
    RetryLater,
    StoreDeniedError,
    StoreFullError,
    UnknownOutcomeError,
)
from irc_server.error_map import NotAuthorizedError, PayloadTooLargeError, status_and_type
from irc_server.operations import SERVED, Operation, Taking
from irc_server.wire.parameters import IDEMPOTENCY_KEY, IF_NONE_MATCH, PATH
from irc_server.wire.results import ErrorResult

Json = dict[str, Any]
_LEVEL = re.compile(r"{([\w-]+)}")
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Names this state and form of the object; send it as If-None-Match"}}
_PAUSE = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait; nothing was tried"}}

_OF_CATALOGS = (InvalidArgumentError, StoreDeniedError, NoSuchWarehouseError, NoSuchVersionError, NoSuchNamespaceError, RetryLater, GiveUp)
_OF_WRITES = (ReadOnlyError, UnknownOutcomeError, StoreFullError)


@cache
def document() -> bytes:
    """The document, as JSON."""
    found, components = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(kind)) for kind in _kinds()], ref_template="#/components/schemas/{model}"
    )
    schemas = {kind: schema for (kind, _), schema in found.items()}
    paths: dict[str, Json] = {}
    for operation in SERVED:
        paths.setdefault(operation.template, {})[operation.method.lower()] = _described(operation, schemas)
    return orjson.dumps(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Treeline",
                "summary": "An Iceberg REST catalog",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
                "version": version("treeline-catalog"),
            },
            "security": [{}, {"token": []}],
            "paths": paths,
            "components": {
                "schemas": components["$defs"],
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "If the server was given one"}},
            },
        },
        option=orjson.OPT_INDENT_2,
    )


def _kinds() -> Iterable[Any]:
    """Every type of a body, once."""
    asked = [operation.handler.kind for operation in SERVED if isinstance(operation.handler, Taking)]
    answered = [operation.answer.kind for operation in SERVED if operation.answer is not None and operation.answer.kind is not None]
    return dict.fromkeys([ErrorResult, *asked, *answered])


def _described(operation: Operation, schemas: dict[Any, Json]) -> Json:
    assert operation.answer is not None
    headers = [IDEMPOTENCY_KEY] if operation.writes else []
    parameters = [*(PATH[name] for name in _LEVEL.findall(operation.template)), *operation.parameters, *headers]
    answer: Json = {"description": "Done"}
    if operation.answer.kind is not None:
        answer["content"] = _json(schemas[operation.answer.kind])
    if operation.answer.etag:
        answer["headers"] = _ETAG
    responses: dict[str, Json] = {str(operation.answer.status): answer}
    if IF_NONE_MATCH in operation.parameters:
        responses["304"] = {"description": "The client has it already", "headers": _ETAG}
    error = None if operation.method == "HEAD" else schemas[ErrorResult]
    responses |= _refusals(operation, error)
    described: Json = {"operationId": operation.name, "summary": operation.summary, "parameters": [it.document for it in parameters]}
    if isinstance(operation.handler, Taking):
        described["requestBody"] = {"required": True, "content": _json(schemas[operation.handler.kind])}
    return {**described, "responses": responses}


def _refusals(operation: Operation, schema: Json | None) -> dict[str, Json]:
    """What an operation may end with besides success, by status."""
    types: dict[int, list[str]] = {}
    for error in _errors_of(operation):
        status, kind = status_and_type(error("described"))
        if kind not in types.setdefault(status, []):
            types[status].append(kind)
    described: dict[str, Json] = {}
    for status, kinds in sorted(types.items()):
        response: Json = {"description": f"{HTTPStatus(status).phrase}: {', '.join(kinds)}"}
        if schema is not None:
            response["content"] = _json(schema)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            response["headers"] = _PAUSE
        described[str(status)] = response
    return described


def _errors_of(operation: Operation) -> Iterable[type[Exception]]:
    yield from operation.refusals
    yield NotAuthorizedError
    if operation.of_catalog or operation.template.startswith("/v1/"):
        yield from _OF_CATALOGS
    if operation.writes:
        yield from _OF_WRITES
        # A body that is too large is refused even where none is asked for.
        yield PayloadTooLargeError


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
