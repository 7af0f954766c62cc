"""Branches and tags that both changed: what adds to a branch joins, what rolls it back or replaces it does not."""

from __future__ import annotations

import pytest

from catalog_format.errors import ConflictError
from tests.unit.iceberg.examples import set_ref
from tests.unit.iceberg.joining.harness import Json, Table, data, head, path, table


async def own(lake: Table, first_id: int = 100, branch: str = "main", base: Json | None = None) -> list[Json]:
    return await lake.writer(first_id, base).write("append", [data(f"own{first_id}")], branch=branch)


async def rival(lake: Table, base: Json | None = None) -> list[Json]:
    return await lake.writer(200, base).write("append", [data("rival")])


@pytest.mark.parametrize(
    ("name", "updates", "refusal"),
    [
        ("rolled back", [set_ref("main", 2)], "rolled back or replaced meanwhile: 3 is not among the ancestors of 2"),
        ("dropped", [{"action": "remove-snapshot-ref", "ref-name": "main"}], "main was dropped"),
    ],
)
async def test_a_branch_that_does_not_lead_on(name: str, updates: list[Json], refusal: str) -> None:
    lake = await table(2)
    winner = lake.apply(lake.base, updates)
    with pytest.raises(ConflictError, match=refusal):
        await lake.join(winner, await own(lake))
    with pytest.raises(ConflictError, match=refusal):
        await lake.ask(winner, await own(lake))


async def test_rolled_back_and_appended_to() -> None:
    lake = await table(2)
    back = lake.apply(lake.base, [set_ref("main", 2)])
    winner = lake.apply(back, await rival(lake, back))
    with pytest.raises(ConflictError, match="branch main was rolled back or replaced meanwhile"):
        await lake.join(winner, await own(lake))


async def test_a_branch_that_both_made() -> None:
    lake = await table(2)
    lake.base = lake.apply(lake.base, [{"action": "remove-snapshot-ref", "ref-name": "dev"}])
    updates = await own(lake, branch="dev")
    winner = lake.apply(lake.base, [set_ref("dev", 1)])
    for join in (lake.join, lake.ask):
        with pytest.raises(ConflictError, match="both created branch or tag dev"):
            await join(winner, updates)


async def test_what_was_added_was_removed_again() -> None:
    """Others appended, and expired what the own snapshot was made on."""
    lake = await table(2)
    appended = lake.apply(lake.base, await rival(lake))
    winner = lake.apply(appended, [{"action": "remove-snapshots", "snapshot-ids": [3]}])
    updates = [one for one in await own(lake) if one["action"] == "add-snapshot"]
    with pytest.raises(ConflictError, match="3, the parent of snapshot 100, was removed"):
        await lake.ask(winner, updates)
    with pytest.raises(ConflictError, match="3, which branch main led to, was removed"):
        await lake.ask(winner, await own(lake, 110))


async def test_a_rollback_inside_is_no_append_to_the_branch() -> None:
    """Rolled back, then appended to: nobody else may have moved the branch."""
    lake = await table(2)
    updates = [set_ref("main", 2)]
    updates += await own(lake, base=lake.apply(lake.base, updates))
    with pytest.raises(ConflictError, match="both moved branch or tag main"):
        await lake.join(lake.apply(lake.base, await rival(lake)), updates)
    elsewhere = lake.apply(lake.base, await lake.writer(300).write("append", [data("rival")], branch="dev"))
    after = await lake.join(elsewhere, updates)
    assert await lake.paths(after) == {"a1", "a2", "b1", "b2", "own100"}
    assert head(after)["parent-snapshot-id"] == 2


@pytest.mark.parametrize("summary", [{"published_wap_id": "w1"}, {"source_snapshot_id": "50"}])
async def test_what_is_staged_is_published_once(summary: dict[str, str]) -> None:
    lake = await table(2)
    staged = await lake.writer(50).write("append", [data("staged")], branch=None, wap_id="w1")
    lake.base = lake.apply(lake.base, staged)
    updates = await lake.writer(100).write("append", [data("staged")], **summary)
    winner = lake.apply(lake.base, await lake.writer(200).write("append", [data("staged")], published_wap_id="w1", source_snapshot_id="50"))
    with pytest.raises(ConflictError, match="published meanwhile"):
        await lake.join(winner, updates)
    other = lake.apply(lake.base, await lake.writer(300).write("append", [data("new")], published_wap_id="w2", source_snapshot_id="51"))
    assert "staged" in await lake.paths(await lake.join(other, updates))


@pytest.mark.parametrize(
    ("members", "refusal"),
    [({"key-id": "k"}, "snapshot 200 is encrypted"), ({"manifest-list": None, "manifests": [path("m")]}, "200 has no manifest list")],
)
async def test_manifests_that_nobody_can_look_into(members: Json, refusal: str) -> None:
    lake = await table(1)
    updates = await rival(lake)
    updates[0]["snapshot"] |= members
    with pytest.raises(ConflictError, match=refusal):
        await lake.ask(lake.apply(lake.base, updates), await own(lake))
    with pytest.raises(ConflictError, match=refusal):
        await lake.ask(lake.apply(lake.base, await own(lake, 300)), updates)


async def test_a_partition_spec_that_own_files_need() -> None:
    lake = await table(2)
    lake.base = lake.apply(lake.base, [{"action": "add-spec", "spec": {"spec-id": 1, "fields": []}}])
    updates = await lake.writer(100).write("append", [data("new", None, spec_id=1)])
    winner = lake.apply(lake.base, [{"action": "remove-partition-specs", "spec-ids": [1]}])
    with pytest.raises(ConflictError, match="partition spec 1, which its files were written with, was removed"):
        await lake.join(winner, updates)
    assert "own110" in await lake.paths(await lake.join(winner, await own(lake, 110)))
