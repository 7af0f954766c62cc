"""The HTTP session under an S3 client. Imports the client's libraries: only for those who use S3."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from typing import Any

from aiobotocore.httpsession import AIOHTTPSession


class WriteOnceSession(AIOHTTPSession):  # type: ignore[misc]
    """Never sends a body twice.

    aiohttp repeats a request by itself when the connection breaks. For a put the first one may have been applied, so that the
    second's answer ("it exists", or "too many requests, nothing done") would be untrue. A body that comes from an iterator
    cannot be repeated, and aiohttp then reports the break instead. Requests without a body may still be repeated; they are
    reads and deletions.
    """

    async def send(self, request: Any) -> Any:
        # botocore holds bytes in a BytesIO. Its only other body, for checksums after the data, is an iterator already.
        if isinstance(request.body, io.IOBase):
            request.body = _once(request.body)
        return await super().send(request)


async def _once(body: Any) -> AsyncIterator[bytes]:
    yield body.read()
