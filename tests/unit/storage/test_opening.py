"""From URLs and locations to stores."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from catalog_format.errors import InvalidArgumentError
from catalog_format.storage import LocalStorage, StorageResolver, open_storage


@pytest.mark.parametrize("form", ["{path}", "file:{path}", "file://{path}", "file://localhost{path}", "FILE://{path}", "{path}/"])
async def test_forms_of_a_local_path(tmp_path: Path, form: str) -> None:
    store = open_storage(form.format(path=tmp_path))
    assert isinstance(store, LocalStorage)
    assert store.url == f"file://{tmp_path}"


async def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_storage("warehouse").url == f"file://{tmp_path}/warehouse"
    assert open_storage("./with:colon").url == f"file://{tmp_path}/with:colon"


async def test_memory_is_one_store_a_name() -> None:
    name = uuid.uuid4().hex
    await open_storage(f"memory://{name}").put_if_absent("a", b"x")
    assert await open_storage(f"memory://{name}/").get("a") == b"x"
    assert not await open_storage(f"memory://other-{name}").exists("a")


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("s3a://bucket/pre/fix/", "s3://bucket/pre/fix"),
        ("s3n://bucket/pre", "s3://bucket/pre"),
    ],
)
async def test_s3_needs_no_connection_to_open(url: str, opened: str) -> None:
    store = open_storage(url)
    assert store.url == opened
    await store.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/x", "file, memory, s3, gs, abfss"),
        ("hdfs:/x", "unknown scheme 'hdfs'"),
        ("s3://", "names no bucket"),
        ("s3:bucket/x", "names no bucket"),
        ("memory://", "names no bucket"),
        ("memory://name/folder", "no folders"),
        ("file://host/x", "three slashes"),
        ("file:x/y", "absolute"),
        ("s3://bucket/a/../b", "no root"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        open_storage(url)


def test_options_are_checked() -> None:
    open_storage("s3://bucket", {"gcs.project-id": "not mine", "s3.path-style-access": "TRUE"})
    with pytest.raises(InvalidArgumentError, match=r"s3\.end-point.*s3\.endpoint"):
        open_storage("s3://bucket", {"s3.end-point": "x"})
    with pytest.raises(InvalidArgumentError, match="true or false"):
        open_storage("s3://bucket", {"s3.path-style-access": "yes"})


async def test_resolver_knows_every_spelling_of_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "a b%20").write_bytes(b"x")
    resolver = StorageResolver()
    stores = set()
    for form in ("{}", "file:{}", "file://{}", "file://localhost{}"):
        store, path = resolver.resolve(form.format(tmp_path / "a b%20"))
        assert await store.get(path) == b"x"
        stores.add(store)
    assert len(stores) == 1
    await resolver.close()


async def test_resolver_keeps_one_store_a_bucket() -> None:
    resolver = StorageResolver()
    one, path = resolver.resolve("s3://b/k/metadata.json")
    assert path == "k/metadata.json"
    assert resolver.resolve("s3a://b/other") == (one, "other")
    assert resolver.resolve("s3://b/double//slash") == (one, "double//slash")
    other, _ = resolver.resolve("s3://c/k")
    assert other is not one
    await resolver.close()


async def test_resolver_shares_memory_stores() -> None:
    name = uuid.uuid4().hex
    await open_storage(f"memory://{name}").put_if_absent("a/b", b"x")
    store, path = StorageResolver().resolve(f"memory://{name}/a/b")
    assert await store.get(path) == b"x"


@pytest.mark.parametrize("location", ["s3://b", "s3://b/", "s3://b/a/", "s3://b/../c", "file:///", "s3:///x", "nonsense://b/k"])
def test_locations_that_name_no_file(location: str) -> None:
    with pytest.raises(InvalidArgumentError):
        StorageResolver().resolve(location)
