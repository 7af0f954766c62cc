"""A store in a local folder: atomic, durable creation through hard links.

fsspec's own local create mode checks and then writes, so that several writers win; `os.link` lets exactly one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from catalog_format.errors import StoreDeniedError, StoreFullError
from catalog_format.ids import SystemIds
from catalog_format.storage.names import TEMPORARY_PREFIX, check_folder, check_path
from catalog_format.storage.protocol import Page

# Larger files are read in a thread; smaller ones cost less than the hand-over to a thread would.
_INLINE_READ_BYTES = 1 << 20

_PAGE = 10_000

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
# What file systems without hard links answer to a link.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_NOT_A_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

# The names of temporary files need to be unique, not reproducible: nothing ever reads them.
_ids = SystemIds()


class LocalStorage:
    """Files below one folder of a POSIX file system with hard links.

    Reads of up to 1 MiB run on the event loop (microseconds from the page cache); everything that waits for the disk runs
    in a thread. A crash leaves at most a `.tmp-…` file behind, which no verb shows.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        absolute = os.path.abspath(root)  # noqa: PTH100 - symbolic links stay as the user wrote them
        self._base = absolute.rstrip("/") + "/"
        self._url = "file://" + absolute.rstrip("/")

    @property
    def url(self) -> str:
        """`file://` and the absolute path as it is: engines take such a location literally, without percent-decoding."""
        return self._url

    @property
    def is_remote(self) -> bool:
        return False

    async def get(self, path: str) -> bytes:
        full = self._base + check_path(path)
        try:
            descriptor = os.open(full, os.O_RDONLY | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                if size <= _INLINE_READ_BYTES:
                    return _read(descriptor, size)
                return await asyncio.to_thread(_read, os.dup(descriptor), size, close=True)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            # As it is: it says all that is to be said, and most probes end here.
            raise
        except OSError as error:
            raise self._translate(error, path) from error

    async def put_if_absent(self, path: str, data: bytes) -> bool:
        return await asyncio.to_thread(self._put_if_absent, check_path(path), data)

    async def replace(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(self._replace, check_path(path), data)

    async def list(self, prefix: str) -> list[str]:
        found: list[str] = []
        async with aclosing(self.pages(prefix)) as pages:
            async for page in pages:
                found += page
        return sorted(found)

    async def pages(self, prefix: str) -> AsyncGenerator[Page, None]:
        pages = _pages_below(self._base, check_folder(prefix))
        try:
            while (page := await asyncio.to_thread(next, pages, None)) is not None:
                yield page
        except OSError as error:
            raise self._translate(error, prefix) from error

    async def delete(self, path: str) -> None:
        await asyncio.to_thread(self._delete, check_path(path))

    async def exists(self, path: str) -> bool:
        try:
            return stat.S_ISREG(os.stat(self._base + check_path(path)).st_mode)  # noqa: PTH116 - the hot path builds no Path
        except _NOT_A_FILE:
            return False
        except OSError as error:
            raise self._translate(error, path) from error

    async def clock_ms(self) -> int | None:
        """When a file that is written now says that it was written. On a network drive that is the server's time."""
        return await asyncio.to_thread(self._clock_ms)

    async def close(self) -> None:
        """Nothing to release."""

    def _put_if_absent(self, path: str, data: bytes) -> bool:
        full = self._base + path
        # Names are used once, so "it exists" cannot become untrue; losing needs no write then.
        if os.path.lexists(full):
            return False
        try:
            temporary = _write_temporary(full, data)
            try:
                os.link(temporary, full)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise StoreDeniedError(f"no file can be made at {full}: a file system with hard links is needed") from error
                raise
            finally:
                _remove_quietly(temporary)
        except NotADirectoryError as error:
            raise StoreDeniedError(f"no folder can be made at {full}: part of that path is a file") from error
        except OSError as error:
            raise self._translate(error, path) from error
        # From here on the file is visible: a failure is reported as it is, never as "nothing was written".
        _sync_directory(os.path.dirname(full))  # noqa: PTH120
        return True

    def _replace(self, path: str, data: bytes) -> None:
        full = self._base + path
        try:
            temporary = _write_temporary(full, data)
            try:
                os.replace(temporary, full)  # noqa: PTH105
            except OSError:
                _remove_quietly(temporary)
                raise
        except OSError as error:
            raise self._translate(error, path) from error

    def _delete(self, path: str) -> None:
        try:
            os.unlink(self._base + path)  # noqa: PTH108
        except _NOT_A_FILE:
            return
        except OSError as error:
            raise self._translate(error, path) from error

    def _clock_ms(self) -> int:
        try:
            temporary = _write_temporary(f"{self._base}clock", b"")
            try:
                return os.stat(temporary).st_mtime_ns // 1_000_000  # noqa: PTH116
            finally:
                _remove_quietly(temporary)
        except OSError as error:
            raise self._translate(error, "") from error

    def _translate(self, error: OSError, path: str) -> Exception:
        """The error to raise for one that the system gave before anything became visible."""
        where = f"{self._base}{path}: {os.strerror(error.errno or 0)}"
        if error.errno in _FULL:
            return StoreFullError(f"no room for {where}")
        if error.errno in _DENIED:
            return StoreDeniedError(f"no access to {where}")
        if isinstance(error, _NOT_A_FILE):
            return FileNotFoundError(error.errno, os.strerror(error.errno or 0), self._base + path)
        return error


def _read(descriptor: int, size: int, *, close: bool = False) -> bytes:
    """The first `size` bytes of an open file, or all if it is shorter."""
    try:
        data = os.read(descriptor, size)
        if len(data) == size:
            return data
        parts = [data]
        while parts[-1]:
            parts.append(os.read(descriptor, size))
        return b"".join(parts)
    finally:
        if close:
            os.close(descriptor)


def _pages_below(base: str, prefix: str) -> Iterator[Page]:
    """Paths, relative to `base`, of the files below `base` + `prefix`, temporary ones left out; about `_PAGE` at once."""
    found: list[str] = []
    folders = [prefix]
    while folders:
        folder = folders.pop()
        below = folder and f"{folder}/"
        # A folder may vanish meanwhile, and a file is no folder: both hold no files.
        with contextlib.suppress(*_NOT_A_FILE), os.scandir(base + folder) as entries:
            for entry in entries:
                if entry.name.startswith(TEMPORARY_PREFIX):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(below + entry.name)
                elif entry.is_file():
                    found.append(below + entry.name)
                    if len(found) == _PAGE:
                        yield found
                        found = []
    yield found


def _write_temporary(full: str, data: bytes) -> str:
    """Write and sync a new temporary file beside `full`; returns its path. Parents are created. On an error nothing stays."""
    directory = os.path.dirname(full)  # noqa: PTH120
    temporary = f"{directory}/{TEMPORARY_PREFIX}{_ids.attempt_id()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o666)
    except FileNotFoundError:
        _make_directory(directory)
        descriptor = os.open(temporary, flags, 0o666)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        _remove_quietly(temporary)
        raise
    return temporary


def _make_directory(directory: str) -> None:
    """Create a directory and its parents, each synced into its own parent, so that a synced file below cannot vanish."""
    parent = os.path.dirname(directory)  # noqa: PTH120
    try:
        os.mkdir(directory)  # noqa: PTH102
    except FileExistsError:
        return
    except FileNotFoundError:
        if not os.path.isdir(parent):  # noqa: PTH112
            _make_directory(parent)
        try:
            os.mkdir(directory)  # noqa: PTH102
        except FileExistsError:
            return
        except FileNotFoundError as error:
            raise StoreDeniedError(f"no folder can be made at {directory}: the file system takes none there") from error
    _sync_directory(parent)


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_quietly(path: str) -> None:
    # What was written is right without it: a temporary file that stays is litter, not an error.
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108
