"""Headers of a request, without a copy of them all."""

from __future__ import annotations

from functools import lru_cache

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this name, in lower case as ASGI has them."""
    for given, value in scope["headers"]:
        if given == name:
            return bytes(value).decode("latin-1")
    return None


def accepts_gzip(scope: Scope) -> bool:
    """Whether Accept-Encoding lets the answer be gzip."""
    accepted = header(scope, b"accept-encoding")
    return accepted is not None and _names_gzip(accepted)


@lru_cache(maxsize=256)
def _names_gzip(accepted: str) -> bool:
    for choice in accepted.split(","):
        coding, _, weight = choice.partition(";")
        if coding.strip().lower() in {"gzip", "x-gzip", "*"}:
            return weight.replace(" ", "").lower() not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
