"""gzip of bodies, both ways."""

from __future__ import annotations

import asyncio
import gzip
import zlib

from catalog_format.errors import InvalidArgumentError

COMPRESS_FROM_BYTES = 1024
# zlib lets other threads work: beyond this the loop answers others meanwhile.
_IN_THREAD_FROM_BYTES = 256 * 1024
_LEVEL = 1


class TooLargeWhenPlain(Exception):
    """What a body unpacks to is over the limit."""


async def packed(plain: bytes) -> bytes:
    """The same bytes for the same input, at the lowest level: metadata repeats itself so much that others gain little."""
    if len(plain) < _IN_THREAD_FROM_BYTES:
        return gzip.compress(plain, _LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, plain, _LEVEL, mtime=0)


class Packer:
    """gzip of a body that comes in parts; each can be read as soon as it is there."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(_LEVEL, wbits=16 + zlib.MAX_WBITS)

    def part(self, plain: bytes, *, last: bool) -> bytes:
        return self._compressor.compress(plain) + self._compressor.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def unpacked(body: bytes, limit: int) -> bytes:
    """The plain bytes. Raises `InvalidArgumentError`, `TooLargeWhenPlain`."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        plain = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise InvalidArgumentError(f"The body is not valid gzip: {error}") from None
    if len(plain) > limit:
        raise TooLargeWhenPlain
    if not unpacker.eof:
        raise InvalidArgumentError("The body is not valid gzip: it ends too early")
    if unpacker.unused_data:
        raise InvalidArgumentError("The body is not valid gzip: something follows its end")
    return plain
