"""Bodies of answers, in the shapes of the specification."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from cachetools import LRUCache
from starlette.responses import Response

from catalog_format.keys import Identifier
from catalog_format.scope import LoadedMetadata, Scope
from irc_server.wire.compression import COMPRESS_FROM_BYTES, packed

ALL, REFS = "all", "refs"
_JSON = "application/json"


def json_response(body: object, status: int = 200) -> Response:
    """A JSON body."""
    return Response(orjson.dumps(body), status, media_type=_JSON)


def no_content() -> Response:
    """Done, and nothing to say."""
    return Response(status_code=204)


def namespaces_body(items: Sequence[Identifier], next_token: str | None) -> dict[str, Any]:
    """ListNamespacesResponse."""
    return {"namespaces": [list(item) for item in items], "next-page-token": next_token}


def identifiers_body(items: Sequence[Identifier], next_token: str | None) -> dict[str, Any]:
    """ListTablesResponse, which views use too."""
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
    snapshots: str
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


async def metadata_response(loaded: LoadedMetadata, config: bytes, snapshots: str, gzip: bool) -> Response:
    """The object with its ETag. `config` is a JSON object, `gzip` whether to compress.

    The body is spliced around the metadata file's own bytes, which are never parsed (but for `refs`).
    """
    metadata = _with_referenced_snapshots(loaded.metadata) if snapshots == REFS else loaded.metadata
    body = b'{"metadata-location":%b,"metadata":%b,"config":%b}' % (orjson.dumps(loaded.metadata_location), metadata, config)
    headers = {"etag": etag_of(loaded.metadata_location, snapshots)}
    if gzip and len(body) >= COMPRESS_FROM_BYTES:
        body = await packed(body)
        headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(body, 200, headers, _JSON)


def etag_of(metadata_location: str, snapshots: str) -> str:
    """A weak ETag, since compression changes the bytes; another for each choice of snapshots."""
    return f'W/"{hashlib.sha256(f"{snapshots} {metadata_location}".encode()).hexdigest()[:32]}"'


def _names(if_none_match: str, etag: str) -> bool:
    """Whether an If-None-Match header (tags, or "*") names this ETag, compared weakly."""
    opaque = etag.removeprefix("W/")
    return any(choice.strip().removeprefix("W/") in {opaque, "*"} for choice in if_none_match.split(","))


def _with_referenced_snapshots(metadata: bytes) -> bytes:
    """The metadata with those snapshots only that a branch or a tag names, or that are current (version 1 has no refs)."""
    parsed: dict[str, Any] = orjson.loads(metadata)
    named = {ref["snapshot-id"] for ref in (parsed.get("refs") or {}).values()} | {parsed.get("current-snapshot-id")}
    if "snapshots" in parsed:
        parsed["snapshots"] = [snapshot for snapshot in parsed["snapshots"] or [] if snapshot["snapshot-id"] in named]
    return orjson.dumps(parsed)
