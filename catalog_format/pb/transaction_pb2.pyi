from catalog_format.pb import catalog_pb2 as _catalog_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TransactionStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSACTION_STATUS_UNSPECIFIED: _ClassVar[TransactionStatus]
    OPEN: _ClassVar[TransactionStatus]
    SEALED: _ClassVar[TransactionStatus]
    COMMITTED: _ClassVar[TransactionStatus]
    REFUSED: _ClassVar[TransactionStatus]
    ROLLED_BACK: _ClassVar[TransactionStatus]
    EXPIRED: _ClassVar[TransactionStatus]
TRANSACTION_STATUS_UNSPECIFIED: TransactionStatus
OPEN: TransactionStatus
SEALED: TransactionStatus
COMMITTED: TransactionStatus
REFUSED: TransactionStatus
ROLLED_BACK: TransactionStatus
EXPIRED: TransactionStatus

class TransactionState(_message.Message):
    __slots__ = ("transaction_id", "sequence", "attempt_id", "status", "written_at_ms", "expires_at_ms", "checkpoint", "start", "changes", "reads", "set_properties", "removed_properties", "reason", "committed_version")
    class SetPropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    SET_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    REMOVED_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    transaction_id: str
    sequence: int
    attempt_id: str
    status: TransactionStatus
    written_at_ms: int
    expires_at_ms: int
    checkpoint: bool
    start: TransactionStart
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    reads: _catalog_pb2.ReadSet
    set_properties: _containers.ScalarMap[str, str]
    removed_properties: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    committed_version: int
    def __init__(self, transaction_id: _Optional[str] = ..., sequence: _Optional[int] = ..., attempt_id: _Optional[str] = ..., status: _Optional[_Union[TransactionStatus, str]] = ..., written_at_ms: _Optional[int] = ..., expires_at_ms: _Optional[int] = ..., checkpoint: _Optional[bool] = ..., start: _Optional[_Union[TransactionStart, _Mapping]] = ..., changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., reads: _Optional[_Union[_catalog_pb2.ReadSet, _Mapping]] = ..., set_properties: _Optional[_Mapping[str, str]] = ..., removed_properties: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., committed_version: _Optional[int] = ...) -> None: ...

class TransactionStart(_message.Message):
    __slots__ = ("isolation", "base_version", "began_at_ms", "ttl_ms")
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    BASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    isolation: _catalog_pb2.Isolation
    base_version: int
    began_at_ms: int
    ttl_ms: int
    def __init__(self, isolation: _Optional[_Union[_catalog_pb2.Isolation, str]] = ..., base_version: _Optional[int] = ..., began_at_ms: _Optional[int] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("verb", "key", "target", "request", "result", "summary")
    VERB_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    verb: _catalog_pb2.Verb
    key: bytes
    target: bytes
    request: bytes
    result: bytes
    summary: str
    def __init__(self, verb: _Optional[_Union[_catalog_pb2.Verb, str]] = ..., key: _Optional[bytes] = ..., target: _Optional[bytes] = ..., request: _Optional[bytes] = ..., result: _Optional[bytes] = ..., summary: _Optional[str] = ...) -> None: ...
