"""Listings: one page where a page is asked for, else everything, a part at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

import orjson
from starlette.responses import Response, StreamingResponse

from catalog_format.keys import Identifier
from catalog_format.scope import Listing, Page
from irc_server.call import Call
from irc_server.warehouses import View
from irc_server.wire.answers import json_response

PART = 1000
"""Names that are read and sent together."""


async def listed(
    call: Call,
    read: Callable[[Page | None], Awaitable[Listing]],
    body: Callable[[Sequence[Identifier], str | None], object],
    *,
    in_transaction: bool,
) -> Response:
    """The answer to a listing. `body` makes what the specification wants of names and the token of the next page.

    Everything is sent as it is read, all of one version; memory holds a part of it. In a transaction, where others may add to what is
    listed meanwhile, it is read at once.
    """
    page = call.page()
    if page is not None or in_transaction or call.warehouse.view is View.TRANSACTION:
        listing = await read(page)
        return json_response(body(listing.items, listing.next_token))
    first = await read(Page(None, PART))
    if first.next_token is None:
        return json_response(body(first.items, None))
    return StreamingResponse(_parts(first, read, body), media_type="application/json")


async def _parts(
    listing: Listing, read: Callable[[Page | None], Awaitable[Listing]], body: Callable[[Sequence[Identifier], str | None], object]
) -> AsyncGenerator[bytes, None]:
    """The body of a listing without pages: what each part's body holds between the brackets of its list, one after the other."""
    head, separator, tail = orjson.dumps(body((), None)).partition(b"[]")
    assert separator, "the body has one list"
    yield head + b"["
    while True:
        whole = orjson.dumps(body(listing.items, None))
        yield whole[len(head) + 1 : len(whole) - len(tail) - 1]
        if listing.next_token is None:
            break
        # Whatever fails from here on ends the connection before the body's end: half a listing is never taken for a whole one.
        listing = await read(Page(listing.next_token, PART))
        if listing.items:
            yield b","
    yield b"]" + tail
