"""Chains of snapshots: which branch each own snapshot was made on, and what others have put on it since. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog_format.errors import ConflictError
from catalog_format.iceberg.metadata.snapshots import MAIN_BRANCH
from catalog_format.iceberg.metadata.table_fields import list_of, refs_of
from catalog_format.iceberg.metadata_state import Json


@dataclass(frozen=True)
class Place:
    """Where an own snapshot goes."""

    snapshot: Json
    parent: int | None
    """Its new parent: an own snapshot, or one of the winner's."""
    rivals: tuple[Json, ...]
    """What others have put on its branch since the base, oldest first."""


def places(winner: Json, heads: Mapping[str, int | None], updates: Sequence[Json]) -> list[Place]:
    """The places of the own snapshots, in the order in which they are added.

    Raises `ConflictError` if a branch or tag was moved by both in a way that cannot be joined, or a parent is gone.
    """
    own = {update["snapshot"]["snapshot-id"]: update["snapshot"] for update in updates if update["action"] == "add-snapshot"}
    known = {snapshot["snapshot-id"]: snapshot for snapshot in list_of(winner, "snapshots")}
    homes = _homes(own, heads, updates)
    _check_refs(winner, heads, own, updates, homes)
    found = dict[int, Place]()
    for snapshot_id, snapshot in own.items():
        parent = snapshot.get("parent-snapshot-id")
        if parent in found:
            found[snapshot_id] = Place(snapshot, parent, found[parent].rivals)
        elif snapshot_id in homes:
            head = _head(winner, homes[snapshot_id])
            found[snapshot_id] = Place(snapshot, head, _since(known, parent, head, homes[snapshot_id]))
        elif parent is None or parent in known:
            found[snapshot_id] = Place(snapshot, parent, ())
        else:
            raise ConflictError(f"{parent}, the parent of snapshot {snapshot_id}, was removed meanwhile")
    _check_published(winner, heads, own, updates, homes, found)
    return list(found.values())


def _homes(own: Mapping[int, Json], heads: Mapping[str, int | None], updates: Sequence[Json]) -> dict[int, str]:
    """The branch on which an own snapshot was made, if the snapshot's parent is what the branch led to in the base.

    It is the first branch that leads to the snapshot, or to one made on it.
    """
    first = dict[int, str]()
    for update in updates:
        if update["action"] == "set-snapshot-ref" and update["snapshot-id"] in own:
            first.setdefault(_root(own, update["snapshot-id"]), update["ref-name"])
    return {root: name for root, name in first.items() if own[root].get("parent-snapshot-id") == heads.get(name)}


def _root(own: Mapping[int, Json], snapshot_id: int) -> int:
    seen = set[int]()
    while snapshot_id not in seen:
        seen.add(snapshot_id)
        parent = own[snapshot_id].get("parent-snapshot-id")
        if parent is None or parent not in own:
            break
        snapshot_id = parent
    return snapshot_id


def _check_refs(
    winner: Json, heads: Mapping[str, int | None], own: Mapping[int, Json], updates: Sequence[Json], homes: Mapping[int, str]
) -> None:
    for update in updates:
        if update["action"] != "set-snapshot-ref":
            continue
        name = update["ref-name"]
        before, now = heads.get(name), _head(winner, name)
        if before == now:
            continue
        if before is None and name != MAIN_BRANCH:
            raise ConflictError(f"both created branch or tag {name}")
        if now is None:
            raise ConflictError(f"branch or tag {name} was dropped meanwhile")
        if update["snapshot-id"] not in own or homes.get(_root(own, update["snapshot-id"])) != name:
            raise ConflictError(f"both moved branch or tag {name}, and the own move does not add to what it led to")


def _check_published(
    winner: Json,
    heads: Mapping[str, int | None],
    own: Mapping[int, Json],
    updates: Sequence[Json],
    homes: Mapping[int, str],
    found: Mapping[int, Place],
) -> None:
    """A branch that is moved to what was made on another one would show what others put there meanwhile, unseen by who moves it."""
    for update in updates:
        if update["action"] == "set-snapshot-ref" and update["snapshot-id"] in own and heads.get(update["ref-name"]) is not None:
            home = homes.get(_root(own, update["snapshot-id"]))
            if home not in {None, update["ref-name"]} and found[update["snapshot-id"]].rivals:
                raise ConflictError(f"branch or tag {update['ref-name']} is moved to branch {home}, to which others have added meanwhile")


def _head(winner: Json, name: str) -> int | None:
    ref = refs_of(winner).get(name)
    return None if ref is None else int(ref["snapshot-id"])


def _since(known: Mapping[int, Json], base: int | None, head: int | None, name: str) -> tuple[Json, ...]:
    """The snapshots from the base's head (left out) to the winner's, oldest first."""
    chain = list[Json]()
    current = head
    while current != base:
        snapshot = None if current is None else known.get(current)
        if snapshot is None or len(chain) > len(known):
            raise ConflictError(f"branch {name} was rolled back or replaced meanwhile: {base} is not among the ancestors of {head}")
        chain.append(snapshot)
        current = snapshot.get("parent-snapshot-id")
    if base is not None and base not in known:
        raise ConflictError(f"{base}, which branch {name} led to, was removed meanwhile")
    return tuple(reversed(chain))
