"""The life of one table: under which key each version shows it, from its beginning to now or to its drop.

Tables that were registered from one another's metadata share their UUID, so neither that nor a metadata file tells them apart. What
does are the actions that every version records, and that outlive it in its stub: followed backwards from a key, through renames, they
lead to where the table was created or registered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from catalog_format.errors import LostFileError
from catalog_format.maintenance.parts import Parts
from catalog_format.node import Root
from catalog_format.objects import TableDefinition
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.reader import Reader

_ENDS_OR_BEGINS = frozenset({pb.VERB_CREATE, pb.VERB_DROP, pb.VERB_MOVE})


@dataclass(slots=True)
class TableLife:
    """Where one table was."""

    table_uuid: str
    newest: str
    """Its newest metadata file; locations are absolute here."""
    keys: dict[int, bytes] = field(default_factory=dict)
    """Of the versions that show it, those that were given up included."""
    locations: set[str] = field(default_factory=set)
    """The metadata files that kept versions name, and the newest."""


async def life_until_now(parts: Parts, key: bytes, latest: Root, first: int) -> TableLife | None:
    """Of the table that the latest version shows at a key, as far back as version `first`; None if there is none."""
    definition = await Reader(latest, parts.nodes, parts.storage).definition(key)
    if definition is None:
        return None
    table = TableDefinition.from_bytes(definition)
    life = TableLife(table.table_uuid, parts.locations.to_absolute(table.metadata_location))
    await _follow(parts, life, key, latest.version, latest.header.oldest, first)
    return life


async def life_until_drop(
    parts: Parts, table_uuid: str, metadata_location: str, key: bytes, dropped_in: int, oldest: int, first: int
) -> TableLife:
    """Of the table that a version dropped at a key, with these as its last metadata."""
    life = TableLife(table_uuid, metadata_location)
    actions = _backwards(await parts.versions.trace(dropped_in))
    if any(action.verb == pb.VERB_DROP and action.key == key for action in actions):
        # What is left of the iterator is what was done before.
        before = _key_before(actions, key)
        if before is not None:
            await _follow(parts, life, before, dropped_in - 1, oldest, first)
    life.locations.add(metadata_location)
    return life


async def _follow(parts: Parts, life: TableLife, key: bytes, last: int, oldest: int, first: int) -> None:
    """Go back from version `last`, at whose end the table has a key. Metadata files are looked up in versions from `oldest` on."""
    life.locations.add(life.newest)
    is_known = False
    for version in range(last, first - 1, -1):
        root = await parts.versions.trace(version)
        if not is_known and version >= oldest:
            table = await _table_at(parts, root, key)
            if table is not None:
                if table.table_uuid != life.table_uuid:
                    # Somebody registered one table over another.
                    return
                life.locations.add(parts.locations.to_absolute(table.metadata_location))
                is_known = True
        life.keys[version] = key
        if any(key in (action.key, action.target) for action in _backwards(root)):
            is_known = False
        before = _key_before(_backwards(root), key)
        if before is None:
            return
        key = before


async def _table_at(parts: Parts, root: Root, key: bytes) -> TableDefinition | None:
    """None if the version was given up, or is, so that nobody can tell."""
    if root.stub:
        return None
    try:
        definition = await Reader(root, parts.nodes, parts.storage).definition(key)
    except LostFileError:
        if root.version < (await parts.versions.confirm(anew=True)).header.oldest:
            return None
        raise
    return None if definition is None else TableDefinition.from_bytes(definition)


def _backwards(root: Root) -> Iterator[pb.Action]:
    """What a version did, the last action first."""
    for row in reversed(list(root.actions)):
        yield from reversed(pb.TransactionRecord.FromString(row.value or b"").actions)


def _key_before(actions: Iterator[pb.Action], key: bytes) -> bytes | None:
    """Under which key the table was before these actions, the last of them first; None if it began among them."""
    for action in actions:
        if action.verb == pb.VERB_MOVE and action.target == key:
            key = action.key
        elif action.verb in _ENDS_OR_BEGINS and action.key == key:
            return None
    return key
