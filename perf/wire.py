"""Requests of the benchmarks: ready bytes for the generator, and a few sent from here."""

from __future__ import annotations

import http.client
import json
from typing import Any

from perf.generator import COUNTER
from perf.processes import Server

NAMESPACE = "perf"
API = "/v1/treeline"
TABLES = f"{API}/namespaces/{NAMESPACE}/tables"
AGENT = "treeline-perf"

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "type": "long", "required": True},
        {"id": 2, "name": "customer", "type": "string", "required": False},
        {"id": 3, "name": "amount", "type": "decimal(12, 2)", "required": False},
        {"id": 4, "name": "ordered_at", "type": "timestamptz", "required": False},
    ],
}


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: perf\r\nUser-Agent: {AGENT}\r\nAccept: application/json\r\n\r\n".encode()


def setting(table: str, prop: str) -> bytes:
    """A commit that sets a property of a table to the generator's counter."""
    updates = [{"action": "set-properties", "updates": {prop: COUNTER.decode()}}]
    body = json.dumps({"requirements": [], "updates": updates}).encode()
    head = f"POST {TABLES}/{table} HTTP/1.1\r\nHost: perf\r\nUser-Agent: {AGENT}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def send(server: Server, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> tuple[bytes, Any]:
    """One request: the answer's body and headers. Raises `RuntimeError` for a refusal."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
        return text, answer.headers
    finally:
        connection.close()


def make_tables(server: Server, names: list[str], properties: dict[str, str] | None = None) -> None:
    """These tables, in the namespace of the benchmarks, which is made if need be."""
    try:
        send(server, "POST", f"{API}/namespaces", {"namespace": [NAMESPACE], "properties": {}})
    except RuntimeError as refused:
        if " 409 " not in str(refused):
            raise
    for name in names:
        send(server, "POST", TABLES, {"name": name, "schema": SCHEMA, "properties": properties or {}})
