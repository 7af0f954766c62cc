"""Parameters of requests: one description each, for whoever reads them and for the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, a header, or a level of the path."""

    name: str
    where: Literal["query", "header", "path"]
    schema: dict[str, Any]
    description: str

    @property
    def key(self) -> bytes:
        """Of a header, as ASGI has it."""
        return self.name.lower().encode()

    @property
    def document(self) -> dict[str, Any]:
        """As OpenAPI writes it."""
        return {
            "name": self.name,
            "in": self.where,
            "required": self.where == "path",
            "schema": self.schema,
            "description": self.description,
        }


_TEXT = {"type": "string"}

WAREHOUSE = Parameter("warehouse", "query", _TEXT, "A catalog's name or URL, and after an @ the state of it that is meant")
PARENT = Parameter("parent", "query", _TEXT, "The namespace whose children are listed, levels joined by 0x1F; empty for the top")
PAGE_TOKEN = Parameter("pageToken", "query", _TEXT, "Empty for the first page, then what the last one gave; absent for everything at once")
PAGE_SIZE = Parameter("pageSize", "query", {"type": "integer", "minimum": 1}, "At most so many names on a page")
SNAPSHOTS = Parameter("snapshots", "query", {"type": "string", "enum": ["all", "refs"]}, "Which snapshots the metadata show")
PURGE_REQUESTED = Parameter("purgeRequested", "query", {"type": "boolean"}, "Whether the files are to go with the table")
IF_NONE_MATCH = Parameter("If-None-Match", "header", _TEXT, "ETags that the client has: if one is current, 304 is answered")
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "header",
    {"type": "string", "format": "uuid"},
    "A request that comes again under its key is answered, not done again",
)

PATH = {
    "prefix": Parameter("prefix", "path", _TEXT, "A state of a catalog, as /v1/config names it"),
    "namespace": Parameter("namespace", "path", _TEXT, "Levels joined by 0x1F"),
    "table": Parameter("table", "path", _TEXT, "A table of the namespace"),
    "view": Parameter("view", "path", _TEXT, "A view of the namespace"),
    "function": Parameter("function", "path", _TEXT, "A function of the namespace"),
}
