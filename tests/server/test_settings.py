"""Settings: flags over environment over file, and errors that name the setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalog_format.errors import InvalidArgumentError
from irc_server.app import make_app
from irc_server.settings import Settings, load_settings

ROOTS = ["lake=memory://settings"]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says must not matter."""
    import os

    for name in list(os.environ):
        if name.startswith(("TREELINE_", "AWS_")):
            monkeypatch.delenv(name)


def file_with(folder: Path, text: str) -> Path:
    file = folder / "treeline.toml"
    file.write_text(text)
    return file


def test_defaults_are_safe() -> None:
    settings = load_settings({}, None)
    assert (settings.host, settings.port, settings.init, settings.token, settings.max_staleness_ms) == ("127.0.0.1", 8181, True, None, 0)
    assert not settings.allow_open_access


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_with(tmp_path, 'host = "localhost"\nport = 1\nbody_limit_mib = 3\nroots = ["a=memory://file"]\n')
    assert load_settings({}, file).port == 1
    monkeypatch.setenv("TREELINE_PORT", "2")
    monkeypatch.setenv("TREELINE_BODY_LIMIT_MIB", "4")
    settings = load_settings({"port": 3}, file)
    assert (settings.host, settings.port, settings.body_limit_mib) == ("localhost", 3, 4)
    assert settings.named_roots() == {"a": "memory://file"}
    assert load_settings({}, file).port == 2


def test_roots_in_the_environment_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_ROOTS", "a=memory://a, b=memory://b ,")
    assert load_settings({}, None).named_roots() == {"a": "memory://a", "b": "memory://b"}
    assert load_settings({"roots": ["c=memory://c"]}, None).named_roots() == {"c": "memory://c"}


def test_the_token_comes_from_the_environment_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_TOKEN", "very-secret")
    settings = load_settings({}, None)
    assert settings.token is not None
    assert settings.token.get_secret_value() == "very-secret"
    assert "very-secret" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", -1), ("port", 65536), ("port", "x"), ("port", 1.5), ("max_staleness_ms", -1), ("max_staleness_ms", 3_600_001),
        ("node_cache_mib", 0), ("response_cache_mib", -1),
        ("body_limit_mib", 0), ("body_limit_mib", 1025), ("idempotency_lifetime_minutes", 0), ("idempotency_lifetime_minutes", 1441),
        ("transaction_ttl_minutes", 0),
        ("expire_older_than_hours", 0), ("expire_older_than_hours", "7d"), ("keep_versions", 0), ("maintenance_interval_minutes", 0),
        ("maintenance_interval_minutes", 10081), ("protect_old_versions", "perhaps"),
        ("transaction_ttl_minutes", 10081), ("init", "perhaps"), ("request_log", 7), ("s3_path_style", "maybe"), ("token", ""),
        ("token", "  "), ("host", 5), ("roots", 5), ("roots", [5]),
        ("prot", 1), ("nonsense", 1),
    ],
)  # fmt: skip
def test_a_bad_value_is_named(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=name) as told:
        load_settings({name: value}, None)
    assert "\n" not in told.value.message
    text = repr(value).replace("'", '"')
    with pytest.raises(InvalidArgumentError, match=name):
        load_settings({}, file_with(tmp_path, f"{name} = {text}\n"))


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "x"), ("PORT", ""), ("INIT", "perhaps"), ("TOKEN", " "), ("BODY_LIMIT_MIB", "0"), ("S3_PATH_STYLE", "so")]
)
def test_a_bad_value_in_the_environment_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"TREELINE_{name}", value)
    with pytest.raises(InvalidArgumentError, match=f"(?i){name}"):
        load_settings({}, None)


def test_every_bad_value_is_named_at_once() -> None:
    with pytest.raises(InvalidArgumentError) as told:
        load_settings({"port": "x", "body_limit_mib": 0}, None)
    assert "port" in told.value.message
    assert "body_limit_mib" in told.value.message


@pytest.mark.parametrize("text", ["port = ", "= 1", "[", "\0"])
def test_a_file_that_is_no_toml_is_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"treeline\.toml"):
        load_settings({}, file_with(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for place in (tmp_path / "no.toml", tmp_path):
        with pytest.raises(InvalidArgumentError, match=str(place)):
            load_settings({}, place)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", ""])
def test_others_are_let_in_only_with_a_token_or_on_purpose(host: str) -> None:
    with pytest.raises(InvalidArgumentError, match="TREELINE_TOKEN"):
        load_settings({"host": host}, None)
    assert load_settings({"host": host, "token": "secret"}, None).host == host
    assert load_settings({"host": host, "allow_open_access": True}, None).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_machine_itself_needs_no_token(host: str) -> None:
    assert load_settings({"host": host}, None).token is None


@pytest.mark.parametrize(
    ("roots", "says"),
    [
        ([], "roots"), (["a="], "a"), (["=memory://x"], "name"), (["a b=memory://x"], "a b"), (["ä=memory://x"], "name"),
        (["x" * 65 + "=memory://x"], "name"), (["a=m://x"], "m://x"),
        (["a=memory://x", "a=memory://y"], "two"), (["memory://x", "memory://y"], "two"), (["namespaces=memory://x"], "namespaces"),
        ([".=memory://x"], "another name"), (["a=memory://x/y"], "memory://x/y"),
        (["a=s3://"], "s3://"), (["a=file://host/x"], "file://host/x"),
        (["a@b=/x"], "must be"), (["..=/x"], "means something else"),
    ],
)  # fmt: skip
async def test_a_root_that_makes_no_sense_is_named(roots: list[str], says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        app = make_app(Settings(roots=roots))
        async with app.router.lifespan_context(app):
            raise AssertionError("it started")


def test_a_root_needs_no_name() -> None:
    assert Settings(roots=["/data/a=b"]).named_roots() == {"treeline": "/data/a=b"}
    assert Settings(roots=["s3://bucket/a=b"]).named_roots() == {"treeline": "s3://bucket/a=b"}
    assert Settings(roots=["x-1.y_Z=/data"]).named_roots() == {"x-1.y_Z": "/data"}


def test_clients_are_told_how_to_reach_s3_and_never_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    settings = load_settings({"roots": ["a=s3://b/p"], "s3_endpoint": "http://s3.local:9000", "token": "hidden"}, None)
    told = settings.client_config("s3://b/p")
    assert told["s3.endpoint"] == "http://s3.local:9000"
    assert told["s3.path-style-access"] == "true"
    assert told["client.region"]
    assert told["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert "hidden" not in str(told) + str(settings.store_options())
    assert settings.client_config("file:///x") == settings.client_config("memory://x") == {}
    plain = load_settings({"s3_region": "eu-west-1"}, None).client_config("s3a://b")
    assert plain["client.region"] == "eu-west-1"
    assert "s3.endpoint" not in plain


def test_the_usual_variables_of_s3_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://minio:9000")
    settings = load_settings({}, None)
    config = settings.client_config("s3://bucket/prefix")
    assert config["s3.endpoint"] == settings.store_options()["s3.endpoint"] == "http://minio:9000"
    assert config["client.region"] == "us-east-1"


def test_a_provider_that_the_clients_find_themselves_is_not_named() -> None:
    assert set(Settings().client_config("s3://bucket")) == {"io-impl"}
    assert Settings(s3_endpoint="http://x", s3_path_style=False).client_config("s3://bucket")["s3.path-style-access"] == "false"
