"""Settings: flags over environment over file, and errors in one line that name the setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from irc_server.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "TREELINE_ROOTS", "TREELINE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, text: str) -> Path:
    file = folder / "treeline.toml"
    file.write_text(text)
    return file


def test_flags_beat_the_environment_and_that_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, 'roots = ["one=/a"]\nport = 1\nnode_cache_mib = 2\nbody_limit_mib = 3\n')
    monkeypatch.setenv("TREELINE_PORT", "10")
    monkeypatch.setenv("TREELINE_NODE_CACHE_MIB", "20")
    settings = load_settings({"port": 100}, file)
    assert (settings.port, settings.node_cache_mib, settings.body_limit_mib) == (100, 20, 3)
    assert settings.named_roots() == {"one": "/a"}


def test_roots_in_the_environment_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_ROOTS", "a=/x, b=s3://bucket/p=q ,")
    assert load_settings({}, None).named_roots() == {"a": "/x", "b": "s3://bucket/p=q"}


@pytest.mark.parametrize(
    ("root", "named"),
    [
        ("/a/b", {"treeline": "/a/b"}),
        ("/a/x=y", {"treeline": "/a/x=y"}),
        ("s3://bucket/x=y", {"treeline": "s3://bucket/x=y"}),
        ("lake.1-a_B=file:///a", {"lake.1-a_B": "file:///a"}),
    ],
)
def test_a_root_is_a_url_with_or_without_a_name(root: str, named: dict[str, str]) -> None:
    assert Settings(roots=[root]).named_roots() == named


@pytest.mark.parametrize(
    ("roots", "says"),
    [
        ([], "none is given"),
        (["a=/x", "a=/y"], "two are called a"),
        (["/x", "/y"], "two are called treeline"),
        (["a="], "has no URL"),
        (["a@b=/x"], "must be"),
        (["a b=/x"], "must be"),
        (["ä=/x"], "must be"),
        (["namespaces=/x"], "means something else"),
        (["..=/x"], "means something else"),
    ],
)
def test_roots_that_make_no_sense(roots: list[str], says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says) as told:
        Settings(roots=roots).named_roots()
    assert told.value.message.startswith("roots: ")


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ({"port": 70000}, "port"),
        ({"port": "x"}, "port"),
        ({"max_staleness_ms": -1}, "max_staleness_ms"),
        ({"token": " "}, "token"),
        ({"nonsense": 1}, "nonsense"),
        ({"host": "0.0.0.0"}, "allow-open-access"),
    ],
)
def test_errors_name_the_setting_in_one_line(flags: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=name) as told:
        load_settings(flags, None)
    assert "\n" not in told.value.message


@pytest.mark.parametrize(("text", "says"), [("prot = 1", "prot"), ("port = ", "cannot be read"), ("token = 1", "token")])
def test_errors_in_the_file(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says) as told:
        load_settings({}, written(tmp_path, text))
    assert "\n" not in told.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="does not exist"):
        load_settings({}, tmp_path / "no.toml")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_other_hosts_need_a_token_or_consent(host: str) -> None:
    with pytest.raises(InvalidArgumentError, match="TREELINE_TOKEN"):
        load_settings({"host": host}, None)
    assert load_settings({"host": host, "token": "t"}, None).host == host
    assert load_settings({"host": host, "allow_open_access": True}, None).host == host


def test_the_token_is_not_shown() -> None:
    assert "secret" not in repr(load_settings({"token": "secret"}, None))


def test_clients_of_a_folder_need_nothing() -> None:
    assert Settings(s3_endpoint="http://minio:9000").client_config("/a") == {}


def test_clients_of_s3_are_told_how_to_reach_it_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://minio:9000")
    settings = load_settings({}, None)
    config = settings.client_config("s3://bucket/prefix")
    assert config["s3.endpoint"] == settings.store_options()["s3.endpoint"] == "http://minio:9000"
    assert (config["s3.path-style-access"], config["client.region"]) == ("true", "us-east-1")
    assert not any("key" in name or "secret" in value for name, value in config.items())


def test_a_provider_that_the_clients_find_themselves_is_not_named() -> None:
    assert set(Settings().client_config("s3://bucket")) == {"io-impl"}
    assert Settings(s3_region="eu-central-1").client_config("s3://bucket")["client.region"] == "eu-central-1"
    assert Settings(s3_endpoint="http://x", s3_path_style=False).client_config("s3://bucket")["s3.path-style-access"] == "false"
