"""Errors on the wire: the one place that maps them to HTTP."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from catalog_format import errors


class NotAuthorizedError(Exception):
    """No token, or a wrong one."""


class PayloadTooLargeError(Exception):
    """The request's body is over the limit."""


class UnprocessableError(errors.InvalidArgumentError):
    """Each part is well-formed and together they contradict each other."""


class RouteNotFoundError(Exception):
    """No operation has this path."""


class MethodNotAllowedError(Exception):
    """The path exists, with other methods."""


class NotOfferedError(Exception):
    """An operation of the specification that this server leaves out."""


class NotReadyError(Exception):
    """A root's latest version could not be read within reach."""


# (status, IRC type) by class; a class that is not named is found through its bases. On commits clients take 500, 502, 503
# and 504 for an unknown outcome and anything else for a definite failure, after which they may delete what they wrote.
STATUS_AND_TYPE: dict[type[Exception], tuple[int, str]] = {
    # Nothing was tried, and a pause helps: never 503.
    errors.RetryLater: (429, "TooManyRequestsException"),
    errors.BadRequest: (400, "BadRequestException"),
    # Java throws what its own builder of views would; a table's stay as they are, for then it deletes the manifests it wrote.
    errors.InvalidViewVersionError: (400, "IllegalArgumentException"),
    errors.UnsupportedError: (406, "UnsupportedOperationException"),
    # Java and PyIceberg have an error of their own for 403, which shows the message; 400 would blame the request's form.
    errors.ReadOnlyError: (403, "ForbiddenException"),
    errors.NotFoundError: (404, "NotFoundException"),
    errors.NoSuchNamespaceError: (404, "NoSuchNamespaceException"),
    errors.NoSuchTableError: (404, "NoSuchTableException"),
    errors.NoSuchViewError: (404, "NoSuchViewException"),
    errors.NoSuchFunctionError: (404, "NoSuchFunctionException"),
    errors.NoSuchVersionError: (404, "NoSuchWarehouseException"),
    errors.NoSuchTransactionError: (404, "NoSuchNamespaceException"),
    errors.NoSuchWarehouseError: (404, "NoSuchWarehouseException"),
    errors.AlreadyExistsError: (409, "AlreadyExistsException"),
    errors.NamespaceNotEmptyError: (409, "NamespaceNotEmptyException"),
    errors.ConflictError: (409, "CommitFailedException"),
    # Somebody must look. What may hide a change that took effect stays "unknown"; the others are known to have done nothing.
    errors.GiveUp: (500, "ServiceFailureException"),
    errors.StoreDeniedError: (403, "ForbiddenException"),
    errors.StoreFullError: (507, "ServiceFailureException"),
    # "Not at this server": another one's clock may be right.
    errors.ClockSkewError: (421, "ServiceFailureException"),
    errors.UnknownOutcomeError: (500, "CommitStateUnknownException"),
    NotAuthorizedError: (401, "NotAuthorizedException"),
    PayloadTooLargeError: (413, "BadRequestException"),
    UnprocessableError: (422, "UnprocessableEntityException"),
    RouteNotFoundError: (404, "NotFoundException"),
    MethodNotAllowedError: (405, "UnsupportedOperationException"),
    NotOfferedError: (501, "UnsupportedOperationException"),
    NotReadyError: (503, "ServiceUnavailableException"),
}

# Messages quote what was sent; nobody reads more.
_LONGEST_MESSAGE = 4000
_UNFORESEEN = (500, "InternalServerError")


def status_and_type(error: Exception) -> tuple[int, str]:
    """HTTP status and the type that clients know, of any exception."""
    for kind in type(error).__mro__:
        if kind in STATUS_AND_TYPE:
            return STATUS_AND_TYPE[kind]
    return _UNFORESEEN


def foreseen(error: Exception) -> bool:
    """Whether the error is one of the server's own; any other is a defect, and its text is for the log only."""
    return status_and_type(error) is not _UNFORESEEN


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
    if not with_body:
        return Response(None, status, headers)
    message = str(error) if foreseen(error) else "The server failed; its log says why (look for this answer's x-request-id)"
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + "…"
    return Response(error_body(message or type(error).__name__, kind, status), status, headers, "application/json")
