"""Updates of a table's encryption keys (Iceberg Java `TableMetadata.Builder`, `EncryptedKeyParser`)."""

from __future__ import annotations

import binascii
from base64 import b64decode

from catalog_format.errors import InvalidArgumentError
from catalog_format.iceberg.metadata.json_fields import (
    JsonObject,
    get_object,
    get_string,
    get_string_map,
    get_string_or_none,
    without_nulls,
)
from catalog_format.iceberg.metadata.table_draft import TableDraft


def apply_add_encryption_key(draft: TableDraft, update: JsonObject) -> None:
    key = without_nulls(get_object(update, "encryption-key"))
    key_id = get_string(key, "key-id")
    try:
        b64decode(get_string(key, "encrypted-key-metadata"), validate=True)
    except binascii.Error:
        raise InvalidArgumentError(f"Invalid encryption key {key_id}: encrypted-key-metadata is not base64") from None
    get_string_or_none(key, "encrypted-by-id")
    if "properties" in key:
        get_string_map(key, "properties")
    if all(existing["key-id"] != key_id for existing in draft.encryption_keys):
        draft.encryption_keys = [*draft.encryption_keys, key]
        draft.has_changes = True


def apply_remove_encryption_key(draft: TableDraft, update: JsonObject) -> None:
    key_id = get_string(update, "key-id")
    kept = [key for key in draft.encryption_keys if key["key-id"] != key_id]
    if len(kept) != len(draft.encryption_keys):
        draft.encryption_keys = kept
        draft.has_changes = True
