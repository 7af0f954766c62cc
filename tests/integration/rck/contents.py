"""A whole catalog, read through its REST interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

Name = tuple[str, ...]


@dataclass(slots=True)
class Contents:
    """Every object and what loading it answers."""

    namespaces: dict[Name, Any] = field(default_factory=dict)
    tables: dict[Name, Any] = field(default_factory=dict)
    views: dict[Name, Any] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, set[Name]]:
        return {"namespaces": set(self.namespaces), "tables": set(self.tables), "views": set(self.views)}

    @classmethod
    def read(cls, server: str, prefix: str) -> Contents:
        """`server`: its URL; `prefix`: of the warehouse."""
        contents = cls()
        with httpx.Client(base_url=f"{server}/v1/{quote(prefix)}/", timeout=60) as client:
            for namespace in _namespaces(client, ()):
                path = f"namespaces/{_joined(namespace)}"
                contents.namespaces[namespace] = _get(client, path)
                for kind, found in (("tables", contents.tables), ("views", contents.views)):
                    for identifier in _get(client, f"{path}/{kind}")["identifiers"]:
                        found[*namespace, identifier["name"]] = _get(client, f"{path}/{kind}/{quote(identifier['name'], safe='')}")
        return contents


def _namespaces(client: httpx.Client, parent: Name) -> Iterator[Name]:
    for levels in _get(client, "namespaces" + (f"?parent={_joined(parent)}" if parent else ""))["namespaces"]:
        yield tuple(levels)
        yield from _namespaces(client, tuple(levels))


def _joined(namespace: Name) -> str:
    return quote("\x1f".join(namespace), safe="")


def _get(client: httpx.Client, path: str) -> Any:
    answer = client.get(path)
    answer.raise_for_status()
    return answer.json()
