"""Bodies of answers, in the shapes of the specification."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from cachetools import LRUCache
from starlette.responses import Response

from catalog_format.keys import Identifier
from catalog_format.scope import LoadedMetadata


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, dict(headers or {}), "application/json")


def no_content() -> Response:
    return Response(status_code=204)


def namespaces_body(items: Sequence[Identifier], next_token: str | None) -> dict[str, Any]:
    return {"namespaces": [list(item) for item in items], "next-page-token": next_token}


def identifiers_body(items: Sequence[Identifier], next_token: str | None) -> dict[str, Any]:
    return {"identifiers": [{"namespace": list(item[:-1]), "name": item[-1]} for item in items], "next-page-token": next_token}


class MetadataAnswers:
    """Answers around metadata files. A body is spliced around the file's own bytes, which are never parsed (but for `refs`)."""

    def __init__(self, cache_bytes: int) -> None:
        self._bodies: LRUCache[tuple[str, str], tuple[bytes, str]] = LRUCache(max(1, cache_bytes), getsizeof=lambda entry: len(entry[0]))

    def response(
        self, loaded: LoadedMetadata, config: Mapping[str, str], *, snapshots: str = "all", if_none_match: str | None = None
    ) -> Response:
        """The object with its ETag; 304 if the client has it already."""
        body, etag = self._body(loaded, config, snapshots)
        headers = {"etag": etag}
        if if_none_match is not None and etag in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(body, 200, headers, "application/json")

    def body(self, loaded: LoadedMetadata, config: Mapping[str, str]) -> bytes:
        """The same as bytes, to be put into another body."""
        return self._body(loaded, config, "all")[0]

    def _body(self, loaded: LoadedMetadata, config: Mapping[str, str], snapshots: str) -> tuple[bytes, str]:
        key = (loaded.metadata_location, snapshots)
        held = self._bodies.get(key)
        if held is not None:
            return held
        metadata = _with_referenced_snapshots(loaded.metadata) if snapshots == "refs" else loaded.metadata
        location = orjson.dumps(loaded.metadata_location)
        body = b'{"metadata-location":%b,"metadata":%b,"config":%b}' % (location, metadata, orjson.dumps(dict(config)))
        etag = f'"{hashlib.sha256(f"{snapshots} {loaded.metadata_location}".encode()).hexdigest()[:32]}"'
        if len(body) <= self._bodies.maxsize:
            self._bodies[key] = (body, etag)
        return body, etag


def _with_referenced_snapshots(metadata: bytes) -> bytes:
    """The metadata with those snapshots only that a branch or a tag names."""
    parsed: dict[str, Any] = orjson.loads(metadata)
    named = {ref["snapshot-id"] for ref in parsed.get("refs", {}).values()}
    parsed["snapshots"] = [snapshot for snapshot in parsed.get("snapshots", []) if snapshot["snapshot-id"] in named]
    return orjson.dumps(parsed)
