"""Files of transaction states: 32 bytes of SHA-256, then the protobuf message that they are the hash of."""

from __future__ import annotations

import hashlib

from google.protobuf.message import DecodeError

from catalog_format.pb import transaction_pb2 as pb

_HASH_BYTES = 32


def encode_state(state: pb.TransactionState) -> bytes:
    body = state.SerializeToString(deterministic=True)
    return hashlib.sha256(body).digest() + body


def decode_state(data: bytes) -> pb.TransactionState:
    """Raises `ValueError` if the bytes are not exactly what was written."""
    body = data[_HASH_BYTES:]
    if hashlib.sha256(body).digest() != data[:_HASH_BYTES]:
        raise ValueError("the bytes do not have the hash in front of them")
    try:
        return pb.TransactionState.FromString(body)
    except DecodeError as error:
        raise ValueError(str(error)) from None
