"""What the commands share: a catalog named on the command line, reached with the settings that `serve` uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click

from catalog_format.catalog import StoredCatalog, open_catalog
from catalog_format.scope import RequestContext
from irc_server.settings import load_settings

Command = TypeVar("Command", bound=Callable[..., Any])


def on_a_catalog(command: Command) -> Command:
    """Gives a command its URL, `--config` and `--json`."""
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs."),
        click.option(
            "--config", "config_file", type=click.Path(path_type=Path), help="Settings file (TOML) that says how to reach the store."
        ),
        click.argument("url"),
    ):
        command = decorate(command)
    return command


def store_options(config_file: Path | None) -> dict[str, str]:
    """How to reach the store, from the environment and the file. Raises `InvalidArgumentError`."""
    # The address is the server's affair: whether it may be reached from elsewhere must not stop a command.
    return load_settings({"host": "127.0.0.1"}, config_file).store_options()


@asynccontextmanager
async def opened(url: str, config_file: Path | None) -> AsyncIterator[StoredCatalog]:
    """The catalog at `url`. Raises as `open_catalog` does."""
    catalog = await open_catalog(url, options=store_options(config_file))
    try:
        yield catalog
    finally:
        await catalog.close()


def caller() -> RequestContext:
    """Who the log says did it, when a command commits."""
    return RequestContext(f"treeline/{version('treeline-catalog')}")
