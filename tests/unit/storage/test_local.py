"""What is particular to a folder as a store."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog_format.errors import StoreDeniedError
from catalog_format.storage import LocalStorage, local

_REPOSITORY = Path(__file__).resolve().parents[3]
_MODULE = "tests.unit.storage.local_process"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter (`tmp_path` belongs to one user alone)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _in_process(*arguments: str, prefix: tuple[str, ...] = ()) -> dict[str, str]:
    command = [*prefix, sys.executable, "-m", _MODULE, *arguments]
    done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


async def _contents(store: LocalStorage) -> dict[str, bytes]:
    return {name: await store.get(name) for name in await store.list("")}


def _temporary_files(folder: Path) -> list[Path]:
    return list(folder.rglob(".tmp-*"))


async def test_url_is_the_path_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LocalStorage("/").url == "file://"
    assert LocalStorage("/a b/c%20d/").url == "file:///a b/c%20d"
    monkeypatch.chdir(tmp_path)
    assert LocalStorage("x/y").url == f"file://{tmp_path}/x/y"


async def test_the_whole_file_system_can_be_a_store(tmp_path: Path) -> None:
    store = LocalStorage("/")
    path = str(tmp_path / "a").lstrip("/")
    assert await store.put_if_absent(path, b"x")
    assert (tmp_path / "a").read_bytes() == b"x"
    assert await store.list(str(tmp_path).lstrip("/")) == [path]


async def test_two_stores_on_one_folder_agree(tmp_path: Path) -> None:
    one, two = LocalStorage(tmp_path), LocalStorage(str(tmp_path) + "/")
    assert await one.put_if_absent("a/b", b"x")
    assert not await two.put_if_absent("a/b", b"y")
    assert await two.get("a/b") == b"x"


async def test_no_temporary_file_stays(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    for _ in range(2):
        await store.put_if_absent("a/b", b"x")
        await store.replace("a/c", b"y")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b", "c"]


async def test_a_dead_writers_temporary_file_is_invisible(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    (tmp_path / "vn").mkdir()
    (tmp_path / "vn" / ".tmp-0123").write_bytes(b"half a fi")
    assert await store.list("") == []
    assert await store.put_if_absent("vn/1", b"x")
    assert await store.list("") == ["vn/1"]


@pytest.mark.processes
def test_a_killed_writer_leaves_whole_files_or_none(tmp_path: Path) -> None:
    for turn in range(4):
        folder = tmp_path / str(turn)
        command = [sys.executable, "-m", _MODULE, "endless", str(folder)]
        with subprocess.Popen(command, cwd=_REPOSITORY, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(turn + 1):
                acknowledged = int(writer.stdout.readline())
            writer.kill()
        found = asyncio.run(_contents(LocalStorage(folder)))
        assert {f"vn/{number}" for number in range(acknowledged)} <= found.keys()
        for name, data in found.items():
            assert data == b"%08d" % int(name.removeprefix("vn/")) * 100_000


@pytest.mark.processes
def test_no_permission_is_denied(open_folder: Path) -> None:
    held = open_folder / "held"
    held.mkdir()
    (held / "file").write_bytes(b"x")
    (held / "file").chmod(0o000)
    held.chmod(0o555)
    try:
        outcome = _in_process("denied", str(open_folder))
    finally:
        held.chmod(0o755)
    assert outcome == {
        "get": "StoreDeniedError",
        "exists": "True",
        "list": "['held/file']",
        "put_if_absent": "StoreDeniedError",
        "put_in_new_folder": "StoreDeniedError",
        "replace": "StoreDeniedError",
        "delete": "StoreDeniedError",
    }
    assert [path.name for path in held.iterdir()] == ["file"]


@pytest.mark.processes
def test_a_closed_folder_is_denied_even_to_look_at(open_folder: Path) -> None:
    held = open_folder / "held"
    held.mkdir()
    (held / "file").write_bytes(b"x")
    held.chmod(0o000)
    try:
        outcome = _in_process("denied", str(open_folder))
    finally:
        held.chmod(0o755)
    assert outcome.pop("put_if_absent") == "StoreDeniedError"
    assert set(outcome.values()) == {"StoreDeniedError"}


@pytest.mark.processes
@pytest.mark.parametrize("shortage", ["cramped", "full"])
def test_no_room_leaves_nothing(open_folder: Path, shortage: str) -> None:
    folder = str(open_folder)
    if shortage == "cramped":
        outcome = _in_process("cramped", folder)
        assert not any(path.is_file() for path in open_folder.rglob("*"))
    else:
        # A file system of 256 KiB, where users may mount one of their own.
        mount = ("unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o size=256k none "$0" && exec "$@"', folder)
        if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a tmpfs")
        count_left = ("sh", "-c", '"$@"; find "$0" -type f | sed "s/^/left /"', folder)
        outcome = _in_process("full", folder, prefix=(*mount, *count_left))
        assert "left" not in outcome
    assert outcome == {
        "get": "FileNotFoundError",
        "exists": "False",
        "list": "[]",
        "put_if_absent": "StoreFullError",
        "put_in_new_folder": "StoreFullError",
        "replace": "StoreFullError",
        "delete": "None",
    }


async def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    await store.put_if_absent("a", b"x")
    assert await store.exists("a/b") is False
    assert await store.list("a") == []
    await store.delete("a/b")
    with pytest.raises(FileNotFoundError):
        await store.get("a/b")
    with pytest.raises(StoreDeniedError, match="part of that path is a file"):
        await store.put_if_absent("a/b", b"y")
    assert _temporary_files(tmp_path) == []


async def test_a_file_system_that_takes_no_folders() -> None:
    with pytest.raises(StoreDeniedError, match=r"no folder can be made at /proc/lake: the file system takes none there"):
        await LocalStorage("/proc/lake").put_if_absent("vn/0", b"x")


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP])
async def test_a_file_system_without_hard_links(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(code, os.strerror(code))

    # A file system without links cannot be mounted by a test.
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StoreDeniedError, match="a file system with hard links is needed"):
        await LocalStorage(tmp_path).put_if_absent("a", b"x")
    assert list(tmp_path.iterdir()) == []


async def test_links_are_followed_to_files_only(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path / "root")
    await store.put_if_absent("a", b"x")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root")
    (tmp_path / "root" / "link").symlink_to("a")
    assert await store.list("") == ["a", "link"]
    assert await store.get("link") == b"x"
    (tmp_path / "root" / "dangling").symlink_to("nowhere")
    assert await store.put_if_absent("dangling", b"y") is False


async def test_large_folders_are_listed_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PAGE", 3)
    store = LocalStorage(tmp_path)
    names = [f"a/{number}" for number in range(4)] + [f"b/{number}" for number in range(3)]
    for name in names:
        await store.put_if_absent(name, b"x")
    pages = [page async for page in store.pages("")]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert sorted(path for page in pages for path in page) == names == await store.list("")
