"""Who may ask: one static bearer token, or everybody."""

from __future__ import annotations

import hmac

_SCHEME = b"bearer "


class StaticToken:
    """Knows the token; the comparison takes the same time whatever is sent."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def admits(self, authorization: bytes) -> bool:
        """Whether an Authorization header carries the token."""
        scheme, token = authorization[: len(_SCHEME)].lower(), authorization[len(_SCHEME) :].strip()
        return hmac.compare_digest(token, self._token) and scheme == _SCHEME
