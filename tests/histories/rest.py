"""A small client of the REST catalog that knows when it does not know."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

PREFIX = "treeline"
_TIMEOUT_SECONDS = 60.0
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.05
_SHUN_SECONDS = 0.3
Json = dict[str, Any]


class LostReplyError(Exception):
    """Nobody can tell from here what became of the request."""


@dataclass(frozen=True)
class Answer:
    """A definite one: neither a lost reply, nor a 5xx, nor a 429."""

    status: int
    body: Json

    @property
    def succeeded(self) -> bool:
        return self.status < 300


class Rest:
    """Sends each request to one of several servers, by chance. What reads alike may be repeated until it is answered."""

    def __init__(self, urls: Sequence[str], rng: random.Random) -> None:
        self._connections = {url: http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_SECONDS) for url in urls}
        self._shunned_until = dict.fromkeys(urls, 0.0)
        self._rng = rng

    def once(self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send it until a server has tried it. Raises `LostReplyError`."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            answer = self._send(method, path, body, headers)
            if answer.status != 429:
                return answer
            if time.monotonic() > deadline:
                raise RuntimeError(f"{method} {path} is put off for ever: {answer}")
            time.sleep(_PAUSE_SECONDS)

    def insist(self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send it until it is answered: for what may be repeated."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self.once(method, path, body, headers)
            except LostReplyError as error:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{method} {path} was not answered for {_PATIENCE_SECONDS:g} s") from error
                time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _send(self, method: str, path: str, body: Json | None, headers: Mapping[str, str] | None) -> Answer:
        url = self._choose()
        connection = self._connections[url]
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            # It may be dead; the others are asked for a while.
            self._shunned_until[url] = time.monotonic() + _SHUN_SECONDS
            raise LostReplyError(f"{method} {path}: {error!r}") from error
        if reply.status >= 500:
            raise LostReplyError(f"{method} {path}: {reply.status} {text[:500]!r}")
        return Answer(reply.status, json.loads(text) if text else {})

    def _choose(self) -> str:
        now = time.monotonic()
        good = [url for url, until in self._shunned_until.items() if until <= now]
        return self._rng.choice(good or list(self._shunned_until))


def namespace_path(*levels: str, prefix: str = PREFIX) -> str:
    return f"/v1/{prefix}/namespaces/{quote(chr(0x1F).join(levels), safe='')}"


def inside(transaction: str) -> tuple[str, ...]:
    """The levels of a transaction's namespace."""
    return ("sys", "dtxns", f"dtxn_{transaction}")


def begin(rest: Rest, transaction: str, level: str) -> None:
    """BEGIN, repeated until it is answered; the id is ours, so that it exists is as good as an answer."""
    answer = rest.insist("POST", f"/v1/{PREFIX}/namespaces", {"namespace": inside(transaction), "properties": {"isolation-level": level}})
    if answer.status not in {200, 409}:
        raise RuntimeError(f"BEGIN {transaction}: {answer}")


def commit_request(transaction: str) -> tuple[str, str, Json]:
    """Method, path and body of COMMIT."""
    return "POST", f"{namespace_path(*inside(transaction))}/properties", {"updates": {"commit": "true"}}


def roll_back(rest: Rest, transaction: str) -> None:
    rest.insist("DELETE", namespace_path(*inside(transaction)))


def status_of(rest: Rest, transaction: str) -> str:
    """`open`, `committed`, `refused`, …; whoever asks finishes a sealed one."""
    answer = rest.insist("GET", namespace_path(*inside(transaction)))
    status: str = answer.body["properties"]["status"] if answer.succeeded else "none"
    return status
