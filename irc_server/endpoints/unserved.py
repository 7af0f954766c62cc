"""Operations of the specification that are not offered: they say so, for every catalog that exists."""

from __future__ import annotations

from typing import NoReturn

import orjson
from starlette.responses import Response

from catalog_format.errors import UnsupportedError
from irc_server.call import Call
from irc_server.error_map import NotOfferedError

_PLANNING = "Scans are not planned here: let the client plan them from the table's metadata"


async def refuse_to_plan(call: Call) -> NoReturn:
    # The specification has 406 for this operation alone.
    raise UnsupportedError(_PLANNING)


async def refuse_planning(call: Call) -> NoReturn:
    raise NotOfferedError(_PLANNING)


async def refuse_credentials(call: Call) -> NoReturn:
    raise NotOfferedError("Credentials are not given out here: configure the client with its own access to the store")


async def refuse_signing(call: Call) -> NoReturn:
    raise NotOfferedError("Requests are not signed here: configure the client with its own access to the store")


async def refuse_tokens(call: Call) -> Response:
    """In the shape of OAuth 2 (RFC 6749, 5.2), which the specification asks for on this path alone."""
    said = "Tokens are not issued here: configure the client with the bearer token that the server was started with"
    return Response(orjson.dumps({"error": "unsupported_grant_type", "error_description": said}), 501, media_type="application/json")
