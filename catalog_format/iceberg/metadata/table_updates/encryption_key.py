"""Updates of a table's encryption keys (Iceberg Java `TableMetadata.Builder`, `EncryptedKeyParser`)."""

from __future__ import annotations

import binascii
from base64 import b64decode

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    as_object,
    get_object,
    get_string,
    get_string_map,
    get_string_or_none,
    without_nulls,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft, TableUpdate


def add_encryption_key(draft: TableDraft, key: JsonObject) -> None:
    if all(existing["key-id"] != key["key-id"] for existing in draft.encryption_keys):
        draft.encryption_keys = [*draft.encryption_keys, key]
        draft.has_changes = True


def remove_encryption_key(draft: TableDraft, key_id: str) -> None:
    kept = [key for key in draft.encryption_keys if key["key-id"] != key_id]
    if len(kept) != len(draft.encryption_keys):
        draft.encryption_keys = kept
        draft.has_changes = True


def checked_key(raw: object) -> JsonObject:
    """The key, once all that readers rely on is known to be there; null members are left out. Raises `InvalidArgumentError`."""
    key = without_nulls(as_object(raw, "encryption key"))
    key_id = get_string(key, "key-id")
    try:
        b64decode(get_string(key, "encrypted-key-metadata"), validate=True)
    except binascii.Error:
        raise InvalidArgumentError(f"Invalid encryption key {key_id}: encrypted-key-metadata is not base64") from None
    get_string_or_none(key, "encrypted-by-id")
    if "properties" in key:
        get_string_map(key, "properties")
    return key


def parse_add_encryption_key(update: JsonObject) -> TableUpdate:
    key = checked_key(get_object(update, "encryption-key"))
    return lambda draft: add_encryption_key(draft, key)


def parse_remove_encryption_key(update: JsonObject) -> TableUpdate:
    key_id = get_string(update, "key-id")
    return lambda draft: remove_encryption_key(draft, key_id)
