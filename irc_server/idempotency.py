"""Idempotency keys: who repeats what, and the answers that this process remembers.

Successes of writes live in the catalog's tree and are replayed by every replica. Remembered here: refusals that come out the
same every time, and the begin of a transaction, whose repetition would otherwise be told that the name is taken.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from dataclasses import dataclass

from cachetools import TTLCache
from starlette.types import Message, Scope

from catalog_format.clock import Clock
from catalog_format.errors import InvalidArgumentError

KEY_HEADER = b"idempotency-key"
_SCOPE_KEY = "treeline.repeatable"
_REMEMBER_KEY = "treeline.remember"
_KEY_LENGTH = 36
REMEMBERED = 10_000
# Refusals that come out the same when the request is repeated. 401, 403, 413 and 429 may be mended meanwhile.
_DETERMINISTIC = frozenset({400, 404, 406, 409, 422})


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that may come again: its key, and the SHA-256 of what it asks."""

    key: str
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, as ASGI messages."""

    start: Message
    body: Message


def repeatable(scope: Scope, key: str, body: bytes) -> Repeatable:
    """Raises `InvalidArgumentError` unless the key is a UUID in its 36-character form."""
    try:
        if len(key) != _KEY_LENGTH:
            raise ValueError
        canonical = str(uuid.UUID(key))
    except ValueError:
        raise InvalidArgumentError(
            f"Idempotency-Key must be a UUID, such as 017f22e2-79b0-7cc3-98c4-dc0c0c07398f, not {key[:64]!r}"
        ) from None
    digest = hashlib.sha256(f"{scope['method']} {scope['path']}?".encode() + scope.get("query_string", b"") + b"\n")
    digest.update(body)
    return Repeatable(canonical, digest.digest())


def note_on(scope: Scope, request: Repeatable) -> None:
    """Put what identifies the request where its handler finds it."""
    scope[_SCOPE_KEY] = request


def noted_on(scope: Scope) -> Repeatable | None:
    """What `note_on` put there."""
    found: Repeatable | None = scope.get(_SCOPE_KEY)
    return found


def remember_success(scope: Scope) -> None:
    """Ask for this request's success to be remembered, for want of a better place."""
    scope[_REMEMBER_KEY] = True


class AnswerMemory:
    """Answers by key, for as long as clients may use a key again; and the keys whose first request is still under way."""

    def __init__(self, lifetime_s: float, clock: Clock) -> None:
        self._answers: TTLCache[str, tuple[bytes, Answer]] = TTLCache(REMEMBERED, lifetime_s, clock.elapsed)
        self._running: dict[str, asyncio.Future[None]] = {}

    async def recall(self, request: Repeatable) -> Answer | None:
        """What this key was answered, waiting for a first request that is under way. None: do it, then call `finish`.

        Raises `InvalidArgumentError` for a key that comes back with another request.
        """
        while True:
            held = self._answers.get(request.key)
            if held is not None:
                request_hash, answer = held
                if request_hash != request.request_hash:
                    raise InvalidArgumentError(
                        f"Idempotency key {request.key} was used for another request before; use a new key for a new request"
                    )
                return answer
            first = self._running.get(request.key)
            if first is None:
                self._running[request.key] = asyncio.get_running_loop().create_future()
                return None
            await asyncio.shield(first)

    def finish(self, request: Repeatable, scope: Scope, answer: Answer | None) -> None:
        """The first request has ended, with an answer or without."""
        self._running.pop(request.key).set_result(None)
        if answer is None:
            return
        status: int = answer.start["status"]
        if status in _DETERMINISTIC or (status < 300 and scope.get(_REMEMBER_KEY)):
            self._answers[request.key] = (request.request_hash, answer)
