"""Object stores through asynchronous fsspec file systems.

Every verb is one request (a listing: one a page). On S3 no write is ever sent twice by one call. gcsfs and Azure's client
repeat requests and cannot be told otherwise; there a False of `put_if_absent` may also mean "this very call created it".
Whoever must know reads back and compares, after a False as after an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, NamedTuple, Protocol

from catalog_format.errors import NotACatalogError, StoreDeniedError, StoreFullError, StoreThrottledError, UnsupportedError
from catalog_format.storage.names import check_folder, check_path
from catalog_format.storage.protocol import Page


class Answer(NamedTuple):
    """What the service said: the HTTP status and its own error code (None if it gave none)."""

    status: int | None
    code: str | None


class Dialect(Protocol):
    """What differs between services behind fsspec's common methods. Names are `bucket/key`."""

    # Passed to every write besides the mode.
    write_options: dict[str, Any]

    def file_system(self, loop: asyncio.AbstractEventLoop) -> Any:
        """A new file system of this service, bound to the running loop; it connects by itself."""
        ...

    async def exists(self, file_system: Any, name: str) -> bool:
        """By one request. fsspec's own `_exists` sends a second one to look for a folder of that name."""
        ...

    def pages(self, file_system: Any, folder: str) -> AsyncGenerator[Page, None]:
        """Names of all files below the folder, and perhaps others, as many at once as the service gives."""
        ...

    async def clock_ms(self, file_system: Any, name: str) -> int | None:
        """The service's time by one request about a file that may be missing; None if the client does not show it."""
        ...

    async def close(self, file_system: Any) -> None: ...

    def answer(self, error: BaseException) -> Answer | None:
        """What the service answered, if this error is one of the service's own."""
        ...

    def refused_locally(self, error: BaseException) -> bool:
        """Whether the client sent nothing, because it has no credentials."""
        ...


_THROTTLED = frozenset({"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "ServerBusy"})
_FULL = frozenset({"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded", "InsufficientCapacity"})
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"})


class FsspecStorage:
    """A bucket, or a folder in one. Connects on first use and stays on that event loop."""

    def __init__(self, url: str, bucket: str, folder: str, dialect: Dialect) -> None:
        """`url`: the root's, without a trailing slash; `folder`: the root's key in the bucket, "" for the whole bucket."""
        self._url = url
        self._bucket = bucket
        self._base = f"{bucket}/{folder}/" if check_folder(folder) else f"{bucket}/"
        self._dialect = dialect
        self._connected: Any = None

    @property
    def url(self) -> str:
        return self._url

    @property
    def is_remote(self) -> bool:
        return True

    async def get(self, path: str) -> bytes:
        name = self._base + check_path(path)
        with self._errors(path):
            return bytes(await self._file_system()._cat_file(name))

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        name = self._base + check_path(path)
        try:
            with self._errors(path):
                await self._file_system()._pipe_file(name, data, mode="create", **self._dialect.write_options)
        except FileExistsError:
            return False
        return True

    async def replace(self, path: str, data: bytes) -> None:
        name = self._base + check_path(path)
        with self._errors(path):
            await self._file_system()._pipe_file(name, data, mode="overwrite", **self._dialect.write_options)

    async def list(self, prefix: str) -> list[str]:
        found: list[str] = []
        async with aclosing(self.pages(prefix)) as pages:
            async for page in pages:
                found += page
        return sorted(found)

    async def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        below = self._base + (check_folder(prefix) and f"{prefix}/")
        with self._errors(prefix):
            async with aclosing(self._dialect.pages(self._file_system(), below.rstrip("/"))) as pages:
                async for names in pages:
                    # Names that end in "/" are the folder marks that some tools leave in buckets.
                    yield [name.removeprefix(self._base) for name in names if name.startswith(below) and not name.endswith("/")]

    async def delete(self, path: str) -> None:
        name = self._base + check_path(path)
        try:
            with self._errors(path):
                await self._file_system()._rm_file(name)
        except FileNotFoundError:
            return

    async def exists(self, path: str) -> bool:
        name = self._base + check_path(path)
        try:
            with self._errors(path):
                return await self._dialect.exists(self._file_system(), name)
        except FileNotFoundError:
            return False

    async def clock_ms(self) -> int | None:
        # Any name will do; asking for this one needs no permission that a reader lacks.
        name = "vn/latest"
        with self._errors(name):
            return await self._dialect.clock_ms(self._file_system(), self._base + name)

    async def close(self) -> None:
        connected, self._connected = self._connected, None
        if connected is not None:
            await self._dialect.close(connected)

    def _file_system(self) -> Any:
        if self._connected is None:
            self._connected = self._dialect.file_system(asyncio.get_running_loop())
        return self._connected

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._translate(error, path) from error

    def _translate(self, error: Exception, path: str) -> Exception:
        """By type, status and code, never by message. What is not surely known is an `OSError`: the fate is unknown."""
        where = f"{self._url}/{path}"
        said = f"{where}: {type(error).__name__}: {error}"
        # The clients wrap the service's error in one of Python's and keep it as the cause.
        answer = self._dialect.answer(error) or (error.__cause__ and self._dialect.answer(error.__cause__)) or Answer(None, None)
        if answer.code in _NO_BUCKET:
            return NotACatalogError(f"the bucket {self._bucket!r} of {self._url} does not exist; create it first")
        if answer.code in _THROTTLED or answer.status == 429:
            return StoreThrottledError(f"asked for fewer requests: {said}")
        if answer.code in _FULL or answer.status == 507:
            return StoreFullError(f"no room for {said}")
        if answer.status in {401, 403} or self._dialect.refused_locally(error):
            return StoreDeniedError(f"no access to {said}")
        if answer.status == 501:
            return UnsupportedError(f"the store cannot do this, and a catalog needs it: {said}")
        if answer.status == 412 or isinstance(error, FileExistsError):
            return FileExistsError(said)
        if answer.status in {None, 404} and isinstance(error, FileNotFoundError):
            return FileNotFoundError(where)
        return OSError(said)
