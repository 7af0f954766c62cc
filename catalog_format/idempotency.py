"""Answers kept under clients' idempotency keys, so that a repeated request is answered, not done again."""

from __future__ import annotations

from catalog_format.changes import Committed, IdempotencyWish
from catalog_format.errors import InvalidArgumentError
from catalog_format.keys import idempotency_key
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.reader import Reader


async def earlier_answer(reader: Reader, wish: IdempotencyWish) -> Committed | None:
    """What was answered under this key before. Raises `InvalidArgumentError` if another request was."""
    found = await reader.definition(idempotency_key(wish.client_key))
    if found is None:
        return None
    kept = pb.IdempotentAnswer.FromString(found)
    check_same_request(wish, kept.request_hash)
    return Committed.from_bytes(kept.answer)


def answer_entry(wish: IdempotencyWish, answer: Committed, now_ms: int) -> tuple[bytes, bytes]:
    """Key and definition of the entry that keeps an answer."""
    kept = pb.IdempotentAnswer(request_hash=wish.request_hash, answered_at_ms=now_ms, answer=answer.to_bytes())
    return idempotency_key(wish.client_key), kept.SerializeToString(deterministic=True)


def check_same_request(wish: IdempotencyWish, request_hash: bytes) -> None:
    """Raises `InvalidArgumentError` for a key that comes back with another request."""
    if wish.request_hash != request_hash:
        raise InvalidArgumentError(
            f"Idempotency key {wish.client_key} was used for another request before; use a new key for a new request"
        )
