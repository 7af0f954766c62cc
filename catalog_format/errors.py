"""Every error of Treeline, grouped by what the caller should do about it.

    TreelineError
    ├── RetryLater              nothing was tried: try again after a pause
    │   ├── StoreThrottledError
    │   ├── StoreUnavailableError
    │   └── ContendedError
    ├── BadRequest              fix the request
    │   ├── InvalidArgumentError
    │   │   └── InvalidViewVersionError
    │   ├── UnsupportedError
    │   ├── ReadOnlyError
    │   ├── NotFoundError
    │   │   ├── NoSuchNamespaceError
    │   │   ├── NoSuchTableError
    │   │   ├── NoSuchViewError
    │   │   ├── NoSuchFunctionError
    │   │   ├── NoSuchVersionError
    │   │   ├── NoSuchTransactionError
    │   │   ├── NoSuchWarehouseError
    │   │   └── MissingFileError
    │   ├── AlreadyExistsError
    │   └── NamespaceNotEmptyError
    ├── ConflictError           proven: read again, then decide
    │   ├── RequirementFailedError
    │   ├── TransactionRefusedError
    │   └── TransactionEndedError
    ├── GiveUp                  retrying does not help; somebody must look
    │   ├── CorruptFileError
    │   │   └── LostFileError
    │   ├── NotACatalogError
    │   ├── NewerFormatError
    │   ├── StoreDeniedError
    │   ├── StoreFullError
    │   └── ClockSkewError
    └── UnknownOutcomeError     the write may or may not have happened

`kind` is a stable machine-readable code, one a class; the HTTP layer maps classes, never messages.
"""

from __future__ import annotations

from typing import ClassVar


class TreelineError(Exception):
    """Base of all errors. The message names the object and what to do."""

    kind: ClassVar[str] = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RetryLater(TreelineError):
    """Nothing was tried; the same request may succeed after a pause."""

    kind = "retry-later"

    def __init__(self, message: str, retry_after_seconds: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StoreThrottledError(RetryLater):
    """The store asked for fewer requests, before anything was written."""

    kind = "store-throttled"


class StoreUnavailableError(RetryLater):
    """The store could not be reached for something that changes nothing, or before anything was published."""

    kind = "store-unavailable"


class ContendedError(RetryLater):
    """Other writers won every turn until the deadline; surely nothing was published."""

    kind = "contended"


class BadRequest(TreelineError):
    """The request cannot succeed as it stands."""

    kind = "bad-request"


class InvalidArgumentError(BadRequest):
    """A value is malformed, unknown or out of range."""

    kind = "invalid-argument"


class InvalidViewVersionError(InvalidArgumentError):
    """A version of a view contradicts itself: two queries in one dialect."""

    kind = "invalid-view-version"


class UnsupportedError(BadRequest):
    """Understood, and not offered here."""

    kind = "unsupported"


class ReadOnlyError(BadRequest):
    """A write to something that cannot change, such as a past version."""

    kind = "read-only"


class NotFoundError(BadRequest):
    """The named object does not exist in the version that was read."""

    kind = "not-found"


class NoSuchNamespaceError(NotFoundError):
    kind = "no-such-namespace"


class NoSuchTableError(NotFoundError):
    kind = "no-such-table"


class NoSuchViewError(NotFoundError):
    kind = "no-such-view"


class NoSuchFunctionError(NotFoundError):
    kind = "no-such-function"


class NoSuchVersionError(NotFoundError):
    kind = "no-such-version"


class NoSuchTransactionError(NotFoundError):
    kind = "no-such-transaction"


class NoSuchWarehouseError(NotFoundError):
    kind = "no-such-warehouse"


class MissingFileError(NotFoundError):
    """A file that the catalog names (a metadata file, say) is gone from the store."""

    kind = "missing-file"


class AlreadyExistsError(BadRequest):
    """The name is taken, by an object of this type or of a type that shares names with it."""

    kind = "already-exists"


class NamespaceNotEmptyError(BadRequest):
    kind = "namespace-not-empty"


class ConflictError(TreelineError):
    """Proven: what the change was built on is no longer so. Nothing was applied."""

    kind = "conflict"


class RequirementFailedError(ConflictError):
    """A requirement stated with the change does not hold."""

    kind = "requirement-failed"


class TransactionRefusedError(ConflictError):
    """A transaction was refused for good; its message names object, rivals and rule."""

    kind = "transaction-refused"


class TransactionEndedError(ConflictError):
    """The transaction has ended (committed, rolled back, expired) or is sealed: nothing can be added."""

    kind = "transaction-ended"


class GiveUp(TreelineError):
    """Retrying does not help: the store or the catalog needs somebody's attention."""

    kind = "give-up"


class CorruptFileError(GiveUp):
    """A file of the catalog is truncated, altered or missing."""

    kind = "corrupt-file"


class LostFileError(CorruptFileError):
    """A node or definition that a version names is not there: damage, unless that version was given up meanwhile."""

    kind = "lost-file"


class NotACatalogError(GiveUp):
    """The root holds no catalog (or something else)."""

    kind = "not-a-catalog"


class NewerFormatError(GiveUp):
    """Written by a newer Treeline than this one."""

    kind = "newer-format"


class StoreDeniedError(GiveUp):
    """The store refused access."""

    kind = "store-denied"


class StoreFullError(GiveUp):
    """The store has no room; nothing was written."""

    kind = "store-full"


class ClockSkewError(GiveUp):
    """This machine's clock is far from the store's; nothing was written."""

    kind = "clock-skew"


class UnknownOutcomeError(TreelineError):
    """Nobody can tell whether the write took effect. Never reported as success or as conflict."""

    kind = "unknown-outcome"
