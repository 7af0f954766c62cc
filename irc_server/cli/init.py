"""`treeline init`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import click

from catalog_format.catalog import create_catalog, open_catalog
from catalog_format.clock import SystemClock
from catalog_format.errors import NotACatalogError
from catalog_format.ids import SystemIds
from catalog_format.storage import open_storage
from irc_server.cli.opening import on_a_catalog, store_options
from irc_server.cli.printing import print_json


@dataclass(frozen=True, slots=True)
class InitFacts:
    """What is there now."""

    url: str
    created: bool
    version: int
    """The latest one."""


@click.command()
@on_a_catalog
def init(url: str, config_file: Path | None, as_json: bool) -> None:
    """Create an empty catalog at URL, unless one is there already.

    URL is a folder, file:///…, or s3://bucket/prefix. The bucket must exist.
    """
    facts = asyncio.run(_initialised(url, config_file))
    if as_json:
        print_json(facts)
    elif facts.created:
        click.echo(f"Created a catalog at {facts.url}")
    else:
        click.echo(f"A catalog is already there: {facts.url}, at version {facts.version}")


async def _initialised(url: str, config_file: Path | None) -> InitFacts:
    options = store_options(config_file)
    created = False
    try:
        catalog = await open_catalog(url, options=options)
    except NotACatalogError:
        storage = open_storage(url, options)
        try:
            created = await create_catalog(storage, SystemClock(), SystemIds())
        finally:
            await storage.close()
        catalog = await open_catalog(url, options=options)
    try:
        return InitFacts(catalog.url, created, await catalog.latest_version())
    finally:
        await catalog.close()
