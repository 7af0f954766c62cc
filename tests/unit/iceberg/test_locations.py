"""What lies below the root, however it is spelled."""

from __future__ import annotations

import pytest

from catalog_format.iceberg.locations import Locations


@pytest.mark.parametrize(
    ("root", "location", "below"),
    [
        ("file:///wh", "FILE:///wh/data/t", "data/t"),
        ("file:///wh", "file:////wh///data//t", "data/t"),
        ("file:///wh", "./data/t", "data/t"),
        ("file:///wh", "file:///wh/", None),
        ("file:///wh", "file:///wh2/data", None),
        ("file:///wh", "file:///wh/data/../../etc", "data/../../etc"),
        ("memory://wh", "MEMORY://wh/data/t", "data/t"),
        ("s3://b", "S3A://b/data/t", "data/t"),
        ("s3://b/wh", "s3://b/wh/data//t", "data//t"),
        ("s3://b/wh", "s3://b//wh/data/t", None),
        ("gs://b/wh", "gcs://b/wh/t", "t"),
        ("abfss://c@a.dfs.core.windows.net/wh", "abfs://c@a.dfs.core.windows.net/wh/t", "t"),
        ("s3://b/wh", "gs://b/wh/t", None),
        ("s3://b/wh", "hdfs://b/wh/t", None),
    ],
)
def test_below_the_root(root: str, location: str, below: str | None) -> None:
    assert Locations(root).below_root(location) == below


@pytest.mark.parametrize("location", ["./data//t", "s3://b/wh/data/t", "s3a://b//wh///data/t", "S3://b/wh/data/./x/../t"])
def test_what_may_be_one_place_is_one_to_compare(location: str) -> None:
    assert Locations("s3://b/wh").place_below_root(location) == "data/t"
    assert Locations("s3://b/elsewhere").place_below_root("s3a://b/wh/data/t") is None
