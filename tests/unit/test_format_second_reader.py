"""A reader built from FORMAT.md reads catalogs that the code made, and sees in them what the code sees."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from catalog_format import keys, paths
from catalog_format.catalog import StoredCatalog
from catalog_format.changes import IsolationLevel
from catalog_format.distributed import image
from catalog_format.door import TransactionStatus
from catalog_format.errors import TransactionRefusedError
from catalog_format.keys import ObjectType
from catalog_format.reader import Reader
from catalog_format.scope import NewTable, RequestContext
from catalog_format.storage import LocalStorage
from tests.golden import example, make
from tests.support.catalogs import NEW_VIEW, SCHEMA, SMALL_TREE, ManualClock, TimelessFolder, make_table, opened, setting
from tests.support.compare_readers import compare_transaction, compare_version
from tests.support.second_reader import SecondReader
from tests.support.second_reader_messages import DamageError

EXAMPLE = make.FOLDER / make.EXAMPLE_CATALOG


async def fill(real: StoredCatalog, other: StoredCatalog) -> None:
    """Several hundred objects, changed, moved and dropped, by two processes."""
    names = [f"n{number:02}" for number in range(12)]
    for name in names:
        await real.main.create_namespace((name,), {"about": name * 200 if name == "n03" else name})
        await other.main.create_namespace((name, "été"), {})
    for name in names:
        tables = [(name, f"t{number}") for number in range(20)] + [(name, "été", f"t{number}") for number in range(4)]
        await asyncio.gather(*(real.main.create_table(table, NewTable(SCHEMA)) for table in tables))
        await other.main.create_view((name, "v"), NEW_VIEW)
    for name in names[::2]:
        await asyncio.gather(*(real.main.commit_tables([setting(name, f"t{number}", a="1")]) for number in range(0, 20, 5)))
        await asyncio.gather(*(other.main.drop_table((name, f"t{number}"), purge=number == 1) for number in range(1, 8)))
        await real.main.rename_table((name, "t9"), (names[1], f"moved-{name}"))
    context = RequestContext("second reader", "01890000-0000-7000-8000-00000000000a", b"hash")
    await real.main.update_namespace(("n01",), [], {"k": "v"}, context)


async def transact(real: StoredCatalog, store: LocalStorage) -> None:
    """Transactions that end in every way, or not at all."""
    begin = real.transactions.begin
    for name in ("open", "sealed", "lost-end", "rival", "refused", "rolled-back"):
        await begin(name, properties={"owner": "ana", "gone": "1"})
    await begin("reads", IsolationLevel.SERIALIZABLE)
    inside = await real.within("open")
    for number in range(40):
        await inside.commit_tables([setting("n00", "t0", **{f"p{number}": "1"})])
    await real.transactions.set_properties("open", ["gone"], {"step": "2"})
    await inside.drop_table(("n00", "t10"))
    await inside.rename_table(("n00", "t11"), ("n00", "t11b"))
    for name in ("lost-end", "sealed"):
        await make_table(await real.within(name), "n01", name)
    for name in ("rival", "refused"):
        await (await real.within(name)).commit_tables([setting("n01", "t1", same=name)])
    reading = await real.within("reads")
    await reading.load_table(("n01", "t2"))
    await reading.list_views(("n01",))
    first_state = await store.get(paths.open_transaction_path("lost-end"))
    for name in ("lost-end", "rival"):
        await real.transactions.commit(name)
    await real.transactions.rollback("rolled-back")
    with pytest.raises(TransactionRefusedError):
        await real.transactions.commit("refused")
    await real.transactions.close()
    # As if the process had died before it could repeat the verdict in the log.
    await store.delete(paths.transaction_state_path("lost-end", 3))
    await store.put_if_absent(paths.open_transaction_path("lost-end"), first_state)
    sealed = await real.logs.load("sealed")
    assert await real.logs.append(sealed, image.Delta(TransactionStatus.SEALED)) is not None


async def test_the_second_reader_sees_what_the_code_sees(tmp_path: Path) -> None:
    store, clock = TimelessFolder(tmp_path), ManualClock()
    async with opened(store, limits=SMALL_TREE, clock=clock) as real, opened(store, clock=clock) as other:
        await fill(real, other)
        await transact(real, store)
    (tmp_path / "vn/latest").write_text("77777777777777777777777")
    second = SecondReader(tmp_path)
    assert second.transaction("sealed").status == "SEALED"
    assert second.transaction("lost-end").status == "COMMITTED"
    for hint in ("", "-1", "3", "999999", "not a number"):
        (tmp_path / "vn/latest").write_text(hint)
        assert second.latest() == real.versions.known.version
    async with opened(store, clock=clock) as real:
        latest = await real.latest_version()
        assert second.check_chain() == latest
        for version in [*range(0, latest, 9), latest]:
            found = await compare_version(real, second, version)
        assert len(found) > 250 and second.root(latest).level >= 3
        assert any((tmp_path / "def").rglob("*.binpb"))
        for parent in ((), ("n01",), ("n01", "été"), ("none",)):
            low, high = keys.children_range(ObjectType.TABLE, parent)
            expected = [keys.identifier_of(key)[-1] async for key in Reader(real.versions.known, real.nodes, store).scan(low, high)]
            assert second.children(latest, "C", parent) == expected
        statuses = {name: await compare_transaction(real, second, name) for name in sorted(second.transaction_ids() - {"sealed"})}
        assert statuses == {
            "lost-end": "COMMITTED",
            "open": "OPEN",
            "reads": "OPEN",
            "refused": "REFUSED",
            "rival": "COMMITTED",
            "rolled-back": "ROLLED_BACK",
        }
        # The code finishes what the second reader may only report.
        assert (await real.transactions.load("sealed")).status is TransactionStatus.COMMITTED
        assert second.transaction("sealed").status == "COMMITTED"


@pytest.mark.parametrize("kind", ["vn/0010*", "node/*", "def/*/*", "dtxn-open/*", "dtxn/etl-7/1100*"])
def test_the_second_reader_notices_damage(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(EXAMPLE, folder)
    path = next(folder.glob(kind))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x20
    path.write_bytes(data)
    second = SecondReader(folder)
    with pytest.raises((DamageError, pa.ArrowException, OSError)):
        second.definitions(4)
        for transaction_id in second.transaction_ids():
            for sequence in range(second.transaction(transaction_id).sequence + 1):
                if sequence or transaction_id == example.OPEN_ID:
                    second.state(transaction_id, sequence)
