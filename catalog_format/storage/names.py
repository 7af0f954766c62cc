"""Which paths every store accepts, so that what works on one works on all."""

from __future__ import annotations

import re

# Unfinished files of a local store begin with this; `list` never shows them.
TEMPORARY_PREFIX = ".tmp-"

# Nearly all paths are of this form, which is seen much faster than that nothing refused is in them.
_PLAIN = re.compile(r"[A-Za-z0-9_=%-][A-Za-z0-9_=%.-]*(?:/[A-Za-z0-9_=%-][A-Za-z0-9_=%.-]*)*")
# s3fs cuts a name off at "?versionId=", whoever meant it or not: two names would be one. Control characters make the
# listings of some services unreadable, as XML cannot carry them.
_REFUSED = re.compile(r"^$|^/|/$|(?:^|/)(?:\.{1,2}(?:/|$)|\.tmp-)|[\x00-\x1f\x7f]|\?versionId=")


def check_path(path: str) -> str:
    """Return `path` if it names a file below a store's root, else raise `ValueError`.

    Refused: empty, absolute, a trailing "/", the levels "." and "..", control characters, levels that begin with
    `.tmp-`, and `?versionId=`.
    """
    if not _PLAIN.fullmatch(path) and _REFUSED.search(path):
        raise ValueError(
            f"{path!r} is not a path below a store's root (levels joined by '/', not absolute, no '.' or '..', no control characters)"
        )
    return path


def check_folder(prefix: str) -> str:
    """Return `prefix` if it names a folder below a store's root or is "" (the root itself), else raise `ValueError`."""
    return prefix and check_path(prefix)
