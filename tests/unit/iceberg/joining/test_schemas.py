"""Rows that were written with a schema that is not the current one any more."""

from __future__ import annotations

import pytest

from catalog_format.errors import ConflictError
from tests.support.snapshot_writer import equality_deletes
from tests.unit.iceberg.examples import DAY, ID, NAME, field, schema
from tests.unit.iceberg.joining.harness import Json, data, head, path, table


def change(*fields: Json) -> list[Json]:
    return [{"action": "add-schema", "schema": schema(*fields)}, {"action": "set-current-schema", "schema-id": -1}]


WIDER = change(*schema()["fields"], field(4, "x"))


async def test_a_snapshot_gets_the_current_schema() -> None:
    lake = await table(2)
    after = await lake.join(lake.apply(lake.base, WIDER), await lake.writer(100).write("append", [data("own")]))
    assert head(after)["schema-id"] == after["current-schema-id"] == 1
    # Its manifest list is the one that its writer made.
    assert head(after)["manifest-list"].endswith("metadata/snap-100.avro")


async def test_a_snapshot_of_the_own_new_schema_keeps_that() -> None:
    lake = await table(2)
    changed = lake.writer(100, lake.apply(lake.base, WIDER))
    own = WIDER + await changed.write("append", [data("own")])
    after = await lake.join(lake.apply(lake.base, await lake.writer(200).write("append", [data("rival")])), own)
    assert head(after)["schema-id"] == 1
    assert {"own", "rival"} <= await lake.paths(after)


async def test_equality_deletes_and_another_schema() -> None:
    lake = await table(2)
    own = await lake.writer(100).write("delete", [equality_deletes(path("e"), 1)])
    with pytest.raises(ConflictError, match=r"the columns of the equality deletes in .*e.parquet"):
        await lake.join(lake.apply(lake.base, WIDER), own)


async def test_a_plain_append_that_does_not_fit_the_schema() -> None:
    """The base's schema is not known then, but the snapshot says its own."""
    lake = await table(2)
    own = await lake.writer(100).write("append", [data("own")])
    for updates, fits in ((WIDER, True), (change(ID, NAME | {"required": True}, DAY), False)):
        winner = lake.apply(lake.base, updates)
        if fits:
            joined = await lake.joiner.join(winner, {"main": 3}, own, schema_id=None, appends_only=True)
            assert joined.updates[0]["snapshot"]["schema-id"] == 1
        else:
            with pytest.raises(ConflictError, match=r"append: its files were written with schema 0.*column name became required"):
                await lake.joiner.join(winner, {"main": 3}, own, schema_id=None, appends_only=True)
