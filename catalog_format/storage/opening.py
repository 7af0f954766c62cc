"""From a URL to a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from catalog_format.errors import InvalidArgumentError
from catalog_format.storage.dialects import AzureDialect, GcsDialect, S3Dialect
from catalog_format.storage.fsspec_store import FsspecStorage
from catalog_format.storage.local import LocalStorage
from catalog_format.storage.memory import MemoryStorage
from catalog_format.storage.names import check_folder, check_path
from catalog_format.storage.protocol import Storage

# Several spellings of one place: Hadoop writes s3a and s3n.
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "az": "abfss"}

_memory: dict[str, MemoryStorage] = {}


def open_storage(url: str, options: Mapping[str, str] | None = None) -> Storage:
    """The store whose root is `url`. Nothing is requested yet; object stores connect on first use, on that event loop.

    `url`: a local path, `file:///path`, `memory://name` (one store per name and process), `s3://bucket/prefix`,
    `gs://bucket/prefix`, `abfss://container@account.dfs.core.windows.net/prefix`.
    `options`: the names that Iceberg clients use, such as `s3.endpoint`, `s3.region`, `s3.path-style-access`,
    `s3.access-key-id`, `s3.secret-access-key`; what is not given comes from the provider's usual environment.
    Raises `InvalidArgumentError` for a URL or option that makes no sense.
    """
    scheme, authority, path = split_location(url)
    path = path.rstrip("/")
    try:
        check_folder(path)
    except ValueError as error:
        raise InvalidArgumentError(f"{url!r} is no root for a store: {error}") from error
    return _open(scheme, authority, path, options or {})


def split_location(location: str) -> tuple[str, str, str]:
    """(scheme, authority, path without leading "/") of a path or URL, several spellings of one place made equal.

    Java writes `file:/x`, others `file:///x`, users `/x` or `x`; nothing is percent-decoded, as engines do not either.
    """
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return "file", "", os.path.abspath(location).lstrip("/")  # noqa: PTH100 - symbolic links stay as the user wrote them
    scheme = scheme.lower()
    authority, path = "", rest
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
    scheme = _SAME_SCHEME.get(scheme, scheme)
    if scheme not in _OPENERS:
        raise InvalidArgumentError(f"{location!r}: unknown scheme {scheme!r}; known are plain paths and {', '.join(_OPENERS)}")
    if scheme == "file":
        if authority not in {"", "localhost"}:
            raise InvalidArgumentError(f"{location!r}: a file URL needs three slashes, as in file:///{authority}/{path}")
        if not rest.startswith("/"):
            raise InvalidArgumentError(f"{location!r}: a file URL needs an absolute path")
        authority, path = "", path.lstrip("/")
    elif not authority:
        raise InvalidArgumentError(f"{location!r} names no bucket: such URLs look like {scheme}://name/path")
    return scheme, authority, path


class StorageResolver:
    """Finds the store for absolute locations, such as those of table metadata outside the catalog's root.

    One store for each local file system, memory name or bucket; they are made once and closed together.
    """

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = dict(options or {})
        self._stores: dict[tuple[str, str], Storage] = {}

    def resolve(self, location: str) -> tuple[Storage, str]:
        """(store, path below its root) of one file. Raises `InvalidArgumentError` if the location names none."""
        scheme, authority, path = split_location(location)
        try:
            check_path(path)
        except ValueError as error:
            raise InvalidArgumentError(f"{location!r} names no file: {error}") from error
        store = self._stores.get((scheme, authority))
        if store is None:
            store = self._stores[scheme, authority] = _open(scheme, authority, "", self._options)
        return store, path

    async def close(self) -> None:
        """Close every store that was made."""
        stores, self._stores = self._stores, {}
        for store in stores.values():
            await store.close()


def _open_local(authority: str, path: str, options: Mapping[str, str]) -> Storage:
    return LocalStorage(f"/{path}")


def _open_memory(authority: str, path: str, options: Mapping[str, str]) -> Storage:
    if path:
        raise InvalidArgumentError(f"memory://{authority}/{path}: a store in memory has a name and no folders, as in memory://{authority}")
    return _memory.setdefault(authority, MemoryStorage(authority))


def _open_s3(authority: str, path: str, options: Mapping[str, str]) -> Storage:
    return FsspecStorage(_url("s3", authority, path), authority, path, S3Dialect(options))


def _open_gcs(authority: str, path: str, options: Mapping[str, str]) -> Storage:
    return FsspecStorage(_url("gs", authority, path), authority, path, GcsDialect(options))


def _open_azure(authority: str, path: str, options: Mapping[str, str]) -> Storage:
    container, _, host = authority.partition("@")
    return FsspecStorage(_url("abfss", authority, path), container, path, AzureDialect(options, host.partition(".")[0]))


def _url(scheme: str, authority: str, path: str) -> str:
    return f"{scheme}://{authority}/{path}".rstrip("/")


_OPENERS: dict[str, Callable[[str, str, Mapping[str, str]], Storage]] = {
    "file": _open_local,
    "memory": _open_memory,
    "s3": _open_s3,
    "gs": _open_gcs,
    "abfss": _open_azure,
}


def _open(scheme: str, authority: str, path: str, options: Mapping[str, str]) -> Storage:
    return _OPENERS[scheme](authority, path, options)
