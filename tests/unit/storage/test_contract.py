"""One suite, every store: what the protocol promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog_format.storage import CountingStorage, LocalStorage, MemoryStorage, Storage, open_storage

pytest_plugins = ["tests.support.fixtures_s3"]

ODD_NAMES = [
    "vn/" + "01" * 32,
    "dtxn-open/0f",
    "with space",
    "ünï/cødé 日本",
    "per%cent%20",
    "plus+and=equals===",
    "question?mark#hash",
    "star*[a-z]{x}",
    "am&per;sand'\"<>",
    "~tilde/.hidden/..double/...",
    "back\\slash",
    "deep/" + "/".join("abcdefgh") + "/file",
    "tmp-not-temporary",
]


@pytest.fixture(params=["memory", "local", pytest.param("s3", marks=pytest.mark.s3)])
async def storage(request: pytest.FixtureRequest) -> AsyncIterator[Storage]:
    store = _make(request)
    yield store
    await store.close()


def _make(request: pytest.FixtureRequest) -> Storage:
    match request.param:
        case "memory":
            return MemoryStorage()
        case "local":
            tmp_path: Path = request.getfixturevalue("tmp_path")
            return LocalStorage(tmp_path / "not" / "yet" / "there")
        case _:
            bucket = request.getfixturevalue("s3_bucket")
            return open_storage(f"s3://{bucket}/some/prefix", request.getfixturevalue("s3_server").options)


async def test_url_has_no_trailing_slash(storage: Storage) -> None:
    assert "://" in storage.url
    assert not storage.url.endswith("/")


async def test_put_then_get(storage: Storage) -> None:
    assert await storage.put_if_absent("a/b", b"one") is True
    assert await storage.get("a/b") == b"one"
    assert await storage.exists("a/b") is True


async def test_second_put_loses_and_changes_nothing(storage: Storage) -> None:
    assert await storage.put_if_absent("a", b"one")
    assert await storage.put_if_absent("a", b"two") is False
    assert await storage.put_if_absent("a", b"one") is False
    assert await storage.get("a") == b"one"


async def test_missing_file(storage: Storage) -> None:
    with pytest.raises(FileNotFoundError, match="a/b"):
        await storage.get("a/b")
    assert await storage.exists("a/b") is False
    await storage.delete("a/b")
    assert await storage.list("") == []
    assert await storage.list("a") == []


async def test_a_folder_is_not_a_file(storage: Storage) -> None:
    await storage.put_if_absent("a/b/c", b"x")
    assert await storage.exists("a/b") is False
    with pytest.raises(FileNotFoundError):
        await storage.get("a/b")
    await storage.delete("a/b")
    assert await storage.get("a/b/c") == b"x"


async def test_replace_creates_and_overwrites(storage: Storage) -> None:
    await storage.replace("vn/latest", b"1")
    assert await storage.get("vn/latest") == b"1"
    await storage.replace("vn/latest", b"22")
    assert await storage.get("vn/latest") == b"22"
    assert await storage.put_if_absent("vn/latest", b"3") is False


async def test_put_after_replace_and_delete(storage: Storage) -> None:
    await storage.put_if_absent("a", b"1")
    await storage.replace("a", b"2")
    await storage.delete("a")
    assert await storage.exists("a") is False
    await storage.delete("a")
    assert await storage.put_if_absent("a", b"3") is True
    assert await storage.get("a") == b"3"


async def test_list_is_recursive_sorted_and_by_folder(storage: Storage) -> None:
    names = ["a", "b/2", "b/1", "b/c/3", "bb/1", "b.txt", "z/z/z/z"]
    for name in names:
        await storage.put_if_absent(name, b"x")
    assert await storage.list("") == sorted(names)
    assert await storage.list("b") == ["b/1", "b/2", "b/c/3"]
    assert await storage.list("b/c") == ["b/c/3"]
    assert await storage.list("a") == []
    assert await storage.list("z/z") == ["z/z/z/z"]
    await storage.delete("b/c/3")
    assert await storage.list("b/c") == []


async def test_pages_hold_what_a_list_holds(storage: Storage) -> None:
    for name in ("a", "b/2", "b/c/3", "bb/1"):
        await storage.put_if_absent(name, b"x")
    for prefix in ("", "b", "a", "none"):
        pages = [page async for page in storage.pages(prefix)]
        assert pages and sorted(path for page in pages for path in page) == await storage.list(prefix)


async def test_list_beyond_one_page(storage: Storage) -> None:
    # S3 lists a thousand names a page.
    gate = asyncio.Semaphore(16)

    async def put(number: int) -> None:
        async with gate:
            await storage.put_if_absent(f"many/{number:04}", b"")

    await asyncio.gather(*(put(number) for number in range(1003)))
    expected = [f"many/{number:04}" for number in range(1003)]
    assert await storage.list("many") == expected
    assert sorted([path async for page in storage.pages("many") for path in page]) == expected


@pytest.mark.parametrize("size", [0, 1, 255, 65_536, (1 << 20) - 1, (1 << 20) + 1, 3 << 20])
async def test_binary_content_of_any_size(storage: Storage, size: int) -> None:
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    assert await storage.put_if_absent("put", data)
    await storage.replace("replaced", data)
    assert await storage.get("put") == data
    assert await storage.get("replaced") == data


async def test_stored_bytes_do_not_follow_the_callers_buffer(storage: Storage) -> None:
    buffer = bytearray(b"before")
    await storage.put_if_absent("a", bytes(buffer))
    buffer[:] = b"after!"
    assert await storage.get("a") == b"before"


async def test_odd_names_stay_apart(storage: Storage) -> None:
    for name in ODD_NAMES:
        assert await storage.put_if_absent(name, name.encode()), name
    assert await storage.list("") == sorted(ODD_NAMES)
    for name in ODD_NAMES:
        assert await storage.get(name) == name.encode()
        assert await storage.exists(name)
        await storage.delete(name)
        assert not await storage.exists(name)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/a",
        "a/",
        ".",
        "..",
        "../a",
        "a/../b",
        "a/..",
        "./a",
        "a/./b",
        "a\0b",
        "a\x1fb",
        "a\nb",
        ".tmp-1",
        "a/.tmp-1",
        "a?versionId=1",
    ],
)
async def test_paths_outside_the_root_are_refused(storage: Storage, path: str) -> None:
    for attempt in (
        storage.get(path),
        storage.put_if_absent(path, b""),
        storage.replace(path, b""),
        storage.delete(path),
        storage.exists(path),
    ):
        with pytest.raises(ValueError, match="not a path"):
            await attempt
    if path:
        with pytest.raises(ValueError, match="not a path"):
            await storage.list(path)


async def test_of_many_tasks_one_wins(storage: Storage) -> None:
    for turn in range(10):
        won = await asyncio.gather(*(storage.put_if_absent(f"race/{turn}", b"%d" % task) for task in range(12)))
        assert won.count(True) == 1
        assert await storage.get(f"race/{turn}") == b"%d" % won.index(True)
    assert len(await storage.list("race")) == 10


async def test_a_lost_race_sees_the_winner(storage: Storage) -> None:
    async def contend(task: int) -> tuple[bool, bytes]:
        return await storage.put_if_absent("a/b/c", b"%d" % task), await storage.get("a/b/c")

    outcomes = await asyncio.gather(*(contend(task) for task in range(8)))
    assert len({data for _, data in outcomes}) == 1


async def test_replaces_are_never_torn(storage: Storage) -> None:
    versions = [bytes([letter]) * 300_000 for letter in b"abcd"]
    await storage.replace("hint", versions[0])
    writing = True

    async def write(data: bytes) -> None:
        for _ in range(8):
            await storage.replace("hint", data)

    async def read() -> int:
        reads = 0
        while writing:
            assert await storage.get("hint") in versions
            assert await storage.list("") == ["hint"]
            reads += 1
        return reads

    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(read()) for _ in range(2)]
        await asyncio.gather(*(write(data) for data in versions))
        writing = False
    assert all(reader.result() for reader in readers)


async def test_works_the_same_when_counted(storage: Storage) -> None:
    counting = CountingStorage(storage)
    with counting.measure() as calls:
        assert await counting.put_if_absent("a", b"123")
        assert await counting.get("a") == b"123"
        await counting.replace("a", b"45")
        assert await counting.exists("a")
        assert await counting.list("") == ["a"]
        await counting.delete("a")
    assert [verb for verb, _ in calls.pairs()] == ["put_if_absent", "get", "replace", "exists", "list", "delete"]
    assert (calls.sent_bytes, calls.received_bytes) == (5, 3)
    assert counting.url == storage.url
