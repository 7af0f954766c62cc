from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Isolation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISOLATION_UNSPECIFIED: _ClassVar[Isolation]
    ISOLATION_SNAPSHOT: _ClassVar[Isolation]
    ISOLATION_SERIALIZABLE: _ClassVar[Isolation]

class Verb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERB_UNSPECIFIED: _ClassVar[Verb]
    VERB_CREATE: _ClassVar[Verb]
    VERB_UPDATE: _ClassVar[Verb]
    VERB_DROP: _ClassVar[Verb]
    VERB_MOVE: _ClassVar[Verb]
ISOLATION_UNSPECIFIED: Isolation
ISOLATION_SNAPSHOT: Isolation
ISOLATION_SERIALIZABLE: Isolation
VERB_UNSPECIFIED: Verb
VERB_CREATE: Verb
VERB_UPDATE: Verb
VERB_DROP: Verb
VERB_MOVE: Verb

class Value(_message.Message):
    __slots__ = ("inline", "file")
    INLINE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    inline: bytes
    file: str
    def __init__(self, inline: _Optional[bytes] = ..., file: _Optional[str] = ...) -> None: ...

class DefinitionFile(_message.Message):
    __slots__ = ("attempt_id", "definition")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    definition: bytes
    def __init__(self, attempt_id: _Optional[str] = ..., definition: _Optional[bytes] = ...) -> None: ...

class CatalogDefinition(_message.Message):
    __slots__ = ("catalog_id", "properties", "created_at_ms", "limits")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CATALOG_ID_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    catalog_id: str
    properties: _containers.ScalarMap[str, str]
    created_at_ms: int
    limits: TreeLimits
    def __init__(self, catalog_id: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., created_at_ms: _Optional[int] = ..., limits: _Optional[_Union[TreeLimits, _Mapping]] = ...) -> None: ...

class TreeLimits(_message.Message):
    __slots__ = ("node_bytes", "node_rows", "buffer_bytes", "buffer_rows", "inline_bytes")
    NODE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NODE_ROWS_FIELD_NUMBER: _ClassVar[int]
    BUFFER_BYTES_FIELD_NUMBER: _ClassVar[int]
    BUFFER_ROWS_FIELD_NUMBER: _ClassVar[int]
    INLINE_BYTES_FIELD_NUMBER: _ClassVar[int]
    node_bytes: int
    node_rows: int
    buffer_bytes: int
    buffer_rows: int
    inline_bytes: int
    def __init__(self, node_bytes: _Optional[int] = ..., node_rows: _Optional[int] = ..., buffer_bytes: _Optional[int] = ..., buffer_rows: _Optional[int] = ..., inline_bytes: _Optional[int] = ...) -> None: ...

class NamespaceDefinition(_message.Message):
    __slots__ = ("properties",)
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    properties: _containers.ScalarMap[str, str]
    def __init__(self, properties: _Optional[_Mapping[str, str]] = ...) -> None: ...

class TableDefinition(_message.Message):
    __slots__ = ("table_uuid", "metadata_location")
    TABLE_UUID_FIELD_NUMBER: _ClassVar[int]
    METADATA_LOCATION_FIELD_NUMBER: _ClassVar[int]
    table_uuid: str
    metadata_location: str
    def __init__(self, table_uuid: _Optional[str] = ..., metadata_location: _Optional[str] = ...) -> None: ...

class ViewDefinition(_message.Message):
    __slots__ = ("view_uuid", "metadata_location")
    VIEW_UUID_FIELD_NUMBER: _ClassVar[int]
    METADATA_LOCATION_FIELD_NUMBER: _ClassVar[int]
    view_uuid: str
    metadata_location: str
    def __init__(self, view_uuid: _Optional[str] = ..., metadata_location: _Optional[str] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("transaction_id", "committed", "reason", "decided_at_ms", "version")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECIDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    transaction_id: str
    committed: bool
    reason: str
    decided_at_ms: int
    version: int
    def __init__(self, transaction_id: _Optional[str] = ..., committed: _Optional[bool] = ..., reason: _Optional[str] = ..., decided_at_ms: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class IdempotentAnswer(_message.Message):
    __slots__ = ("request_hash", "answered_at_ms", "answer")
    REQUEST_HASH_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    request_hash: bytes
    answered_at_ms: int
    answer: bytes
    def __init__(self, request_hash: _Optional[bytes] = ..., answered_at_ms: _Optional[int] = ..., answer: _Optional[bytes] = ...) -> None: ...

class PurgeWish(_message.Message):
    __slots__ = ("metadata_location", "requested_at_ms", "key")
    METADATA_LOCATION_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    metadata_location: str
    requested_at_ms: int
    key: bytes
    def __init__(self, metadata_location: _Optional[str] = ..., requested_at_ms: _Optional[int] = ..., key: _Optional[bytes] = ...) -> None: ...

class TransactionRecord(_message.Message):
    __slots__ = ("transaction_id", "isolation", "base_version", "actions", "reads", "ordered_backwards", "agent", "ordered_before")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    BASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    ORDERED_BACKWARDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ORDERED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    transaction_id: str
    isolation: Isolation
    base_version: int
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    reads: ReadSet
    ordered_backwards: bool
    agent: str
    ordered_before: Place
    def __init__(self, transaction_id: _Optional[str] = ..., isolation: _Optional[_Union[Isolation, str]] = ..., base_version: _Optional[int] = ..., actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ..., reads: _Optional[_Union[ReadSet, _Mapping]] = ..., ordered_backwards: _Optional[bool] = ..., agent: _Optional[str] = ..., ordered_before: _Optional[_Union[Place, _Mapping]] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("version", "position")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    version: int
    position: int
    def __init__(self, version: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("verb", "key", "target", "summary")
    VERB_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    verb: Verb
    key: bytes
    target: bytes
    summary: str
    def __init__(self, verb: _Optional[_Union[Verb, str]] = ..., key: _Optional[bytes] = ..., target: _Optional[bytes] = ..., summary: _Optional[str] = ...) -> None: ...

class ReadSet(_message.Message):
    __slots__ = ("points", "ranges")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[PointRead]
    ranges: _containers.RepeatedCompositeFieldContainer[RangeRead]
    def __init__(self, points: _Optional[_Iterable[_Union[PointRead, _Mapping]]] = ..., ranges: _Optional[_Iterable[_Union[RangeRead, _Mapping]]] = ...) -> None: ...

class PointRead(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    def __init__(self, key: _Optional[bytes] = ...) -> None: ...

class RangeRead(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: bytes
    high: bytes
    def __init__(self, low: _Optional[bytes] = ..., high: _Optional[bytes] = ...) -> None: ...

class CommittedAnswer(_message.Message):
    __slots__ = ("version", "written", "note")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    version: int
    written: _containers.RepeatedCompositeFieldContainer[WrittenObject]
    note: bytes
    def __init__(self, version: _Optional[int] = ..., written: _Optional[_Iterable[_Union[WrittenObject, _Mapping]]] = ..., note: _Optional[bytes] = ...) -> None: ...

class WrittenObject(_message.Message):
    __slots__ = ("key", "definition")
    KEY_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    definition: bytes
    def __init__(self, key: _Optional[bytes] = ..., definition: _Optional[bytes] = ...) -> None: ...
