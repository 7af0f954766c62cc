"""The HTTP session under an S3 client. Imports the client's libraries: only for those who use S3."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from typing import Any

from aiobotocore.httpsession import AIOHTTPSession


class WriteOnceSession(AIOHTTPSession):  # type: ignore[misc]
    """Never sends a body twice, and never waits before it sends one.

    aiohttp repeats a request by itself when the connection breaks. For a put the first one may have been applied, so that the
    second's answer ("it exists", or "too many requests, nothing done") would be untrue. A body that comes from an iterator
    cannot be repeated, and aiohttp then reports the break instead. Requests without a body may still be repeated; they are
    reads and deletions.

    botocore has each put ask first whether its body is welcome (`Expect: 100-continue`), which costs a round trip: as much as
    the put itself. The files of a catalog are small enough to go along.
    """

    async def send(self, request: Any) -> Any:
        # botocore holds bytes in a BytesIO. Its only other body, for checksums after the data, is an iterator already.
        if isinstance(request.body, io.IOBase):
            request.body = _once(request.body)
        if "Expect" in request.headers:
            del request.headers["Expect"]
        return await super().send(request)


async def _once(body: Any) -> AsyncIterator[bytes]:
    yield body.read()
