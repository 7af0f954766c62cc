"""`treeline show`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import click
import orjson

from irc_server.cli import printing
from irc_server.cli.facts.moments import root_at
from irc_server.cli.facts.objects import DetailedFacts, ObjectFacts, all_objects, find_objects
from irc_server.cli.opening import on_a_catalog, opened

# Objects laid out together: a long list begins to show before it has been read.
_TURN = 500


@click.command()
@on_a_catalog
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--at", "moment", metavar="VERSION|TIME", help="The state to show: a version, epoch milliseconds, or ISO 8601. [the latest]")
@click.option("--all", "bookkeeping", is_flag=True, help="List Treeline's own entries too: verdicts, kept answers, wishes to purge.")
def show(url: str, config_file: Path | None, as_json: bool, name: str | None, moment: str | None, bookkeeping: bool) -> None:
    """List the objects of the catalog at URL, or show what NAME holds.

    NAME is dotted, such as ns.orders, or a key as --json lists it, for names that contain dots. With --json, one object a line.
    """
    asyncio.run(_show(url, config_file, as_json, name, moment, bookkeeping))


async def _show(url: str, config_file: Path | None, as_json: bool, name: str | None, moment: str | None, bookkeeping: bool) -> None:
    async with opened(url, config_file) as catalog:
        root = await root_at(catalog, moment)
        if name is not None:
            for details in await find_objects(catalog, root, name):
                if as_json:
                    printing.print_json(details)
                else:
                    _print_details(details)
            return
        waiting: list[ObjectFacts] = []
        begun = False
        async with aclosing(all_objects(catalog, root, bookkeeping=bookkeeping)) as objects:
            async for facts in objects:
                if as_json:
                    printing.print_json(facts)
                    continue
                waiting.append(facts)
                if len(waiting) == _TURN:
                    _print_list(waiting, begun)
                    begun = True
                    waiting.clear()
        if waiting:
            _print_list(waiting, begun)
        elif not begun and not as_json:
            click.echo(f"Version {root.version} of {catalog.url} holds no objects")


def _print_list(objects: list[ObjectFacts], begun: bool) -> None:
    rows = [(facts.type, ".".join(facts.name), str(facts.stamp), facts.metadata_location or "") for facts in objects]
    printing.show(printing.table(("", "", ">", "") if begun else ("type", "name", "stamp>", "metadata"), rows))


def _print_details(details: DetailedFacts) -> None:
    pairs = [
        (details.type, ".".join(details.name)),
        ("version", str(details.version)),
        ("stamp", f"{details.stamp} (the version that last wrote it)"),
        ("key", details.key.replace("\x1e", "\\x1e").replace("\x1f", "\\x1f")),
    ]
    if details.metadata_location is not None:
        pairs.append(("metadata", details.metadata_location))
    if details.definition_file is not None:
        pairs.append(("definition file", details.definition_file))
    for field, value in details.definition.items():
        pairs.append((field, value if isinstance(value, str) else orjson.dumps(value).decode()))
    printing.show(printing.pairs(pairs))
