"""Bodies of answers, in the shapes of the specification."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import orjson
from cachetools import LRUCache
from starlette.responses import Response

from catalog_format.keys import Identifier
from catalog_format.scope import LoadedMetadata, Scope
from irc_server.wire.compression import COMPRESS_FROM_BYTES, packed
from irc_server.wire.results import ListNamespacesResult, ListTablesResult

ALL, REFS = "all", "refs"
_JSON = "application/json"


class Protection(StrEnum):
    """Which tables are answered with `gc.enabled=false`, so that engines delete no files."""

    NONE = "none"
    UNLESS_TOLD = "unless-told"
    """All but those that say `gc.enabled=true` themselves."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Form:
    """How the metadata of an object is answered; every form has an ETag of its own."""

    snapshots: str = ALL
    protection: Protection = Protection.NONE
    seen_from: Identifier = ()
    """Of views: what stands before names, in a transaction."""


def json_response(body: object, status: int = 200) -> Response:
    """A JSON body."""
    return Response(orjson.dumps(body), status, media_type=_JSON)


def no_content() -> Response:
    """Done, and nothing to say."""
    return Response(status_code=204)


def namespaces_body(items: Sequence[Identifier], next_token: str | None) -> ListNamespacesResult:
    return {"namespaces": [list(item) for item in items], "next-page-token": next_token}


def identifiers_body(items: Sequence[Identifier], next_token: str | None) -> ListTablesResult:
    """Tables, or views."""
    return {"identifiers": [{"namespace": list(item[:-1]), "name": item[-1]} for item in items], "next-page-token": next_token}


def unless_known(answer: Response, if_none_match: str | None) -> Response:
    """The answer, or 304 if the client has it already."""
    if if_none_match is not None and _names(if_none_match, answer.headers["etag"]):
        return Response(status_code=304, headers={"etag": answer.headers["etag"]})
    return answer


Asked = tuple[str, bytes, bool]
"""Path and query of a load, and whether gzip is accepted: what its answer depends on besides the catalog."""


@dataclass(frozen=True, slots=True)
class AnsweredLoad:
    """A load as it was answered: where its path leads, what was there, and the answer."""

    scope: Scope
    name: Identifier
    form: Form
    loaded: LoadedMetadata
    response: Response


class AnsweredLoads:
    """Loads by what they asked, in a cache bounded by their bytes: who asks the same again is answered the same if nothing changed."""

    def __init__(self, cache_bytes: int) -> None:
        # A cache of size 0 would refuse every entry with an error; of size 1 it holds none.
        self._loads: LRUCache[Asked, AnsweredLoad] = LRUCache(max(1, cache_bytes), getsizeof=lambda load: len(load.response.body))

    def get(self, asked: Asked) -> AnsweredLoad | None:
        return self._loads.get(asked)

    def keep(self, asked: Asked, load: AnsweredLoad) -> None:
        if len(load.response.body) <= self._loads.maxsize:
            # The metadata stands in the answer already.
            self._loads[asked] = replace(load, loaded=replace(load.loaded, metadata=b""))


async def metadata_response(location: str, metadata: bytes, config: bytes, form: Form, gzip: bool) -> Response:
    """The object with its ETag. `config` is a JSON object, `gzip` whether to compress.

    The body is spliced around the metadata's own bytes, which are not parsed.
    """
    body = b'{"metadata-location":%b,"metadata":%b,"config":%b}' % (orjson.dumps(location), metadata, config)
    headers = {"etag": etag_of(location, form)}
    if gzip and len(body) >= COMPRESS_FROM_BYTES:
        body = await packed(body)
        headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(body, 200, headers, _JSON)


def etag_of(metadata_location: str, form: Form) -> str:
    """A weak ETag, since compression changes the bytes; another for each form."""
    told = f"{form.snapshots} {form.protection} {'.'.join(form.seen_from)} {metadata_location}"
    return f'W/"{hashlib.sha256(told.encode()).hexdigest()[:32]}"'


def _names(if_none_match: str, etag: str) -> bool:
    """Whether an If-None-Match header (tags, or "*") names this ETag, compared weakly."""
    opaque = etag.removeprefix("W/")
    return any(choice.strip().removeprefix("W/") in {opaque, "*"} for choice in if_none_match.split(","))
