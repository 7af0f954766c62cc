"""Settings of the server: flags over environment (`TREELINE_…`) over a TOML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from catalog_format.errors import InvalidArgumentError

DEFAULT_ROOT_NAME = "treeline"
_ROOT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Levels of paths: a prefix of that name could not be told from a path without prefix.
_RESERVED_NAMES = frozenset({"namespaces", "tables", "views", "transactions", "config", "oauth", ".", ".."})
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Settings(BaseSettings):
    """Everything that can be set. Sizes and times are in the unit that a name ends with."""

    model_config = SettingsConfigDict(env_prefix="TREELINE_", extra="forbid", frozen=True, populate_by_name=True)

    roots: Annotated[list[str], NoDecode] = Field(default_factory=list, description="[NAME=]URL of each catalog; commas in the environment")
    host: str = "127.0.0.1"
    port: int = Field(8181, ge=0, le=65535)
    init: bool = Field(True, description="create a catalog that is not there")
    allow_open_access: bool = False
    token: SecretStr | None = Field(None, description="static bearer token that every request must carry")
    max_staleness_ms: int = Field(0, ge=0, le=3_600_000)
    node_cache_mib: int = Field(40, ge=1, le=65536)
    response_cache_mib: int = Field(32, ge=0, le=65536)
    body_limit_mib: int = Field(64, ge=1, le=1024)
    idempotency_lifetime_minutes: int = Field(30, ge=1, le=1440)
    transaction_ttl_minutes: int = Field(60, ge=1, le=7 * 24 * 60, description="lifetime of transactions that do not ask for one")
    expire_older_than_hours: int | None = Field(None, ge=1, le=87_600, description="give up versions that were replaced longer ago")
    keep_versions: int = Field(10, ge=1, description="so many newest versions stay, however old")
    maintenance_interval_minutes: int = Field(60, ge=1, le=7 * 24 * 60)
    protect_old_versions: bool = Field(False, description="ask engines to delete no files of any table")
    request_log: bool = Field(True, description="a line on standard error for each request")
    s3_endpoint: str | None = Field(
        None, validation_alias=AliasChoices("s3_endpoint", "TREELINE_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    )
    s3_region: str | None = Field(
        None, validation_alias=AliasChoices("s3_region", "TREELINE_S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
    )
    s3_path_style: bool | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @field_validator("roots", mode="before")
    @classmethod
    def _split_at_commas(cls, roots: object) -> object:
        return [root.strip() for root in roots.split(",") if root.strip()] if isinstance(roots, str) else roots

    @field_validator("token")
    @classmethod
    def _token_is_not_empty(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not token.get_secret_value().strip():
            raise ValueError("must not be empty; leave it out for no token")
        return token

    @model_validator(mode="after")
    def _open_access_is_asked_for(self) -> Settings:
        if self.host not in _LOOPBACK and self.token is None and not self.allow_open_access:
            raise ValueError(
                f"host {self.host} can be reached from elsewhere and no token is set: set TREELINE_TOKEN, "
                "or allow everybody with --allow-open-access"
            )
        return self

    def named_roots(self) -> dict[str, str]:
        """Name to URL, in the order given. Raises `InvalidArgumentError`."""
        named: dict[str, str] = {}
        for text in self.roots:
            name, url = _name_and_url(text)
            if name in named:
                raise InvalidArgumentError(f"roots: two are called {name}; give each a name of its own: --root NAME=URL")
            named[name] = url
        if not named:
            raise InvalidArgumentError("roots: none is given; say where the catalog is: --root FOLDER or --root s3://bucket/prefix")
        return named

    def store_options(self) -> dict[str, str]:
        """Options for the stores, in Iceberg's names. Credentials come from the usual environment."""
        options: dict[str, str] = {}
        if self.s3_endpoint:
            options["s3.endpoint"] = self.s3_endpoint
        if self.s3_region:
            options["s3.region"] = self.s3_region
        if self.s3_path_style is not None:
            options["s3.path-style-access"] = str(self.s3_path_style).lower()
        return options

    def client_config(self, url: str) -> dict[str, str]:
        """What clients need to reach the files of a root; never a secret."""
        if not url.startswith(("s3://", "s3a://", "s3n://")):
            return {}
        config = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
        # As in the server's own store: servers under a name of their own rarely have one DNS name for each bucket.
        if self.s3_endpoint:
            config["s3.endpoint"] = self.s3_endpoint
        if self.s3_endpoint or self.s3_path_style is not None:
            config["s3.path-style-access"] = str(self.s3_path_style is not False).lower()
        region = self.s3_region or ("us-east-1" if self.s3_endpoint else None)
        if region:
            config["client.region"] = region
        return config


def _name_and_url(text: str) -> tuple[str, str]:
    """The parts of `[NAME=]URL`; a "=" behind a "/" or ":" belongs to the URL."""
    name, separator, url = text.partition("=")
    if not separator or "/" in name or ":" in name:
        name, url = DEFAULT_ROOT_NAME, text
    if not _ROOT_NAME.fullmatch(name):
        raise InvalidArgumentError(f"roots: name {name!r} must be 1 to 64 letters, digits, '_', '.' or '-'")
    if name in _RESERVED_NAMES:
        raise InvalidArgumentError(f"roots: {name!r} means something else in paths; choose another name")
    if not url:
        raise InvalidArgumentError(f"roots: {name} has no URL; write NAME=URL, such as {name}=s3://bucket/prefix")
    return name, url


def load_settings(flags: dict[str, Any], config_file: Path | None) -> Settings:
    """Settings from everywhere. Raises `InvalidArgumentError`, one line that names each bad setting."""
    if config_file is not None and not config_file.is_file():
        raise InvalidArgumentError(f"Settings file {config_file} does not exist")

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=config_file)

    try:
        return FromFile(**flags)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in entry['loc']) or 'settings'}: {entry['msg']}" for entry in error.errors()]
        raise InvalidArgumentError("; ".join(lines)) from None
    except ValueError as error:
        raise InvalidArgumentError(f"Settings file {config_file} cannot be read: {error}") from None
