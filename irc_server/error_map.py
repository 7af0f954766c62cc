"""Errors on the wire: the one place that maps them to HTTP."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from catalog_format import errors

# (status, IRC type) by class; a class that is not named is found through its bases.
_TABLE: dict[type[Exception], tuple[int, str]] = {
    # Nothing was tried. Never 503: a client takes that for an unknown outcome of a commit.
    errors.RetryLater: (429, "ServiceUnavailableException"),
    errors.BadRequest: (400, "BadRequestException"),
    errors.InvalidArgumentError: (400, "BadRequestException"),
    errors.UnsupportedError: (406, "UnsupportedOperationException"),
    errors.ReadOnlyError: (403, "ForbiddenException"),
    errors.NotFoundError: (404, "NotFoundException"),
    errors.NoSuchNamespaceError: (404, "NoSuchNamespaceException"),
    errors.NoSuchTableError: (404, "NoSuchTableException"),
    errors.NoSuchViewError: (404, "NoSuchViewException"),
    errors.NoSuchVersionError: (404, "NotFoundException"),
    errors.NoSuchTransactionError: (404, "NoSuchNamespaceException"),
    errors.NoSuchWarehouseError: (404, "NotFoundException"),
    errors.MissingFileError: (404, "NotFoundException"),
    errors.AlreadyExistsError: (409, "AlreadyExistsException"),
    errors.NamespaceNotEmptyError: (409, "NamespaceNotEmptyException"),
    errors.ConflictError: (409, "CommitFailedException"),
    errors.TransactionEndedError: (409, "CommitFailedException"),
    # Definite failures that retrying does not mend.
    errors.GiveUp: (500, "InternalServerError"),
    errors.StoreDeniedError: (403, "ForbiddenException"),
    errors.StoreFullError: (507, "ServiceFailureException"),
    # The only 5xx that a healthy catalog gives to a commit.
    errors.UnknownOutcomeError: (500, "CommitStateUnknownException"),
}


class NotAuthorizedError(Exception):
    """No token, or a wrong one."""


class PayloadTooLargeError(Exception):
    """The request's body is over the limit."""


_TABLE[NotAuthorizedError] = (401, "NotAuthorizedException")
_TABLE[PayloadTooLargeError] = (413, "BadRequestException")


def status_and_type(error: Exception) -> tuple[int, str]:
    """HTTP status and the type that clients know, of any exception."""
    for kind in type(error).__mro__:
        if kind in _TABLE:
            return _TABLE[kind]
    return (500, "InternalServerError")


def error_body(message: str, kind: str, status: int) -> bytes:
    """The body that the specification wants: message, type and code, all three."""
    return orjson.dumps({"error": {"message": message, "type": kind, "code": status}})


def error_response(error: Exception, *, with_body: bool = True) -> Response:
    """The answer to a request that failed."""
    status, kind = status_and_type(error)
    headers = {}
    if isinstance(error, errors.RetryLater):
        headers["Retry-After"] = str(max(1, round(error.retry_after_seconds)))
    if isinstance(error, NotAuthorizedError):
        headers["WWW-Authenticate"] = "Bearer"
    body = error_body(str(error) or type(error).__name__, kind, status) if with_body else b""
    return Response(body, status, headers, "application/json")
