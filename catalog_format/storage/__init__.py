"""Stores: one protocol, several places."""

from catalog_format.storage.counting import Call, Calls, CountingStorage
from catalog_format.storage.faulty import (
    Crash,
    CrashAfter,
    CrashBefore,
    Denied,
    Fault,
    FaultyStorage,
    FlippedRead,
    Full,
    LateLanding,
    Latency,
    LostReply,
    LostRequest,
    Plan,
    Rule,
    ScriptedPlan,
    StoreCall,
    Throttled,
    TruncatedRead,
)
from catalog_format.storage.fsspec_store import FsspecStorage
from catalog_format.storage.local import LocalStorage
from catalog_format.storage.memory import MemoryStorage
from catalog_format.storage.opening import StorageResolver, open_storage
from catalog_format.storage.protocol import Storage

__all__ = [
    "Call",
    "Calls",
    "CountingStorage",
    "Crash",
    "CrashAfter",
    "CrashBefore",
    "Denied",
    "Fault",
    "FaultyStorage",
    "FlippedRead",
    "FsspecStorage",
    "Full",
    "LateLanding",
    "Latency",
    "LocalStorage",
    "LostReply",
    "LostRequest",
    "MemoryStorage",
    "Plan",
    "Rule",
    "ScriptedPlan",
    "Storage",
    "StorageResolver",
    "StoreCall",
    "Throttled",
    "TruncatedRead",
    "open_storage",
]
